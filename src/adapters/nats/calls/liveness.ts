import { natsLimits } from '../limits.ts'

/** When a peer was last received from and pinged, in milliseconds that this process has run, pauses excluded. */
export class Liveness {
  readonly #nowMs: () => number
  #lastReceivedMs: number
  #progressMs: number
  #pingedMs = Number.NEGATIVE_INFINITY
  #unansweredSinceMs: number | null = null
  /** Since when the server reports no subscriber at the peer's subject; cleared by any message. */
  #noRespondersSinceMs: number | null = null

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#lastReceivedMs = nowMs()
    this.#progressMs = nowMs()
  }

  messageReceived(): void {
    this.#lastReceivedMs = this.#nowMs()
    this.#unansweredSinceMs = null
    this.#noRespondersSinceMs = null
  }

  /** Also called while nothing is unacknowledged. */
  progress(): void {
    this.#progressMs = this.#nowMs()
  }

  ping(): void {
    this.#pingedMs = this.#nowMs()
    this.#unansweredSinceMs ??= this.#pingedMs
  }

  noResponders(): void {
    this.#noRespondersSinceMs ??= this.#nowMs()
  }

  get isConnectionLost(): boolean {
    const nowMs = this.#nowMs()
    const isAbsent = this.#noRespondersSinceMs !== null && nowMs - this.#noRespondersSinceMs >= natsLimits.callsAbsentMs
    return isAbsent || (this.#unansweredSinceMs !== null && nowMs - this.#unansweredSinceMs >= natsLimits.callsSilentMs)
  }

  /** `isNeeded`: a call is open. `isWaiting`: something was sent that is not acknowledged. */
  isPingDue(isNeeded: boolean, isWaiting: boolean): boolean {
    const nowMs = this.#nowMs()
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
