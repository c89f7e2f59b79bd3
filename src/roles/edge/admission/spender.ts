import type { Labels } from '../../../domain/wallet/holders.ts'
import { GatewayError, logUnavailable } from '../../../errors/gateway-error.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { TransientMap } from '../../../runtime/transient-map.ts'
import { type AllowanceView, nextAllowanceStep } from './allowance-step.ts'
import type { Allowance, AllowanceStore } from './allowance-store.ts'
import { admissionLimits } from './limits.ts'
import { SpenderAllowances } from './spender-allowances.ts'
import type { SpenderFunds, SpenderId } from './spender-funds.ts'

/** `wantedPicos`: the worst case of the request; `floorPicos`: the least for which it is still admitted. */
export interface Admission {
  readonly requestId: string
  readonly workspaceId: string
  readonly keyId: string
  readonly labels?: Labels | undefined
  readonly wantedPicos: bigint
  readonly floorPicos: bigint
}

export interface Reservation {
  /** Null when the request can cost nothing. */
  readonly allowanceId: string | null
  readonly reservedPicos: bigint
}

interface Reserved {
  readonly allowance: Allowance
  readonly spender: Spender
  readonly reservedPicos: bigint
}

export class Reservations {
  readonly #byRequest = new TransientMap<string, Reserved>()
  #onEnded: (() => void)[] = []

  add(requestId: string, reserved: Reserved): Reservation {
    this.#byRequest.set(requestId, reserved)
    return { allowanceId: reserved.allowance.hold.holdId, reservedPicos: reserved.reservedPicos }
  }

