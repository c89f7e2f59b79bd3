import { limits } from '../../../limits.ts'

/** When a peer was heard and asked, in milliseconds of the time in which this process could listen. */
export class Liveness {
  #heardMs: number
  #progressMs: number
  #pingedMs = Number.NEGATIVE_INFINITY
  /** Since when a ping has not been answered. */
  #askedMs: number | null = null
  /** Since when the server has said, and nothing else came, that nobody listens there. */
  #absentMs: number | null = null

  constructor(nowMs: number) {
    this.#heardMs = nowMs
    this.#progressMs = nowMs
  }

  hear(nowMs: number): void {
    this.#heardMs = nowMs
    this.#askedMs = null
    this.#absentMs = null
  }

  /** The peer acknowledged something, or there was nothing to acknowledge until now. */
  progress(nowMs: number): void {
    this.#progressMs = nowMs
  }

  ping(nowMs: number): void {
    this.#pingedMs = nowMs
    this.#askedMs ??= nowMs
  }

  /** Nobody listens at the peer's subject. */
  miss(nowMs: number): void {
    this.#absentMs ??= nowMs
  }

  isLost(nowMs: number): boolean {
    const isAbsent = this.#absentMs !== null && nowMs - this.#absentMs >= limits.callsAbsentMs
    return isAbsent || (this.#askedMs !== null && nowMs - this.#askedMs >= limits.callsSilentMs)
  }

  /** `isNeeded`: a call is open. `isWaiting`: something was sent that is not acknowledged. */
  pingIsDue(nowMs: number, isNeeded: boolean, isWaiting: boolean): boolean {
    const sincePingMs = nowMs - this.#pingedMs
    if (this.#absentMs !== null) return sincePingMs >= limits.callsAbsentPingMs
    if (isWaiting && Math.min(sincePingMs, nowMs - this.#progressMs) >= limits.callsPingMs) return true
    const quietMs = Math.min(sincePingMs, nowMs - this.#heardMs)
    return quietMs >= (isNeeded || isWaiting || this.#askedMs !== null ? limits.callsPingMs : limits.callsIdlePingMs)
  }
}
