import { GatewayError, logUnavailable } from '../../../errors/gateway-error.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { type AllowanceView, nextAllowanceStep } from './allowance-step.ts'
import { admissionLimits } from './limits.ts'
import type { Admission, Reservation, Reservations } from './reservations.ts'
import type { Slice, SliceStore } from './slice-store.ts'
import type { SpenderFunds, SpenderId } from './spender-funds.ts'
import { SpenderSlices } from './spender-slices.ts'

interface SpenderParts {
  readonly funds: SpenderFunds
  readonly store: SliceStore
  readonly reservations: Reservations<Spender>
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

/** Admits the requests of one spender against its slices; those that they do not cover wait in order. */
export class Spender {
  readonly id: SpenderId
  readonly slices: SpenderSlices
  readonly #parts: SpenderParts
  readonly #waiters = new Set<Waiter>()
  /** Steps for first waiters. While one runs, the next does not begin. */
  readonly #steps = new Set<Promise<void>>()
  #isBusy = false

  constructor(id: SpenderId, parts: SpenderParts) {
    this.id = id
    this.slices = new SpenderSlices(id, parts.funds, parts.store)
    this.#parts = parts
  }

  get isUnused(): boolean {
    return this.#waiters.size === 0 && !this.#isBusy && this.slices.isUnused
  }

  admit(admission: Admission): Promise<Reservation> {
    if (this.#waiters.size >= admissionLimits.admissionWaitersMax) return Promise.reject(allReserved())
    const slice = this.#waiters.size === 0 ? this.slices.covering(admission.wantedPicos) : null
    if (slice !== null) return Promise.resolve(this.#reserve(slice, admission, admission.wantedPicos))
    return new Promise((resolve, reject) => {
      this.#waiters.add({ ...admission, sinceMs: performance.now(), resolve, reject })
      this.serveWaiters()
    })
  }

  /** From the current slice; where it cannot cover the first, begins to find money for it. */
  serveWaiters(): void {
    for (const first of this.#waiters) {
      if (this.#isBusy) return
      const slice = this.slices.covering(first.wantedPicos)
      if (slice === null) {
        this.#begin(first)
        return
      }
      this.#serve(first, slice, first.wantedPicos)
    }
  }

  sweep(nowMs: number): void {
    this.slices.returnUnused()
    if (!this.#isBusy && this.slices.isToRetire(nowMs)) this.slices.retireCurrent()
    this.serveWaiters()
  }

  /** Resolves once no slice is being placed. */
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
          ...this.slices.describe(),
          first: { wantedPicos, floorPicos, waitedMs: performance.now() - sinceMs },
          waitingPicos: [...this.#waiters].map((waiter) => waiter.wantedPicos),
          refused,
        })
        result = await this.#perform(step, first)
        refused = step.type === 'place_less' ? 'less' : 'slice'
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
      case 'open_slice': {
        const slice = await this.#parts.store.place(this.id, step.minimumPicos, step.desiredPicos)
        if (slice === null) return 'refused'
        this.slices.activate(slice)
        return 'done'
      }
      case 'place_singles':
        return this.#placeSingles([...this.#waiters].slice(0, step.waiters))
      case 'place_less':
        return this.#placeSingle(first, step.amountPicos)
      case 'reuse_draining':
        this.slices.reuse(step.index)
        return 'done'
      case 'return_current':
        await this.slices.returnCurrent()
        return 'done'
      case 'serve_less': {
        const slice = this.slices.covering(step.amountPicos)
        if (slice !== null) this.#serve(first, slice, step.amountPicos)
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
    const slice = await this.#parts.store.place(this.id, amountPicos, amountPicos)
    if (slice === null) return 'refused'
    this.slices.drain(slice)
    this.#serve(waiter, slice, amountPicos)
    return 'done'
  }

  #serve(waiter: Waiter, slice: Slice, reservedPicos: bigint): void {
    // It was refused when the edge stopped.
    if (this.#waiters.delete(waiter)) waiter.resolve(this.#reserve(slice, waiter, reservedPicos))
  }

  #refuse(waiter: Waiter, refusal: GatewayError): void {
    this.#waiters.delete(waiter)
    waiter.reject(refusal)
  }

  #reserve(slice: Slice, { requestId }: Admission, reservedPicos: bigint): Reservation {
    slice.reservedPicos += reservedPicos
    slice.requests += 1
    slice.usedAtMs = this.#parts.clock()
    return this.#parts.reservations.add(requestId, { slice, spender: this, reservedPicos })
  }
}
