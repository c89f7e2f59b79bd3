import type { EventLog } from '../../log/event-log.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'

export interface LagWatchParts {
  readonly log: Pick<EventLog, 'lastSequence'>
  /** The sequence at which the tables stand. */
  readonly projectedSequence: () => number
  readonly logger: Logger
}

/** Tells when the tables are further behind the log than one look at them and the next, and when they have caught up again. */
export class LagWatch {
  readonly #parts: LagWatchParts
  readonly #timer: NodeJS.Timeout
  /** Where the log ended at the last look. */
  #ended = 0
  readonly #trouble: ThrottledWarning

  constructor(parts: LagWatchParts, everyMs: number = sharedLimits.projectionLagMs) {
    this.#parts = parts
    this.#trouble = new ThrottledWarning(parts.logger)
    this.#timer = setInterval(() => void this.#look(everyMs), everyMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(everyMs: number): Promise<void> {
    const { log, projectedSequence } = this.#parts
    const sequence = projectedSequence()
    const frames = this.#ended - sequence
    if (frames > 0) this.#trouble.raise({ sequence, frames, forMs: everyMs }, 'the tables are behind the log')
    else this.#trouble.clear({ sequence }, 'the tables have caught up with the log')
    // Without an answer there is nothing to be behind of; the followers tell of a log that is away.
    this.#ended = await log.lastSequence().catch(() => 0)
  }
}
