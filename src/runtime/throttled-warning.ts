import { sharedLimits } from './limits.ts'
import type { Logger } from './logger.ts'

/** A fault that recurs with every try is logged when it begins, once in a while, and when it is over. */
export class ThrottledWarning {
  readonly #logger: Logger
  readonly #everyMs: number
  #loggedMs: number | null = null
  #unlogged = 0

  constructor(logger: Logger, everyMs: number = sharedLimits.warningRepeatMs) {
    this.#logger = logger
    this.#everyMs = everyMs
  }

  get isOn(): boolean {
    return this.#loggedMs !== null
  }

  /** `untold` in the line is how often it recurred since the last line. */
  raise(fields: object, message: string): void {
    const nowMs = performance.now()
    if (this.#loggedMs !== null && nowMs - this.#loggedMs < this.#everyMs) {
      this.#unlogged += 1
      return
    }
    this.#loggedMs = nowMs
    this.#logger.warn(this.#unlogged === 0 ? fields : { ...fields, untold: this.#unlogged }, message)
    this.#unlogged = 0
  }

  clear(fields: object, message: string): void {
    if (this.#loggedMs === null) return
    this.#loggedMs = null
    this.#unlogged = 0
    this.#logger.info(fields, message)
  }
}
