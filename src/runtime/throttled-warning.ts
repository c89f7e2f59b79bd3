import { sharedLimits } from './limits.ts'
import type { Logger } from './logger.ts'

/** Trouble that comes again with every try, told as an operator can bear it: when it begins, once in a while, and when it is over. */
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

  /** `untold` in the line is how often it came again since the last. */
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

  /** Says so once, where there was any. */
  clear(fields: object, message: string): void {
    if (this.#loggedMs === null) return
    this.#loggedMs = null
    this.#unlogged = 0
    this.#logger.info(fields, message)
  }
}
