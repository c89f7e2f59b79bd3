import {
  decideLease,
  emptyMeter,
  type Meter,
  msUntilReset,
  remainingUnits,
  returnableUnits,
  settleMeter,
} from '../../../../domain/rates/meter.ts'
import { isObject } from '../../../../encoding/json.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import type { RateRecords } from '../../../rate-records.ts'
import { admissionLimits } from '../limits.ts'
import { SharedRecord } from './shared-record.ts'
import { type Waiter, WaitQueue } from './wait-queue.ts'

export interface RateView {
  readonly perMinute: number
  readonly remaining: number
  /** Until nothing of it is used. */
  readonly resetMs: number
}

const isMeter = (value: unknown): value is Meter =>
  isObject(value) && Number.isFinite(value['level']) && Number.isFinite(value['atMs'])

/** Units leased from the record, to be spent here for a short time. */
class LeasedUnits {
  #units = 0
  #sinceMs = 0
  #lapsed: readonly { readonly units: number; readonly sinceMs: number }[] = []

  get units(): number {
    return this.#units
  }

  get lapses(): number {
    return this.#lapsed.length
  }

  returnable(nowMs: number, perMinute: number): number {
    return this.#lapsed.reduce((sum, { units, sinceMs }) => sum + returnableUnits(units, nowMs - sinceMs, perMinute), 0)
  }

  spend(units: number): boolean {
    if (units > this.#units) return false
    this.#units -= units
    return true
  }

  giveBack(units: number): void {
    this.#units += units
  }

  add(units: number, nowMs: number): void {
    this.#units += units
    this.#sinceMs = nowMs
  }

  /** Units leased too long ago must not be spent: they would come on top of a whole minute. */
  expire(nowMs: number): void {
    const agoMs = nowMs - this.#sinceMs
    if (agoMs < 0 || agoMs >= admissionLimits.rateLeaseMs) this.lapse() // A clock may be set back.
  }

  lapse(): void {
    if (this.#units !== 0) this.#lapsed = [...this.#lapsed, { units: this.#units, sinceMs: this.#sinceMs }]
    this.#units = 0
  }

  forget(lapses: number): void {
    this.#lapsed = this.#lapsed.slice(lapses)
  }
}

/** Units that were asked for in the present window of `rateLeaseAheadMs` and the one before. */
class RecentDemand {
  #units = 0
  #unitsBefore = 0
  #sinceMs: number
  #lastMs: number

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
    this.#lastMs = nowMs
  }

  get lastMs(): number {
    return this.#lastMs
  }

  get most(): number {
    return Math.max(this.#units, this.#unitsBefore)
  }

  add(units: number, nowMs: number): void {
    const windows = Math.floor((nowMs - this.#sinceMs) / admissionLimits.rateLeaseAheadMs)
    if (windows > 0) {
      this.#unitsBefore = windows === 1 ? this.#units : 0
      this.#units = 0
      this.#sinceMs = nowMs
    }
    this.#units += units
    this.#lastMs = nowMs
  }
}

/** One limit of requests or tokens a minute, shared with other edges: units are leased briefly and spent locally. */
export class RateShare {
  readonly #record: SharedRecord<Meter>
  readonly #clock: Clock
  readonly #leased = new LeasedUnits()
  readonly #demand: RecentDemand
  /** Units not in the record yet: positive where more was used than was taken, negative where less was. */
  #owed = 0
  #perMinute: number
  #expectedOutput = 0
  readonly #queue = new WaitQueue<number | null>({
    tryTake: (units) => {
      this.#leased.expire(this.#clock())
      return this.#leased.spend(units) ? null : undefined
    },
    hasMore: () => this.#owed !== 0 || this.#leased.lapses > 0,
    step: (first) => this.#step(first),
  })

  constructor(records: RateRecords, name: string, perMinute: number, clock: Clock) {
    this.#perMinute = perMinute
    this.#clock = clock
    const parse = (value: unknown): Meter => (isMeter(value) ? value : emptyMeter(clock()))
    this.#record = new SharedRecord({ records, name, parse, clock })
    this.#demand = new RecentDemand(clock())
  }

  /** Null, or milliseconds until there are units. Rejects with `log_unavailable` where that is not learnt in time. */
  take(units: number, perMinute: number): number | null | Promise<number | null> {
    this.#perMinute = perMinute
    this.#demand.add(units, this.#clock())
    return this.#queue.take(units)
  }

  giveBack(units: number): void {
    this.#leased.giveBack(units)
  }

  /** Counts with the next write what was taken too little, or below zero too much. */
  settle(units: number): void {
    this.#owed += units
  }

  /** A mean in which the last output counts most. */
  get expectedOutput(): number {
    return this.#expectedOutput
  }

  learn(output: number): void {
    this.#expectedOutput += (output - this.#expectedOutput) * admissionLimits.rateOutputsWeight
  }

  view(perMinute: number): RateView {
    const nowMs = this.#clock()
    const unused = this.#leased.units + this.#leased.returnable(nowMs, perMinute)
    const meter = settleMeter(this.#record.value, nowMs, this.#owed - unused, perMinute)
    return {
      perMinute,
      remaining: remainingUnits(meter, nowMs, perMinute),
      resetMs: msUntilReset(meter, nowMs, perMinute),
    }
  }

  /** Returns unused units, and records what is owed; what fails is recorded with the next sweep. */
  sweep(): void {
    this.#leased.expire(this.#clock())
    void this.#queue.run()
  }

  /** Resolves when this edge holds no units any more, or they cannot be returned. */
  async close(): Promise<void> {
    this.#leased.lapse()
    await this.#queue.run()
  }

  /** Unused, and without anything that is not in the record. */
  get isIdle(): boolean {
    const isQuiet = this.#clock() - this.#demand.lastMs > admissionLimits.rateIdleMs
    const isSettled = this.#leased.units === 0 && this.#leased.lapses === 0 && this.#owed === 0
    return isQuiet && !this.#queue.isRunning && isSettled
  }

  async #step(first: Waiter | undefined): Promise<void> {
    const nowMs = this.#clock()
    this.#leased.expire(nowMs)
    const owed = this.#owed - this.#leased.returnable(nowMs, this.#perMinute)
    const meter = settleMeter(this.#record.value, nowMs, owed, this.#perMinute)
    if (first === undefined) return this.#write(meter, 0, nowMs)
    const held = this.#leased.units
    const least = first.units - held
    // For the waiters, and as many as came lately; a small part of the limit: other edges need units too.
    const most = Math.floor(this.#perMinute / admissionLimits.rateLeaseDivisor)
    const wanted = Math.max(least, Math.min(this.#queue.units + this.#demand.most - held, most))
    const decision = decideLease(meter, nowMs, { held, least, wanted }, this.#perMinute)
    if (decision.granted !== null) return this.#write(decision.meter, decision.granted, nowMs)
    if (!this.#record.isFresh()) return this.#record.read()
    this.#queue.answerFirst(decision.waitMs)
  }

  async #write(meter: Meter, granted: number, nowMs: number): Promise<void> {
    const reported = this.#owed
    const { lapses } = this.#leased
    if (!(await this.#record.write(meter))) return
    this.#owed -= reported
    this.#leased.forget(lapses)
    if (granted > 0) this.#leased.add(granted, nowMs)
    this.#queue.serve()
  }
}
