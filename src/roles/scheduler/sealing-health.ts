import { faultText } from '../../errors/gateway-error.ts'
import { type Check, checkOf } from '../../runtime/health.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { SealState } from './seal-state.ts'

type SealedSoFar = Pick<SealState, 'lastNews' | 'sealedSize'>

/** Whether sealing goes on, and whether its checkpoints come in time. */
export class SealingHealth {
  /** Why sealing ended; null while it runs. */
  #failure: string | null = null
  #hasBegun = false
  #sealedSize = 0
  /** Since when frames wait for a checkpoint, or for the next one; null while none does. */
  #waitingSinceMs: number | null

  constructor(startedMs: number) {
    this.#waitingSinceMs = startedMs
  }

  begin(state: SealedSoFar, nowMs: number): void {
    this.#hasBegun = true
    this.#waitingSinceMs = null
    this.update(state, nowMs)
  }

  update({ lastNews, sealedSize }: SealedSoFar, nowMs: number): void {
    if (lastNews <= sealedSize || sealedSize > this.#sealedSize) this.#waitingSinceMs = null
    if (lastNews > sealedSize) this.#waitingSinceMs ??= nowMs
    this.#sealedSize = sealedSize
  }

  fail(fault: unknown): void {
    this.#failure = faultText(fault)
  }

  /** Fails where sealing was given up. */
  get alive(): Check {
    return checkOf(this.#failure === null, `the log is not sealed any further: ${this.#failure}`)
  }

  /** Fails as well while frames wait so long that `verify` takes them as not proven. `fault`: of the last checkpoint. */
  check(nowMs: number, fault: unknown): Check {
    if (this.#failure !== null) return this.alive
    const waitedMs = this.#waitingSinceMs === null ? 0 : Math.abs(nowMs - this.#waitingSinceMs) // A clock may be set back.
    return checkOf(waitedMs <= sharedLimits.verifyUnsealedMs, this.#explainWait(waitedMs, fault))
  }

  #explainWait(waitedMs: number, fault: unknown): string {
    const seconds = Math.round(waitedMs / 1_000)
    if (!this.#hasBegun) return `sealing has not begun for ${seconds} s: what was signed last cannot be read`
    const why = fault === null ? '' : `: ${faultText(fault)}`
    return `no checkpoint was stored for ${seconds} s, while frames wait for one${why}`
  }
}
