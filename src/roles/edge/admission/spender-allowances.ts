import type { AllowanceView } from './allowance-step.ts'
import type { Allowance, AllowanceStore } from './allowance-store.ts'
import { admissionLimits } from './limits.ts'
import type { SpenderFunds, SpenderId } from './spender-funds.ts'

const isOver = (allowance: Allowance, nowMs: number): boolean =>
  nowMs >= allowance.renewAtMs ||
  (allowance.requests === 0 && nowMs - allowance.usedAtMs >= admissionLimits.allowanceIdleMs)

/** In the current second and the one before. */
class RecentSpending {
  #picos = 0n
  #beforePicos = 0n

  get totalPicos(): bigint {
    return this.#picos + this.#beforePicos
  }

  get isZero(): boolean {
    return this.#picos === 0n && this.#beforePicos === 0n
  }

  add(picos: bigint): void {
    this.#picos += picos
  }

  turn(): void {
    this.#beforePicos = this.#picos
    this.#picos = 0n
  }
}

/** The allowances of the requests with the same holders of spend limits; those without are the workspace's shared ones. */
export class SpenderAllowances {
  readonly #spender: SpenderId
  readonly #funds: SpenderFunds
  readonly #store: AllowanceStore
  /** Returned when their last request ends. They admit more requests only while no other money is available. */
  readonly #draining = new Set<Allowance>()
  #current: Allowance | null = null
  readonly spending = new RecentSpending()

  constructor(spender: SpenderId, funds: SpenderFunds, store: AllowanceStore) {
    this.#spender = spender
    this.#funds = funds
    this.#store = store
  }

  get all(): readonly Allowance[] {
    return this.#current === null ? [...this.#draining] : [this.#current, ...this.#draining]
  }

  /** None, and nothing spent of late. */
  get isUnused(): boolean {
    return this.#current === null && this.#draining.size === 0 && this.spending.isZero
  }

  /** The current allowance where so much of it is free. */
  covering(amountPicos: bigint): Allowance | null {
    return this.#current !== null && this.#funds.freePicos(this.#current) >= amountPicos ? this.#current : null
  }

  describe(): Omit<AllowanceView, 'first' | 'waitingPicos' | 'refused'> {
    const current = this.#current
    return {
      current:
        current === null
          ? null
          : {
              freePicos: this.#funds.freePicos(current),
              reservedPicos: current.reservedPicos,
              requests: current.requests,
            },
      drainingPicos: [...this.#draining].map((allowance) => this.#funds.freePicos(allowance)),
      spentPicos: this.spending.totalPicos,
      spendablePicos: this.#funds.spendablePicos(this.#spender),
      isHeld: this.#funds.isHeld(this.#spender),
    }
  }

  activate(allowance: Allowance): void {
    this.retireCurrent()
    this.#current = allowance
  }

  /** To be returned once nothing uses it. */
  drain(allowance: Allowance): void {
    this.#draining.add(allowance)
  }

  reuse(index: number): void {
    const allowance = [...this.#draining][index]
    if (allowance === undefined) return
    this.#draining.delete(allowance)
    this.activate(allowance)
  }

  async returnCurrent(): Promise<void> {
    const current = this.#current
    this.#current = null
    if (current !== null) await this.#store.return(current)
  }

  settle(allowance: Allowance, reservedPicos: bigint, chargedPicos: bigint): void {
    allowance.reservedPicos -= reservedPicos
    allowance.requests -= 1
    this.spending.add(chargedPicos)
    if (allowance.requests === 0 && this.#draining.delete(allowance)) this.#store.return(allowance)
  }

  /** The allowance of a hold that has ended: it covers nothing more. */
  drop(holdId: string): Allowance | undefined {
    const ended = this.all.find(({ hold }) => hold.holdId === holdId)
    if (ended === undefined) return undefined
    this.#draining.delete(ended)
    if (ended === this.#current) this.#current = null
    return ended
  }

  retireCurrent(): void {
    const current = this.#current
    this.#current = null
    if (current === null) return
    if (current.requests === 0) this.#store.return(current)
    else this.#draining.add(current)
  }

  /** Retries returns that failed. */
  returnUnused(): void {
    for (const allowance of this.#draining)
      if (allowance.requests === 0) {
        this.#draining.delete(allowance)
        this.#store.return(allowance)
      }
  }

  /** The current one is over, or more of it is unused than others have left, and than a second of spending needs. */
  isToRetire(nowMs: number): boolean {
    const current = this.#current
    if (current === null) return false
    const unusedPicos = this.#funds.freePicos(current)
    const isTooLarge = unusedPicos > this.#funds.spendablePicos(this.#spender) && unusedPicos > this.spending.totalPicos
    return isOver(current, nowMs) || isTooLarge || this.#funds.isBeyondLimit(current)
  }
}
