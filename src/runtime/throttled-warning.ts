import { sharedLimits } from './limits.ts'
import type { LogEvent, LogFields } from './log-events.ts'
import type { Logger } from './logger.ts'

/** A fault that recurs with every try is logged when it begins or is another, once in a while, and when it is over. */
export class ThrottledWarning {
  readonly #logger: Logger
  readonly #everyMs: number
  #loggedMs: number | null = null
  #event: LogEvent | null = null
  #unlogged = 0

  constructor(logger: Logger, everyMs: number = sharedLimits.warningRepeatMs) {
    this.#logger = logger
    this.#everyMs = everyMs
  }

  get isOn(): boolean {
    return this.#loggedMs !== null
  }

  /** `unlogged` in the line is how often it recurred since the last line. */
  raise<Event extends LogEvent>(event: Event, fields: LogFields<Event>): void {
    const nowMs = performance.now()
    if (event === this.#event && this.#loggedMs !== null && nowMs - this.#loggedMs < this.#everyMs) {
      this.#unlogged += 1
      return
    }
    this.#loggedMs = nowMs
    this.#event = event
    this.#logger.log(event, this.#unlogged === 0 ? fields : { ...fields, unlogged: this.#unlogged })
    this.#unlogged = 0
  }

  clear<Event extends LogEvent>(event: Event, fields: LogFields<Event>): void {
    if (this.#loggedMs === null) return
    this.#loggedMs = null
    this.#unlogged = 0
    this.#logger.log(event, fields)
  }
}