  take(requestId: string): Reserved | undefined {
    const reserved = this.#byRequest.get(requestId)
    if (this.#byRequest.delete(requestId)) this.#reportEnded()
    return reserved
  }

  /** The requests of an allowance that covers nothing more: they may never be reported as ended. */
  dropOf(ended: Allowance): void {
    for (const [requestId, { allowance }] of this.#byRequest) if (allowance === ended) this.#byRequest.delete(requestId)
    this.#reportEnded()
  }

  ended(): Promise<void> {
    if (this.#byRequest.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onEnded.push(resolve)
    })
  }

  #reportEnded(): void {
    if (this.#byRequest.size > 0) return
    for (const resolve of this.#onEnded) resolve()
    this.#onEnded = []
  }
}

interface SpenderParts {
  readonly funds: SpenderFunds
  readonly store: AllowanceStore
  readonly reservations: Reservations
  /** Of the workspace, those that may have waiters. */
  readonly waiting: Set<Spender>
  readonly clock: Clock
  readonly logger: Logger
}

interface Waiter extends Admission {
  /** By `performance.now()`: setting the wall clock must not refuse a waiter. */
  readonly sinceMs: number
  readonly resolve: (reservation: Reservation) => void
  readonly reject: (refusal: GatewayError) => void
}

/** `refused`: the wallet has less than the step would reserve. */
type StepResult = 'done' | 'wait' | 'refused'

const allReserved = (): GatewayError =>
  new GatewayError(
    'concurrency_limit_exceeded',
    'What is left to spend is reserved by requests in flight. Try again shortly.',
    { retryAfterSeconds: 1 },
  )

/** Admits the requests of one spender against its allowances; those that they do not cover wait in order. */
export class Spender {
  readonly id: SpenderId
  readonly allowances: SpenderAllowances
  readonly #parts: SpenderParts
  readonly #waiters = new Set<Waiter>()
  /** Steps for first waiters. While one runs, the next does not begin. */
  readonly #steps = new Set<Promise<void>>()
  #isBusy = false

  constructor(id: SpenderId, parts: SpenderParts) {
    this.id = id
    this.allowances = new SpenderAllowances(id, parts.funds, parts.store)
    this.#parts = parts
  }

  get isUnused(): boolean {
    return this.#waiters.size === 0 && !this.#isBusy && this.allowances.isUnused
  }

  admit(admission: Admission): Reservation | Promise<Reservation> {
    if (this.#waiters.size >= admissionLimits.admissionWaitersMax) return Promise.reject(allReserved())
    const allowance = this.#waiters.size === 0 ? this.allowances.covering(admission.wantedPicos) : null
    if (allowance !== null) return this.#reserve(allowance, admission, admission.wantedPicos)
    return new Promise((resolve, reject) => {
      this.#waiters.add({ ...admission, sinceMs: performance.now(), resolve, reject })
      this.#parts.waiting.add(this)
      this.serveWaiters()
    })
  }

  /** From the current allowance; where it cannot cover the first, begins to find money for it. */
  serveWaiters(): void {
    for (const first of this.#waiters) {
      if (this.#isBusy) return
      const allowance = this.allowances.covering(first.wantedPicos)
      if (allowance === null) {
        this.#begin(first)
        return
      }
      this.#serve(first, allowance, first.wantedPicos)
    }
    this.#parts.waiting.delete(this)
  }

  sweep(nowMs: number): void {
    this.allowances.returnUnused()
    if (!this.#isBusy && this.allowances.isToRetire(nowMs)) this.allowances.retireCurrent()
    this.serveWaiters()
  }

  /** Resolves once no allowance is being placed. */
  async refuseAll(refusal: () => GatewayError): Promise<void> {
    for (const waiter of this.#waiters) this.#refuse(waiter, refusal())
    await Promise.all(this.#steps)
  }

  #begin(first: Waiter): void {
    this.#isBusy = true
    const step = this.#cover(first).finally(() => this.#steps.delete(step))
    this.#steps.add(step)
  }

  async #cover(first: Waiter): Promise<void> {
    let result: StepResult = 'refused'
    let refused: AllowanceView['refused'] = 'nothing'
    try {
      while (result === 'refused') {
        const { wantedPicos, floorPicos, sinceMs } = first
        const step = nextAllowanceStep({
          ...this.allowances.describe(),
          first: { wantedPicos, floorPicos, waitedMs: performance.now() - sinceMs },
          waitingPicos: [...this.#waiters].map((waiter) => waiter.wantedPicos),
          refused,
        })
        result = await this.#perform(step, first)
        refused = step.type === 'place_less' ? 'less' : 'allowance'
      }
    } catch (fault) {
      this.#parts.logger.log('allowance.not_placed', { fault, workspaceId: this.id.workspaceId })
      this.#refuse(first, logUnavailable(fault))
      result = 'done'
    }
    this.#isBusy = false
    if (result === 'done') this.serveWaiters()
  }

  async #perform(step: ReturnType<typeof nextAllowanceStep>, first: Waiter): Promise<StepResult> {
    switch (step.type) {
      case 'open_allowance': {
        const allowance = await this.#parts.store.place(this.id, step.minimumPicos, step.desiredPicos)
        if (allowance === null) return 'refused'
        this.allowances.activate(allowance)
        return 'done'
      }
      case 'place_singles':
        return this.#placeSingles([...this.#waiters].slice(0, step.waiters))
      case 'place_less':
        return this.#placeSingle(first, step.amountPicos)
      case 'reuse_draining':
        this.allowances.reuse(step.index)
        return 'done'
      case 'return_current':
        await this.allowances.returnCurrent()
        return 'done'
      case 'serve_less': {
        const allowance = this.allowances.covering(step.amountPicos)
        if (allowance !== null) this.#serve(first, allowance, step.amountPicos)
        return 'done'
      }
      case 'refuse':
        this.#refuse(first, step.reason === 'shortage' ? this.#parts.funds.shortageError(this.id) : allReserved())
        return 'done'
      case 'try_again':
        return 'done'
      case 'wait':
        return 'wait'
    }
  }

  async #placeSingles(waiters: readonly Waiter[]): Promise<StepResult> {
    const placed = await Promise.allSettled(waiters.map((waiter) => this.#placeSingle(waiter, waiter.wantedPicos)))
    const fault = placed.find((each) => each.status === 'rejected')
    if (fault !== undefined) throw fault.reason
    return placed.some((each) => each.status === 'fulfilled' && each.value === 'done') ? 'done' : 'refused'
  }

  async #placeSingle(waiter: Waiter, amountPicos: bigint): Promise<StepResult> {
    const allowance = await this.#parts.store.place(this.id, amountPicos, amountPicos)
    if (allowance === null) return 'refused'
    this.allowances.drain(allowance)
    this.#serve(waiter, allowance, amountPicos)
    return 'done'
  }

  #serve(waiter: Waiter, allowance: Allowance, reservedPicos: bigint): void {
    // It was refused when the edge stopped.
    if (this.#waiters.delete(waiter)) waiter.resolve(this.#reserve(allowance, waiter, reservedPicos))
  }

  #refuse(waiter: Waiter, refusal: GatewayError): void {
    this.#waiters.delete(waiter)
    waiter.reject(refusal)
  }

  #reserve(allowance: Allowance, { requestId }: Admission, reservedPicos: bigint): Reservation {
    allowance.reservedPicos += reservedPicos
    allowance.requests += 1
    allowance.usedAtMs = this.#parts.clock()
    return this.#parts.reservations.add(requestId, { allowance, spender: this, reservedPicos })
  }
}
