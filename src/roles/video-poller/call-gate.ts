import { FairQueue } from '../../runtime/fair-queue.ts'
import { pollerLimits } from './limits.ts'

/** Submits come before polls. */
export type CallKind = 'submit' | 'poll'

export interface CallGateParts {
  readonly callsPerSecond: number
  readonly submitsMax: number
  readonly pollsMax: number
  readonly steadyMs: () => number
}

export class CallPermit {
  readonly kind: CallKind
  readonly #answer = Promise.withResolvers<boolean>()
  readonly #onLeave: () => void
  #waits = true

  constructor(kind: CallKind, onLeave: () => void) {
    this.kind = kind
    this.#onLeave = onLeave
  }

  get granted(): Promise<boolean> {
    return this.#answer.promise
  }

  get waits(): boolean {
    return this.#waits
  }

  grant(): void {
    this.#waits = false
    this.#answer.resolve(true)
  }

  cancel(): void {
    this.#waits = false
    this.#answer.resolve(false)
  }

  leave(): void {
    this.#onLeave()
  }
}

const callQueue = (): FairQueue<CallPermit> => new FairQueue(({ waits }) => waits)

/** After the vendor had no room for a submit: none for a while, then one at a time until it accepts one. */
class SubmitPause {
  readonly #steadyMs: () => number
  readonly #onEnd: () => void
  #untilMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #oneAtATime = false

  constructor(steadyMs: () => number, onEnd: () => void) {
    this.#steadyMs = steadyMs
    this.#onEnd = onEnd
  }

  get isOn(): boolean {
    return this.#steadyMs() < this.#untilMs
  }

  get oneAtATime(): boolean {
    return this.#oneAtATime
  }

  start(delayMs: number): void {
    this.#oneAtATime = true
    this.#untilMs = this.#steadyMs() + delayMs
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#resume(), Math.ceil(delayMs))
  }

  /** The vendor accepted one. */
  end(): void {
    this.#oneAtATime = false
    this.stop()
    this.#resume()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #resume(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY
    this.#onEnd()
  }
}

/**
 * Calls are evenly spaced, so that no second has more. Submits go first, but waiting polls are never starved. The
 * workspaces that wait take turns.
 */
export class CallGate {
  readonly #intervalMs: number
  readonly #most: { readonly [K in CallKind]: number }
  readonly #steadyMs: () => number
  readonly #queues = { submit: callQueue(), poll: callQueue() }
  readonly #inFlight = { submit: 0, poll: 0 }
  #submitsInRow = 0
  #nextMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  readonly #submitPause: SubmitPause

  constructor({ callsPerSecond, submitsMax, pollsMax, steadyMs }: CallGateParts) {
    this.#intervalMs = 1_000 / callsPerSecond
    this.#most = { submit: submitsMax, poll: pollsMax }
    this.#steadyMs = steadyMs
    this.#submitPause = new SubmitPause(steadyMs, () => this.#grantDue())
  }

  /** The caller must `leave` a permit that was granted. */
  acquire(kind: CallKind, workspaceId: string): CallPermit {
    const turn = new CallPermit(kind, () => this.#leave(kind))
    this.#queues[kind].push(workspaceId, turn)
    this.#grantDue()
    return turn
  }

  get holdsSubmits(): boolean {
    return this.#submitPause.isOn
  }

  holdSubmits(delayMs: number): void {
    this.#submitPause.start(delayMs)
  }

  freeSubmits(): void {
    this.#submitPause.end()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#submitPause.stop()
  }

  #leave(kind: CallKind): void {
    this.#inFlight[kind] -= 1
    this.#grantDue()
  }

  #grantDue(): void {
    if (this.#timer !== undefined) return
    const nowMs = this.#steadyMs()
    for (let kind = this.#nextKind(); kind !== null; kind = this.#nextKind()) {
      if (nowMs < this.#nextMs) {
        this.#timer = setTimeout(
          () => {
            this.#timer = undefined
            this.#grantDue()
          },
          Math.ceil(this.#nextMs - nowMs),
        )
        return
      }
      this.#nextMs = Math.max(this.#nextMs, nowMs - pollerLimits.vendorCallsLateMs) + this.#intervalMs
      this.#grant(kind)
    }
  }

  #grant(kind: CallKind): void {
    this.#inFlight[kind] += 1
    this.#submitsInRow = kind === 'submit' ? this.#submitsInRow + 1 : 0
    this.#queues[kind].shift()?.grant()
  }

  #nextKind(): CallKind | null {
    const submits = !this.holdsSubmits && this.#isDue('submit', this.#submitPause.oneAtATime ? 1 : this.#most.submit)
    const polls = this.#isDue('poll', this.#most.poll)
    if (submits && polls) return this.#submitsInRow < pollerLimits.vendorSubmitsInRowMax ? 'submit' : 'poll'
    if (submits) return 'submit'
    return polls ? 'poll' : null
  }

  #isDue(kind: CallKind, most: number): boolean {
    return this.#inFlight[kind] < most && !this.#queues[kind].isEmpty
  }
}
