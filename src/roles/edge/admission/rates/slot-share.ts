import { setTimeout as pause } from 'node:timers/promises'
import { allottedSlots, heldByOthers, heldSlots, noSlots, type Slots } from '../../../../domain/rates/slots.ts'
import { isObject } from '../../../../encoding/json.ts'
import { logUnavailable } from '../../../../errors/gateway-error.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import type { RateRecords } from '../../../rate-records.ts'
import { admissionLimits } from '../limits.ts'
import { SharedRecord } from './shared-record.ts'
import { SingleFlight } from './single-flight.ts'

interface Waiter {
  /** By `performance.now()`: setting the wall clock must not refuse a waiter. */
  readonly sinceMs: number
  readonly resolve: (taken: boolean) => void
  readonly reject: (fault: unknown) => void
}

interface SlotsRecord {
  readonly slots: Slots
}

const isSlotsRecord = (value: unknown): value is SlotsRecord =>
  isObject(value) &&
  isObject(value['slots']) &&
  Object.values(value['slots']).every(
    (each) => isObject(each) && Number.isFinite(each['slots']) && Number.isFinite(each['untilMs']),
  )

const parse = (value: unknown): SlotsRecord => (isSlotsRecord(value) ? value : { slots: noSlots })

/**
 * One limit of concurrent requests, shared with other edges. The record has a slot for each request before it begins;
 * the slot is released when the request has ended, or, where there are plenty, with the next sweeps. Changes during a
 * write go with the next one.
 */
export class SlotShare {
  readonly #record: SharedRecord<SlotsRecord>
  readonly #holder: string
  readonly #clock: Clock
  #max = 1
  #used = 0
  /** Our slots in the record that no write under way releases. */
  #covered = 0
  /** Peak use since the last sweep, and between that and the one before. */
  #most = 0
  #mostBefore = 0
  #waiters: Waiter[] = []
  readonly #pump = new SingleFlight({
    hasWork: () => this.#waiters.length > 0 || this.#recorded() < this.#used || this.#recordedSlots() > this.#kept(),
    step: () => this.#step(),
    fail: (fault) => this.#fail(fault),
  })
  #usedAtMs: number

  /** `holder` is this edge's name in the record. */
  constructor(records: RateRecords, name: string, holder: string, clock: Clock) {
    this.#record = new SharedRecord({ records, name, parse, clock })
    this.#holder = holder
    this.#clock = clock
    this.#usedAtMs = clock()
  }

  /** False where no slot became free within `slotWaitMs`. Rejects with `log_unavailable` like a rate. */
  take(max: number): Promise<boolean> {
    this.#max = max
    this.#usedAtMs = this.#clock()
    if (this.#waiters.length === 0 && this.#free() > 0) {
      this.#use()
      return Promise.resolve(true)
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ sinceMs: performance.now(), resolve, reject })
      void this.#pump.run()
    })
  }

  release(): void {
    this.#used -= 1
    this.#usedAtMs = this.#clock()
    this.#serve()
    void this.#pump.run()
  }

  /** Renews used slots, and releases those that were not used lately. */
  sweep(): void {
    this.#mostBefore = this.#most
    this.#most = this.#used
    void this.#pump.run()
  }

  /** Resolves when the record has all slots back but those in use, or cannot be written. */
  close(): Promise<void> {
    this.#mostBefore = 0
    this.#most = 0
    return this.#pump.run()
  }

  get isIdle(): boolean {
    const isQuiet = this.#clock() - this.#usedAtMs > admissionLimits.rateIdleMs
    return isQuiet && !this.#pump.isRunning && this.#used === 0 && this.#recordedSlots() === 0
  }

  #use(): void {
    this.#used += 1
    this.#most = Math.max(this.#most, this.#used)
  }

  /** The used slots, and of those used lately a small part of the limit, for the next requests. */
  #kept(): number {
    const spare = Math.floor(this.#max / admissionLimits.slotSpareDivisor)
    return Math.max(this.#used, Math.min(Math.max(this.#most, this.#mostBefore), this.#used + spare))
  }

  #free(): number {
    return Math.min(this.#covered, this.#recorded(), this.#max) - this.#used
  }

  /** Our slots in the record that do not lapse soon. */
  #recorded(): number {
    return this.#recordedSlots(admissionLimits.slotLeaseMs - admissionLimits.slotRenewMs)
  }

  /** Our slots in the record that lapse after more than `ms`. */
  #recordedSlots(ms = 0): number {
    const holding = this.#record.value.slots[this.#holder]
    return holding !== undefined && holding.untilMs - this.#clock() > ms ? holding.slots : 0
  }

  /** The record is corrected with the next sweep. */
  #fail(fault: unknown): void {
    const failed = this.#waiters
    this.#waiters = []
    for (const { reject } of failed) reject(fault)
  }

  async #step(): Promise<void> {
    const nowMs = this.#clock()
    const [first] = this.#waiters
    if (first !== undefined && performance.now() - first.sinceMs > admissionLimits.rateWaitMs)
      return this.#failWaiters(first)
    if (first !== undefined && this.#free() > 0) return this.#serve()
    const wanted = Math.max(this.#used + this.#waiters.length, this.#kept())
    const asked = { holder: this.#holder, used: this.#used, wanted }
    const slots = allottedSlots(this.#record.value.slots, nowMs, asked, this.#max)
    const isRecorded = slots === this.#recorded() && slots === this.#recordedSlots()
    if (!isRecorded || slots > this.#covered) await this.#write(slots, nowMs)
    else if (first !== undefined) await this.#whileFull(first, nowMs)
  }

  #failWaiters(first: Waiter): void {
    this.#waiters.shift()
    first.reject(logUnavailable())
  }

  async #write(slots: number, nowMs: number): Promise<void> {
    this.#covered = Math.min(this.#covered, slots)
    const untilMs = nowMs + admissionLimits.slotLeaseMs
    const value = { slots: heldSlots(this.#record.value.slots, nowMs, this.#holder, { slots, untilMs }) }
    const isWritten = await this.#record.write(value)
    this.#covered = isWritten ? slots : this.#recorded()
    if (isWritten) this.#serve()
  }

  #serve(): void {
    while (this.#free() > 0) {
      const first = this.#waiters.shift()
      if (first === undefined) return
      this.#use()
      first.resolve(true)
    }
  }

  /** A client can have its answer before its slot is released: its next request elsewhere must not be refused. */
  async #whileFull(first: Waiter, nowMs: number): Promise<void> {
    const othersHold = heldByOthers(this.#record.value.slots, this.#holder, nowMs) > 0
    if (performance.now() - first.sinceMs >= admissionLimits.slotWaitMs && (this.#record.isFresh() || !othersHold)) {
      this.#waiters.shift()
      first.resolve(false)
      return
    }
    await pause(admissionLimits.slotPauseMs)
    if (othersHold) await this.#record.read()
  }
}
