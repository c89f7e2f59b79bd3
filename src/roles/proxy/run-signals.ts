import type { Clock } from '../../runtime/clock.ts'
import { cancelAtOnce } from '../dispatch.ts'
import type { EndableCall, OpenCalls } from '../open-calls.ts'
import type { CallsInFlight } from './calls-in-flight.ts'

type RunSignal =
  | { readonly type: 'deadline' | 'shutdown' | 'drain_overdue' }
  | { readonly type: 'client_left'; readonly mayDrain: boolean }

interface SignalParts {
  readonly inFlight: CallsInFlight
  readonly clock: Clock
}

/** Passes on what reaches a run from outside: its deadline, its client's leaving, the stop of the edge or the proxy. */
export class RunSignals implements EndableCall {
  readonly #inFlight: CallsInFlight
  readonly #openCalls: OpenCalls | undefined
  readonly #clientGone: AbortSignal
  readonly #onSignal: (signal: RunSignal) => void
  readonly #deadlineTimer: NodeJS.Timeout
  readonly #onClientGone = (): void =>
    this.#onSignal({ type: 'client_left', mayDrain: this.#clientGone.reason !== cancelAtOnce })
  #drainTimer: NodeJS.Timeout | null = null
  #drainEndsMs = Number.POSITIVE_INFINITY

  constructor(
    { inFlight, clock }: SignalParts,
    deadlineMs: number,
    clientGone: AbortSignal,
    openCalls: OpenCalls | undefined,
    onSignal: (signal: RunSignal) => void,
  ) {
    this.#inFlight = inFlight
    this.#openCalls = openCalls
    this.#clientGone = clientGone
    this.#onSignal = onSignal
    this.#deadlineTimer = setTimeout(() => onSignal({ type: 'deadline' }), Math.max(0, deadlineMs - clock()))
  }

  get clientIsGone(): boolean {
    return this.#clientGone.aborted
  }

  attach(): void {
    this.#inFlight.enter(this)
    this.#openCalls?.enter(this)
    if (this.#clientGone.aborted) this.#onClientGone()
    else this.#clientGone.addEventListener('abort', this.#onClientGone, { once: true })
  }

  shutDown(): void {
    this.#onSignal({ type: 'shutdown' })
  }

  clearDeadline(): void {
    clearTimeout(this.#deadlineTimer)
  }

  /** From the first call on; a later one can only bring the end forward. */
  boundDrain(drainMs: number): void {
    const endsMs = performance.now() + drainMs
    if (endsMs >= this.#drainEndsMs) return
    this.#drainEndsMs = endsMs
    clearTimeout(this.#drainTimer ?? undefined)
    this.#drainTimer = setTimeout(() => this.#onSignal({ type: 'drain_overdue' }), drainMs)
  }

  detach(): void {
    this.clearDeadline()
    clearTimeout(this.#drainTimer ?? undefined)
    this.#clientGone.removeEventListener('abort', this.#onClientGone)
    this.#inFlight.leave(this)
    this.#openCalls?.leave(this)
  }
}
