import { type Allocation, allocateRequest, allocateTask, unallocated } from '../domain/ledger/allocation.ts'
import { applyToPeriods, initialInvoices } from '../domain/ledger/invoices.ts'
import { initialLedger } from '../domain/ledger/ledger.ts'
import type { Periods } from '../domain/ledger/periods.ts'
import { decodeStoredEvents, readEvent } from '../log/read-frame.ts'
import { type FoldSource, foldLog } from './fold-log.ts'

export interface CorrectedAllocations {
  /** Of what an adjustment corrects. */
  find(corrects: string): Allocation
}

const markers = ['AdjustmentPosted', '"type":"Period', 'InvoiceIssued'].map((text) => Buffer.from(text))

interface Ahead {
  /** By the id of each adjustment of the workspace, what it corrects; of one that was posted again, that of the first. */
  readonly corrections: ReadonlyMap<string, string>
  readonly periods: Periods
}

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

/** A correction can be stored before what it corrects: where there are any, the log is folded once for them alone. */
export const readAhead = async (
  log: FoldSource,
  workspaceId: string,
): Promise<{ readonly allocations: CorrectedAllocations; readonly periods: Periods }> => {
  const { corrections, periods } = await scan(log, workspaceId)
  const wanted = new Set([...corrections.values()].filter((id) => id !== ''))
  const allocations = new Map<string, Allocation>()
  const { onFrame: _, ...silent } = log
  if (wanted.size > 0)
    for await (const applied of foldLog(silent, initialLedger()))
      for (const { closed, task } of applied) {
        const request = closed?.routed.data
        if (closed !== null && request?.workspaceId === workspaceId && wanted.has(request.requestId))
          allocations.set(request.requestId, allocateRequest(closed))
        else if (task?.workspaceId === workspaceId && wanted.has(task.taskId))
          allocations.set(task.taskId, allocateTask(task))
      }
  const find = (id: string, passed: ReadonlySet<string>): Allocation => {
    const corrected = allocations.get(id) ?? corrections.get(id) ?? ''
    if (typeof corrected !== 'string') return corrected
    return corrected === '' || passed.has(corrected) ? unallocated : find(corrected, new Set([...passed, corrected]))
  }
  return { allocations: { find: (corrects) => find(corrects, new Set([corrects])) }, periods }
}
