import { faultText } from '../errors/gateway-error.ts'
import { type Check, checkOf } from './health.ts'
import { sharedLimits } from './limits.ts'

/** Repeats a query, one at a time, and remembers whether it was answered. */
export class Probe {
  readonly #ask: () => Promise<void>
  readonly #timer: NodeJS.Timeout
  /** Since when an answer is due; null while none is. */
  #askedMs: number | null = null
  #reason: string | null = 'not asked yet'

  constructor(ask: () => Promise<void>, everyMs: number = sharedLimits.probeMs) {
    this.#ask = ask
    this.#timer = setInterval(() => void this.#look(), everyMs).unref()
    void this.#look()
  }

  get check(): Check {
    if (this.#reason !== null) return checkOf(false, this.#reason)
    return checkOf(
      this.#askedMs === null || performance.now() - this.#askedMs <= sharedLimits.probeSilentMs,
      'no answer',
    )
  }

  stop(): Promise<void> {
    clearInterval(this.#timer)
    return Promise.resolve()
  }

  async #look(): Promise<void> {
    if (this.#askedMs !== null) return
    this.#askedMs = performance.now()
    try {
      await this.#ask()
      this.#reason = null
    } catch (fault) {
      this.#reason = faultText(fault)
    }
    this.#askedMs = null
  }
}
