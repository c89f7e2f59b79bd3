import { natsLimits } from '../limits.ts'

/** When a peer was heard and asked, in milliseconds of the time in which this process could listen. */
export class Liveness {
  #lastReceivedMs: number
  #progressMs: number
  #pingedMs = Number.NEGATIVE_INFINITY
  /** Since when a ping has not been answered. */
  #unansweredSinceMs: number | null = null
  /** Since when the server has said, and nothing else came, that nobody listens there. */
  #noRespondersSinceMs: number | null = null

  constructor(nowMs: number) {
    this.#lastReceivedMs = nowMs
    this.#progressMs = nowMs
  }

  messageReceived(nowMs: number): void {
    this.#lastReceivedMs = nowMs
    this.#unansweredSinceMs = null
    this.#noRespondersSinceMs = null
  }

  /** The peer acknowledged something, or there was nothing to acknowledge until now. */
  progress(nowMs: number): void {
    this.#progressMs = nowMs
  }

  ping(nowMs: number): void {
    this.#pingedMs = nowMs
    this.#unansweredSinceMs ??= nowMs
  }

  /** Nobody listens at the peer's subject. */
  noResponders(nowMs: number): void {
    this.#noRespondersSinceMs ??= nowMs
  }

  isConnectionLost(nowMs: number): boolean {
    const isAbsent = this.#noRespondersSinceMs !== null && nowMs - this.#noRespondersSinceMs >= natsLimits.callsAbsentMs
    return isAbsent || (this.#unansweredSinceMs !== null && nowMs - this.#unansweredSinceMs >= natsLimits.callsSilentMs)
  }

  /** `isNeeded`: a call is open. `isWaiting`: something was sent that is not acknowledged. */
  isPingDue(nowMs: number, isNeeded: boolean, isWaiting: boolean): boolean {
    const sincePingMs = nowMs - this.#pingedMs
    if (this.#noRespondersSinceMs !== null) return sincePingMs >= natsLimits.callsAbsentPingMs
    if (isWaiting && Math.min(sincePingMs, nowMs - this.#progressMs) >= natsLimits.callsPingMs) return true
    const quietMs = Math.min(sincePingMs, nowMs - this.#lastReceivedMs)
    return (
      quietMs >=
      (isNeeded || isWaiting || this.#unansweredSinceMs !== null ? natsLimits.callsPingMs : natsLimits.callsIdlePingMs)
    )
  }
}
