import { TransientMap } from '../../../runtime/transient-map.ts'
import { natsLimits } from '../limits.ts'
import type { ClientCall } from './client-call.ts'

interface PendingCallsParts {
  readonly nowMs: () => number
  readonly send: (number: number, opening: Buffer) => boolean
  readonly mayHaveProxy: () => boolean
  readonly pingProxies: () => void
}

interface PendingCall {
  readonly call: ClientCall
  readonly opening: Buffer
  readonly sinceMs: number
  isSent: boolean
  /** While it is not sent again no proxy has it. */
  refusal: { readonly cause: Error | undefined } | null
}

/** Calls that no proxy has accepted yet, oldest first. */
export class PendingCalls {
  readonly #parts: PendingCallsParts
  readonly #pending = new TransientMap<number, PendingCall>()

  constructor(parts: PendingCallsParts) {
    this.#parts = parts
  }

  open(number: number, call: ClientCall, opening: Buffer): void {
    const isSent = this.#parts.send(number, opening)
    this.#pending.set(number, { call, opening, sinceMs: this.#parts.nowMs(), isSent, refusal: null })
  }

  take(number: number): ClientCall | undefined {
    const pending = this.#pending.get(number)
    this.#pending.delete(number)
    if (pending !== undefined && pending.refusal !== null) this.sendUnsent()
    return pending?.call
  }

  forget(number: number): void {
    this.#pending.delete(number)
  }

  /** A proxy that lost its connection to NATS is back within seconds; one that does not answer the ping is dropped. */
  refuse(number: number, cause?: Error): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) return
    if (pending.refusal === null) this.#parts.pingProxies()
    pending.isSent = false
    pending.refusal = { cause }
    pending.call.apply(this.#parts.mayHaveProxy() ? { type: 'postponed' } : { type: 'refused', cause })
  }

  sendUnsent(): void {
    for (const [number, pending] of this.#pending) this.#send(number, pending)
  }

  /** One of those that were refused is sent again, to find a proxy for all. */
  tick(): void {
    const beforeMs = this.#parts.nowMs() - natsLimits.callsAcceptMs
    let isTried = false
    for (const [number, pending] of this.#pending) {
      const isRefused = !pending.isSent && pending.refusal !== null
      if (pending.sinceMs <= beforeMs || (isRefused && !this.#parts.mayHaveProxy()))
        pending.call.apply({ type: 'refused', ...pending.refusal })
      else if (isRefused && !isTried) {
        this.#send(number, pending)
        isTried = true
      }
    }
  }

  close(): void {
    for (const { call } of [...this.#pending.values()]) call.apply({ type: 'refused' })
  }

  #send(number: number, pending: PendingCall): void {
    if (pending.isSent || !this.#parts.send(number, pending.opening)) return
    pending.isSent = true
    pending.call.apply({ type: 'opened' })
  }
}
