import type { Frame } from '../../src/log/event-log.ts'
import type { JournalEntry } from './end-checks.ts'
import type { Observer } from './observer.ts'
import type { SimProcess } from './process.ts'
import type { Processes } from './processes.ts'

interface OpenRequestsParts {
  readonly observer: Observer
  readonly processes: Processes
  readonly journal: readonly JournalEntry[]
}

/** Which requests have no end, and whether one is to come. */
export class OpenRequests {
  readonly #parts: OpenRequestsParts
  readonly #routedMs = new Map<string, number>()
  readonly #writers = new Map<string, SimProcess>()

  constructor(parts: OpenRequestsParts) {
    this.#parts = parts
  }

  take({ writer, events }: Frame, sender: SimProcess | undefined, nowMs: number): void {
    if (sender !== undefined) this.#writers.set(writer, sender)
    for (const { type, data } of events) if (type === 'RequestRouted') this.#routedMs.set(data.requestId, nowMs)
  }

  writerOf(writer: string): SimProcess | undefined {
    return this.#writers.get(writer)
  }

  /** Requests that were routed and not ended, though the edge that routed them lives. */
  unended(): readonly string[] {
    return [...this.#parts.observer.ledger.openRequests.entries()].flatMap(([requestId, { routed, closing }]) => {
      if (routed === null || closing !== null) return []
      const writer = routed.source.split('/').at(-1) ?? ''
      return this.#isLost(writer) || this.isEndLost(requestId) ? [] : [requestId]
    })
  }

  /** Whether its proxy may have been killed after it had reported to the edge an error that the log had not taken. */
  isEndLost(requestId: string): boolean {
    const { journal, processes } = this.#parts
    const response = journal.find((each) => each.response?.headers.get('x-request-id') === requestId)?.response
    const isUnknown = !response?.isComplete || response.status >= 400 || response.body.includes('data: {"error"')
    return isUnknown && processes.hasLostSince(this.#routedMs.get(requestId) ?? 0)
  }

  #isLost(writer: string): boolean {
    const process = this.#writers.get(writer)
    return process === undefined || this.#parts.processes.isCrashed(process)
  }
}
