import type { EventLog } from '../../log/event-log.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'

interface LagWatchParts {
  readonly log: Pick<EventLog, 'lastSequence'>
  readonly projectedSequence: () => number
  readonly logger: Logger
}

/** Warns when the tables lag the log over two checks, and again when they have caught up. */
export class LagWatch {
  readonly #parts: LagWatchParts
  readonly #timer: NodeJS.Timeout
  #ended = 0
  readonly #warning: ThrottledWarning

  constructor(parts: LagWatchParts, everyMs: number = sharedLimits.projectionLagMs) {
    this.#parts = parts
    this.#warning = new ThrottledWarning(parts.logger)
    this.#timer = setInterval(() => void this.#look(everyMs), everyMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(everyMs: number): Promise<void> {
    const { log, projectedSequence } = this.#parts
    const sequence = projectedSequence()
    const frames = this.#ended - sequence
    if (frames > 0) this.#warning.raise('projection.lagging', { sequence, frames, forMs: everyMs })
    else this.#warning.clear('projection.caught_up', { sequence })
    // Without an answer there is no lag to measure; the followers report a log that is away.
    this.#ended = await log.lastSequence().catch(() => 0)
  }
}
