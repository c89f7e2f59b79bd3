import { limits } from '../limits.ts'
import type { Logger } from './role.ts'

/** Trouble that comes again with every try, told as an operator can bear it: when it begins, once in a while, and when it is over. */
export class Trouble {
  readonly #logger: Logger
  readonly #everyMs: number
  #toldMs: number | null = null
  #untold = 0

  constructor(logger: Logger, everyMs: number = limits.troubleMs) {
    this.#logger = logger
    this.#everyMs = everyMs
  }

  get isOn(): boolean {
    return this.#toldMs !== null
  }

  /** `untold` in the line is how often it came again since the last. */
  comes(fields: object, message: string): void {
    const nowMs = performance.now()
    if (this.#toldMs !== null && nowMs - this.#toldMs < this.#everyMs) {
      this.#untold += 1
      return
    }
    this.#toldMs = nowMs
    this.#logger.warn(this.#untold === 0 ? fields : { ...fields, untold: this.#untold }, message)
    this.#untold = 0
  }

  /** Says so once, where there was any. */
  ends(fields: object, message: string): void {
    if (this.#toldMs === null) return
    this.#toldMs = null
    this.#untold = 0
    this.#logger.info(fields, message)
  }
}
