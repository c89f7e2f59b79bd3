import { type Allocation, allocateRequest, allocateTask, unallocated } from '../domain/ledger/allocation.ts'
import { applyToPeriods, initialInvoices } from '../domain/ledger/invoices.ts'
import { type Applied, initialLedger } from '../domain/ledger/ledger.ts'
import type { Periods } from '../domain/ledger/periods.ts'
import { namesCredit } from '../domain/wallet/evolve.ts'
import { decodeStoredEvents, readEvent } from '../log/read-frame.ts'
import { type FoldSource, foldLog } from './fold-log.ts'

const markers = ['AdjustmentPosted', '"type":"Period', 'InvoiceIssued'].map((text) => Buffer.from(text))

interface Ahead {
  /** By the id of each adjustment of the workspace, what it corrects; of one that was posted again, that of the first. */
  readonly corrections: ReadonlyMap<string, string>
  readonly periods: Periods
}

/** Without folding the log. */
const scan = async ({ frames, to }: FoldSource, workspaceId: string): Promise<Ahead> => {
  const corrections = new Map<string, string>()
  const periods: Periods = new Map()
  const state = { periods, invoices: initialInvoices() }
  for await (const some of frames.read(1, to))
    for (const { data, sequence } of some) {
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.length)
      if (markers.every((marker) => bytes.indexOf(marker) < 0)) continue
      for (const event of decodeStoredEvents(data).map(readEvent)) {
        if (event.type === 'AdjustmentPosted' && event.data.workspaceId === workspaceId)
          if (!corrections.has(event.data.adjustmentId))
            corrections.set(event.data.adjustmentId, event.data.corrects ?? '')
        switch (event.type) {
          case 'PeriodCutOff':
          case 'PeriodClosed':
          case 'PeriodReopened':
          case 'InvoiceIssued':
            applyToPeriods(state, event, sequence)
        }
      }
    }
  return { corrections, periods }
}

/** Filled by what is taken; a correction can be stored before what it corrects, and only then the log is folded for it alone. */
export class CorrectedAllocations {
  readonly periods: Periods
  readonly #log: FoldSource
  readonly #workspaceId: string
  readonly #corrections: Ahead['corrections']
  readonly #wanted: ReadonlySet<string>
  readonly #allocations = new Map<string, Allocation>()
  #isComplete = false

  private constructor(log: FoldSource, workspaceId: string, { corrections, periods }: Ahead) {
    this.periods = periods
    this.#log = log
    this.#workspaceId = workspaceId
    this.#corrections = corrections
    this.#wanted = new Set(corrections.values())
  }

  static async scan(log: FoldSource, workspaceId: string): Promise<CorrectedAllocations> {
    return new CorrectedAllocations(log, workspaceId, await scan(log, workspaceId))
  }

  take({ closed, task }: Applied): void {
    const request = closed?.routed.data
    if (closed !== null && request?.workspaceId === this.#workspaceId && this.#wanted.has(request.requestId))
      this.#allocations.set(request.requestId, allocateRequest(closed))
    else if (task?.workspaceId === this.#workspaceId && this.#wanted.has(task.taskId))
      this.#allocations.set(task.taskId, allocateTask(task))
  }

  /** Of what an adjustment corrects. */
  async find(corrects: string): Promise<Allocation> {
    const passed = new Set<string>()
    for (let id = corrects; id !== '' && !namesCredit(id) && !passed.has(id); ) {
      const found = this.#allocations.get(id)
      if (found !== undefined) return found
      passed.add(id)
      const next = this.#corrections.get(id)
      if (next === undefined) return this.#isComplete ? unallocated : this.#complete().then(() => this.find(id))
      id = next
    }
    return unallocated
  }

  async #complete(): Promise<void> {
    const { onFrame: _, ...silent } = this.#log
    for await (const applied of foldLog(silent, initialLedger())) for (const each of applied) this.take(each)
    this.#isComplete = true
  }
}
