import type { Clock } from '../../runtime/clock.ts'
import { HttpFault } from '../http.ts'
import { authenticationLimits } from './limits.ts'

const { credentialRequestMs, refusedPauseMs, renewBeforeMs, renewPauseMs, unusableBeforeMs } = authenticationLimits

export interface Credential<Value> {
  readonly value: Value
  /** Milliseconds since the epoch; null: it does not expire. */
  readonly expiresAtMs: number | null
}

/** `signal` aborts when it takes too long. */
export type IssueCredential<Value> = (signal: AbortSignal) => Promise<Credential<Value>>

const untilAborted = (signal: AbortSignal, faultOf: () => HttpFault): Promise<never> =>
  new Promise((_, reject) => {
    const onAbort = (): void => reject(faultOf())
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })

const unissued = (cause: unknown): HttpFault => new HttpFault('authentication', cause, true)

/**
 * One credential for all who ask: issued when it is first needed, renewed before it expires, one renewal at a time. While
 * renewals fail the present one is used as long as it is valid; then only the `get` that begins another one waits for it.
 */
export class RenewedCredential<Value> {
  readonly #issue: IssueCredential<Value>
  readonly #clock: Clock
  readonly #requestMs: number
  #current: Credential<Value> | null = null
  #issued: readonly Value[] = []
  #renewal: Promise<Value> | null = null
  #lastBeganMs = Number.NEGATIVE_INFINITY
  #lastFault: HttpFault | null = null
  #isRefused = false
  #lastRefusedMs = Number.NEGATIVE_INFINITY

  constructor(issue: IssueCredential<Value>, clock: Clock, requestMs: number = credentialRequestMs) {
    this.#issue = issue
    this.#clock = clock
    this.#requestMs = requestMs
  }

  /** The present one and the one before, which calls under way may still have. */
  get recent(): readonly Value[] {
    return this.#issued
  }

  /** Throws HttpFault `authentication`, or `aborted` when the signal aborts. */
  async get(signal: AbortSignal): Promise<Value> {
    const current = this.#current
    if (current === null || this.#isWithin(current, unusableBeforeMs)) return this.#awaitRenewal(signal)
    if (this.#isRefused && this.#lastFault === null)
      return this.#awaitRenewal(signal).catch((fault: unknown) => {
        if (signal.aborted) throw fault
        return current.value
      })
    if ((this.#isRefused || this.#isWithin(current, renewBeforeMs)) && this.#mayRenew)
      this.#renew().catch(() => undefined)
    return current.value
  }

  /** The present one was refused: the next `get` gets a new one, where one can be had. */
  discard(): void {
    if (!this.#mayRenew || !this.#isPast(this.#lastRefusedMs, refusedPauseMs)) return
    this.#isRefused = true
    this.#lastRefusedMs = this.#clock()
  }

  get #mayRenew(): boolean {
    return this.#renewal === null && this.#isPast(this.#lastBeganMs, renewPauseMs)
  }

  #isPast(sinceMs: number, ms: number): boolean {
    const elapsedMs = this.#clock() - sinceMs
    return elapsedMs >= ms || elapsedMs < 0
  }

  #isWithin({ expiresAtMs }: Credential<Value>, ms: number): boolean {
    return expiresAtMs !== null && this.#clock() >= expiresAtMs - ms
  }

  #awaitRenewal(signal: AbortSignal): Promise<Value> {
    if (this.#lastFault !== null && !this.#mayRenew) return Promise.reject(this.#lastFault)
    return Promise.race([this.#renew(), untilAborted(signal, () => new HttpFault('aborted', signal.reason, true))])
  }

  #renew(): Promise<Value> {
    this.#renewal ??= this.#requestNew().finally(() => {
      this.#renewal = null
    })
    return this.#renewal
  }

  async #requestNew(): Promise<Value> {
    this.#lastBeganMs = this.#clock()
    const timeout = AbortSignal.timeout(this.#requestMs)
    try {
      const late = untilAborted(timeout, () => unissued(new Error(`no answer within ${this.#requestMs} ms`)))
      this.#current = await Promise.race([this.#issue(timeout), late])
      this.#lastFault = null
      this.#isRefused = false
      this.#issued = [this.#current.value, ...this.#issued].slice(0, 2)
      return this.#current.value
    } catch (cause) {
      this.#lastFault = cause instanceof HttpFault && cause.kind === 'authentication' ? cause : unissued(cause)
      throw this.#lastFault
    }
  }
}
