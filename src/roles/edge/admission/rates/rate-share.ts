import {
  decideLease,
  emptyMeter,
  type Meter,
  msUntilReset,
  remainingUnits,
  settleMeter,
} from '../../../../domain/rates/meter.ts'
import { isObject } from '../../../../encoding/json.ts'
import { logUnavailable } from '../../../../errors/gateway-error.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import type { RateRecords } from '../../../rate-records.ts'
import { admissionLimits } from '../limits.ts'
import { SharedRecord } from './shared-record.ts'
import { SingleFlight } from './single-flight.ts'

interface Waiter {
  readonly units: number
  /** By `performance.now()`: setting the wall clock must not refuse a waiter. */
  readonly sinceMs: number
  readonly resolve: (waitMs: number | null) => void
  readonly reject: (fault: unknown) => void
}

export interface RateView {
  readonly perMinute: number
  readonly remaining: number
  /** Until nothing of it is used. */
  readonly resetMs: number
}

const isMeter = (value: unknown): value is Meter =>
  isObject(value) && Number.isFinite(value['level']) && Number.isFinite(value['atMs'])

/** One limit of requests or tokens a minute, shared with other edges: units are leased briefly and spent locally. */
export class RateShare {
  readonly #record: SharedRecord<Meter>
  readonly #clock: Clock
  #perMinute: number
  #expectedOutput = 0
  #held = 0
  #heldSinceMs = 0
  /** Units not in the record yet: positive for those admitted without a lease, negative for those to return. */
  #owed = 0
  #waiters: Waiter[] = []
  readonly #pump = new SingleFlight({
    hasWork: () => this.#waiters.length > 0 || this.#owed !== 0,
    step: () => this.#step(),
    fail: (fault) => this.#fail(fault),
  })
  #taken = 0
  #takenBefore = 0
  #takenSinceMs: number
  #usedAtMs: number

  constructor(records: RateRecords, name: string, perMinute: number, clock: Clock) {
    this.#perMinute = perMinute
    this.#clock = clock
    const parse = (value: unknown): Meter => (isMeter(value) ? value : emptyMeter(clock()))
    this.#record = new SharedRecord({ records, name, parse, clock })
    this.#takenSinceMs = clock()
    this.#usedAtMs = clock()
  }

  /** Null, or milliseconds until there are units. Rejects with `log_unavailable` where that is not learnt in time. */
  take(units: number, perMinute: number): Promise<number | null> {
    const nowMs = this.#clock()
    this.#perMinute = perMinute
    this.#usedAtMs = nowMs
    this.#count(units, nowMs)
    this.#expire(nowMs)
    if (this.#waiters.length === 0 && this.#held >= units) {
      this.#held -= units
      return Promise.resolve(null)
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ units, sinceMs: performance.now(), resolve, reject })
      void this.#pump.run()
    })
  }

  giveBack(units: number): void {
    this.#held += units
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
    const meter = settleMeter(this.#record.value, nowMs, this.#owed - this.#held, perMinute)
    return {
      perMinute,
      remaining: remainingUnits(meter, nowMs, perMinute),
      resetMs: msUntilReset(meter, nowMs, perMinute),
    }
  }

  /** Returns unused units, and records what is owed. */
  sweep(): void {
    this.#expire(this.#clock())
    if (this.#owed !== 0) void this.#pump.run()
  }

  /** Resolves when this edge holds no units any more, or they cannot be returned. */
  async close(): Promise<void> {
    this.#owed -= this.#held
    this.#held = 0
    await this.#pump.run()
  }

  /** Unused, and without anything that is not in the record. */
  get isIdle(): boolean {
    const isQuiet = this.#clock() - this.#usedAtMs > admissionLimits.rateIdleMs
    return isQuiet && !this.#pump.isRunning && this.#held === 0 && this.#owed === 0
  }

  #count(units: number, nowMs: number): void {
    const windows = Math.floor((nowMs - this.#takenSinceMs) / admissionLimits.rateLeaseAheadMs)
    if (windows > 0) {
      this.#takenBefore = windows === 1 ? this.#taken : 0
      this.#taken = 0
      this.#takenSinceMs = nowMs
    }
    this.#taken += units
  }

  /** Units leased too long ago must not be spent: they would come on top of a whole minute. */
  #expire(nowMs: number): void {
    const agoMs = nowMs - this.#heldSinceMs
    if (agoMs >= 0 && agoMs < admissionLimits.rateLeaseMs) return // A clock may be set back.
    this.#owed -= this.#held
    this.#held = 0
  }

  /** What is owed is recorded with the next sweep. */
  #fail(fault: unknown): void {
    const failed = this.#waiters
    this.#waiters = []
    for (const { reject } of failed) reject(fault)
  }

  async #step(): Promise<void> {
    const nowMs = this.#clock()
    this.#expire(nowMs)
    const [first] = this.#waiters
    const meter = settleMeter(this.#record.value, nowMs, this.#owed, this.#perMinute)
    if (first === undefined) return this.#write(meter, 0, nowMs)
    if (first.units <= this.#held) return this.#serve()
    if (performance.now() - first.sinceMs > admissionLimits.rateWaitMs) return this.#failWaiters(first)
    const least = first.units - this.#held
    const ask = { held: this.#held, least, wanted: this.#wanted(least) }
    const decision = decideLease(meter, nowMs, ask, this.#perMinute)
    if (decision.granted !== null) return this.#write(decision.meter, decision.granted, nowMs)
    if (!this.#record.isFresh()) return this.#record.read()
    this.#waiters.shift()
    first.resolve(decision.waitMs)
  }

  #failWaiters(first: Waiter): void {
    this.#waiters.shift()
    first.reject(logUnavailable())
  }

  /** For the waiters, and as many requests as came lately; a small part of the limit: other edges need units too. */
  #wanted(least: number): number {
    const waiting = this.#waiters.reduce((sum, { units }) => sum + units, 0)
    const lately = Math.max(this.#taken, this.#takenBefore)
    const most = Math.floor(this.#perMinute / admissionLimits.rateLeaseDivisor)
    return Math.max(least, Math.min(waiting + lately - this.#held, most))
  }

  async #write(meter: Meter, granted: number, nowMs: number): Promise<void> {
    const reported = this.#owed
    if (!(await this.#record.write(meter))) return
    this.#owed -= reported
    this.#held += granted
    this.#heldSinceMs = nowMs
    this.#serve()
  }

  #serve(): void {
    for (let [first] = this.#waiters; first !== undefined && first.units <= this.#held; [first] = this.#waiters) {
      this.#waiters.shift()
      this.#held -= first.units
      first.resolve(null)
    }
  }
}
