import { setTimeout as pause } from 'node:timers/promises'
import { allottedSlots, heldByOthers, heldSlots, noSlots, type Slots } from '../../../../domain/rates/slots.ts'
import { isObject } from '../../../../encoding/json.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import type { RateRecords } from '../../../rate-records.ts'
import { admissionLimits } from '../limits.ts'
import { SharedRecord } from './shared-record.ts'
import { type Waiter, WaitQueue } from './wait-queue.ts'

interface SlotsRecord {
  readonly slots: Slots
}

const isSlotsRecord = (value: unknown): value is SlotsRecord =>
  isObject(value) &&
  isObject(value['slots']) &&
  Object.values(value['slots']).every(
    (each) => isObject(each) && Number.isFinite(each['slots']) && Number.isFinite(each['untilMs']),
  )

/** A slot that lapses sooner is to be renewed. */
const renewAheadMs = admissionLimits.slotLeaseMs - admissionLimits.slotRenewMs

const parse = (value: unknown): SlotsRecord => (isSlotsRecord(value) ? value : { slots: noSlots })

/** Slots in use, and their peaks since the last sweep and between that and the one before. */
class SlotUse {
  #now = 0
  #most = 0
  #mostBefore = 0

  get now(): number {
    return this.#now
  }

  withSpare(spare: number): number {
    return Math.max(this.#now, Math.min(Math.max(this.#most, this.#mostBefore), this.#now + spare))
  }

  begin(): void {
    this.#now += 1
    this.#most = Math.max(this.#most, this.#now)
  }

  end(): void {
    this.#now -= 1
  }

  turn(): void {
    this.#mostBefore = this.#most
    this.#most = this.#now
  }

  forgetPeaks(): void {
    this.#mostBefore = 0
    this.#most = 0
  }
}

/**
 * One limit of concurrent requests, shared with other edges. The record has a slot for each request before it begins;
 * the slot is released when the request has ended, or, where there are plenty, with the next sweeps. Changes during a
 * write go with the next one.
 */
export class SlotShare {
  readonly #record: SharedRecord<SlotsRecord>
  readonly #holder: string
  readonly #clock: Clock
  readonly #use = new SlotUse()
  #max = 1
  /** Our slots in the record that no write under way releases. */
  #covered = 0
  #usedAtMs: number
  readonly #queue = new WaitQueue<boolean>({
    tryTake: () => this.#begin() || undefined,
    hasMore: () => this.#recorded(renewAheadMs) < this.#use.now || this.#recorded(0) > this.#kept(),
    step: (first) => this.#step(first),
  })

  /** `holder` is this edge's name in the record. */
  constructor(records: RateRecords, name: string, holder: string, clock: Clock) {
    this.#record = new SharedRecord({ records, name, parse, clock })
    this.#holder = holder
    this.#clock = clock
    this.#usedAtMs = clock()
  }

  /** False where no slot became free within `slotWaitMs`. Rejects with `log_unavailable` like a rate. */
  take(max: number): boolean | Promise<boolean> {
    this.#max = max
    this.#usedAtMs = this.#clock()
    return this.#queue.take(1)
  }

  release(): void {
    this.#use.end()
    this.#usedAtMs = this.#clock()
    this.#queue.serve()
    void this.#queue.run()
  }

  /** Renews used slots, and releases those that were not used lately. */
  sweep(): void {
    this.#use.turn()
    void this.#queue.run()
  }

  /** Resolves when the record has all slots back but those in use, or cannot be written. */
  close(): Promise<void> {
    this.#use.forgetPeaks()
    return this.#queue.run()
  }

  get isIdle(): boolean {
    const isQuiet = this.#clock() - this.#usedAtMs > admissionLimits.rateIdleMs
    return isQuiet && !this.#queue.isRunning && this.#use.now === 0 && this.#recorded(0) === 0
  }

  #begin(): boolean {
    const isFree = Math.min(this.#covered, this.#recorded(renewAheadMs), this.#max) > this.#use.now
    if (isFree) this.#use.begin()
    return isFree
  }

  /** The used slots, and of those used lately a small part of the limit, for the next requests. */
  #kept(): number {
    return this.#use.withSpare(Math.floor(this.#max / admissionLimits.slotSpareDivisor))
  }

  /** Our slots in the record that lapse after more than `ms`. */
  #recorded(ms: number): number {
    const holding = this.#record.value.slots[this.#holder]
    return holding !== undefined && holding.untilMs - this.#clock() > ms ? holding.slots : 0
  }

  /** What fails is corrected with the next sweep. */
  async #step(first: Waiter | undefined): Promise<void> {
    const nowMs = this.#clock()
    const wanted = Math.max(this.#use.now + this.#queue.length, this.#kept())
    const demand = { holder: this.#holder, used: this.#use.now, wanted }
    const slots = allottedSlots(this.#record.value.slots, nowMs, demand, this.#max)
    const isRecorded = slots === this.#recorded(renewAheadMs) && slots === this.#recorded(0)
    if (!isRecorded || slots > this.#covered) await this.#write(slots, nowMs)
    else if (first !== undefined) await this.#whileFull(first, nowMs)
  }

  async #write(slots: number, nowMs: number): Promise<void> {
    this.#covered = Math.min(this.#covered, slots)
    const untilMs = nowMs + admissionLimits.slotLeaseMs
    const value = { slots: heldSlots(this.#record.value.slots, nowMs, this.#holder, { slots, untilMs }) }
    const isWritten = await this.#record.write(value)
    this.#covered = isWritten ? slots : this.#recorded(renewAheadMs)
    if (isWritten) this.#queue.serve()
  }

  /** A client can have its answer before its slot is released: its next request elsewhere must not be refused. */
  async #whileFull(first: Waiter, nowMs: number): Promise<void> {
    const othersHold = heldByOthers(this.#record.value.slots, this.#holder, nowMs) > 0
    if (performance.now() - first.sinceMs >= admissionLimits.slotWaitMs && (this.#record.isFresh() || !othersHold)) {
      this.#queue.answerFirst(false)
      return
    }
    await pause(admissionLimits.slotPauseMs)
    if (othersHold) await this.#record.read()
  }
}
