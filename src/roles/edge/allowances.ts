import { walletOf } from '../../domain/ledger/ledger.ts'
import { formatUsd, minOf } from '../../domain/money.ts'
import type { Movement } from '../../domain/wallet/evolve.ts'
import { availablePicos, type Hold, type Wallet } from '../../domain/wallet/wallet.ts'
import { GatewayError, logUnavailable } from '../../errors.ts'
import { limits } from '../../limits.ts'
import { atMost } from '../../within.ts'
import type { LedgerTail } from '../ledger-tail.ts'
import type { Clock, Logger, NewId } from '../role.ts'
import type { WalletWriter } from '../wallet-writer.ts'
import { type SliceTimes, sliceTimesOf } from './bounds.ts'

/** What a request asks for: the worst case in full, and the least with which it is still of use. */
export interface Admission {
  readonly requestId: string
  readonly workspaceId: string
  readonly wantedPicos: bigint
  readonly floorPicos: bigint
}

/** Money reserved for one request in a slice of its workspace's wallet. */
export interface Reservation {
  /** Null when the request can cost nothing. */
  readonly allowanceId: string | null
  readonly reservedPicos: bigint
}

/** One allowance hold of this edge, and what its requests in flight have reserved of it. */
interface Slice {
  readonly hold: Hold
  /** Requests are admitted until then, milliseconds since the epoch. */
  readonly renewAtMs: number
  reservedPicos: bigint
  requests: number
  usedAtMs: number
}

interface Waiter extends Admission {
  readonly sinceMs: number
  readonly resolve: (reservation: Reservation) => void
  readonly reject: (refusal: GatewayError) => void
}

interface WorkspaceSlices {
  readonly workspaceId: string
  current: Slice | null
  /** Slices that go back when their last request ends. They admit more only where nothing else can be had for a while. */
  readonly draining: Set<Slice>
  waiters: Waiter[]
  /** True while a slice is being placed or given back: the answer starts the next step. */
  busy: boolean
  spentPicos: bigint
  spentBeforePicos: bigint
}

export interface AllowanceParts {
  readonly tail: LedgerTail
  readonly writer: WalletWriter
  readonly owner: string
  readonly clock: Clock
  readonly newId: NewId
  readonly logger: Logger
  /** How long a request may last. */
  readonly requestDeadlineMs: number
  /** How long `close` waits for slices to go back. */
  readonly returnMs?: number
}

/** A slice takes no more than such a part of what is left, unless one request needs it: other edges want some too. */
const shareDivisor = 2n

const insufficient = (): GatewayError =>
  new GatewayError(
    'insufficient_user_quota',
    'The workspace has no money left for this request. Add credit and try again.',
  )

const stopping = (): GatewayError =>
  new GatewayError('no_available_channel', 'The gateway is being stopped. Send the request again.', {
    retryAfterSeconds: 1,
  })

const allReserved = (): GatewayError =>
  new GatewayError(
    'concurrency_limit_exceeded',
    'What is left in the wallet is reserved by requests in flight. Try again shortly.',
    {
      retryAfterSeconds: 1,
    },
  )

/**
 * The money this edge may spend without asking: slices of the workspaces' wallets, set aside in the log before use.
 * A request reserves its worst case; the reservation ends when the ledger applies the request's closing event.
 */
export class Allowances {
  readonly #parts: AllowanceParts
  readonly #times: SliceTimes
  readonly #workspaces = new Map<string, WorkspaceSlices>()
  readonly #reservations = new Map<
    string,
    { readonly slice: Slice; readonly reservedPicos: bigint; readonly slices: WorkspaceSlices }
  >()
  /** Slices on their way back. */
  readonly #returns = new Map<Slice, Promise<void>>()
  /** Of workspaces that are busy. */
  readonly #steps = new Set<Promise<void>>()
  #onEnded: (() => void)[] = []
  #isClosed = false
  readonly #stopListening: () => void
  readonly #sweepTimer: NodeJS.Timeout
  #sweptAtMs: number

  constructor(parts: AllowanceParts) {
    this.#parts = parts
    this.#times = sliceTimesOf(parts.requestDeadlineMs)
    this.#sweptAtMs = parts.clock()
    this.#stopListening = parts.tail.onApplied((applied) => {
      for (const { closed, movements } of applied) {
        if (closed !== null) this.#end(closed.routed.data.requestId, chargedPicosOf(movements))
        for (const movement of movements) this.#observe(movement)
      }
    })
    this.#sweepTimer = setInterval(() => this.#sweep(), limits.allowanceSweepMs)
  }

  /**
   * Reserves the worst case of a request, or, when the wallet cannot cover it and nothing in flight will free more, what there is above the floor.
   * Throws `insufficient_user_quota`, or `concurrency_limit_exceeded` when requests in flight hold the money for too long.
   */
  admit(admission: Admission): Promise<Reservation> {
    if (this.#isClosed) return Promise.reject(stopping())
    if (admission.wantedPicos === 0n) return Promise.resolve({ allowanceId: null, reservedPicos: 0n })
    const slices = this.#slicesOf(admission.workspaceId)
    if (slices.waiters.length >= limits.admissionWaitersMax) return Promise.reject(allReserved())
    const current = slices.current
    if (slices.waiters.length === 0 && current !== null && this.#free(current) >= admission.wantedPicos)
      return Promise.resolve(this.#reserve(slices, current, admission, admission.wantedPicos))
    return new Promise((resolve, reject) => {
      slices.waiters.push({ ...admission, sinceMs: this.#parts.clock(), resolve, reject })
      this.#pump(slices)
    })
  }

  /** Ends the reservation of a request that the log never heard of. */
  cancel(requestId: string): void {
    this.#end(requestId, 0n)
  }

  /** Resolves when no reservation is left. */
  ended(): Promise<void> {
    if (this.#reservations.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onEnded.push(resolve)
    })
  }

  /** Admits nothing more and gives the slices back. What cannot go back in time is told: the scheduler releases it at its deadline. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#sweepTimer)
    await atMost(this.#giveAllBack(), this.#parts.returnMs ?? limits.allowanceReturnMs)
    this.#stopListening()
    const kept = [...this.#workspaces.values()].flatMap(slicesIn)
    for (const slice of [...kept, ...this.#returns.keys()]) if (this.#isOpen(slice)) this.#tellHeld(slice)
  }

  async #giveAllBack(): Promise<void> {
    for (const slices of this.#workspaces.values())
      for (const waiter of slices.waiters) this.#refuse(slices, waiter, stopping())
    await Promise.all(this.#steps)
    for (const slices of this.#workspaces.values()) {
      if (slices.current !== null) this.#retire(slices, slices.current)
      this.#giveBackUnused(slices)
    }
    await Promise.all(this.#returns.values())
  }

  #isOpen({ hold }: Slice): boolean {
    return walletOf(this.#parts.tail.ledger, hold.workspaceId).holds.has(hold.holdId)
  }

  #tellHeld({ hold, requests }: Slice): void {
    const { workspaceId, holdId, remainingPicos, deadlineMs } = hold
    const fields = { workspaceId, holdId, requests, amount: formatUsd(remainingPicos), deadline: new Date(deadlineMs) }
    this.#parts.logger.warn(fields, 'the edge stops while an allowance is held: it goes back at its deadline')
  }

  #slicesOf(workspaceId: string): WorkspaceSlices {
    const standing = this.#workspaces.get(workspaceId)
    if (standing !== undefined) return standing
    const slices = {
      workspaceId,
      current: null,
      draining: new Set<Slice>(),
      waiters: [],
      busy: false,
      spentPicos: 0n,
      spentBeforePicos: 0n,
    }
    this.#workspaces.set(workspaceId, slices)
    return slices
  }

  #walletOf({ workspaceId }: WorkspaceSlices): Wallet {
    return walletOf(this.#parts.tail.ledger, workspaceId)
  }

  /** What a slice can still reserve; nothing once its hold ended or it is due for renewal. */
  #free(slice: Slice): bigint {
    return this.#isOpen(slice) && this.#parts.clock() < slice.renewAtMs
      ? slice.hold.remainingPicos - slice.reservedPicos
      : 0n
  }

  #reserve(slices: WorkspaceSlices, slice: Slice, { requestId }: Admission, reservedPicos: bigint): Reservation {
    slice.reservedPicos += reservedPicos
    slice.requests += 1
    slice.usedAtMs = this.#parts.clock()
    this.#reservations.set(requestId, { slice, reservedPicos, slices })
    return { allowanceId: slice.hold.holdId, reservedPicos }
  }

  #end(requestId: string, chargedPicos: bigint): void {
    const reservation = this.#reservations.get(requestId)
    if (reservation === undefined) return
    this.#reservations.delete(requestId)
    this.#tellEnded()
    const { slice, slices, reservedPicos } = reservation
    slice.reservedPicos -= reservedPicos
    slice.requests -= 1
    slices.spentPicos += chargedPicos
    if (slice.requests === 0 && slices.draining.delete(slice)) this.#giveBack(slice)
    this.#pump(slices)
  }

  #tellEnded(): void {
    if (this.#reservations.size > 0) return
    for (const resolve of this.#onEnded) resolve()
    this.#onEnded = []
  }

  #observe({ workspaceId, kind, reference }: Movement): void {
    const slices = this.#workspaces.get(workspaceId)
    if (slices === undefined) return
    if (kind === 'release') this.#drop(slices, reference)
    if (slices.waiters.length > 0) this.#pump(slices)
  }

  /** Serves waiters in their order from the current slice; where it cannot cover the first, starts the next step for it. */
  #pump(slices: WorkspaceSlices): void {
    for (;;) {
      const [first] = slices.waiters
      if (first === undefined || slices.busy) return
      const { current } = slices
      if (current === null || this.#free(current) < first.wantedPicos) {
        this.#begin(slices, first)
        return
      }
      slices.waiters.shift()
      first.resolve(this.#reserve(slices, current, first, first.wantedPicos))
    }
  }

  #begin(slices: WorkspaceSlices, first: Waiter): void {
    const step = this.#step(slices, first).finally(() => this.#steps.delete(step))
    this.#steps.add(step)
  }

  async #step(slices: WorkspaceSlices, first: Waiter): Promise<void> {
    slices.busy = true
    let progress = false
    try {
      progress = await this.#cover(slices, first)
    } catch (fault) {
      this.#parts.logger.warn({ fault, workspaceId: slices.workspaceId }, 'no allowance could be placed')
      this.#refuse(slices, first, logUnavailable(fault))
      progress = true
    }
    slices.busy = false
    if (progress) this.#pump(slices)
  }

  /** Tries to find money for the first waiter; false when only time, or a request's end, can. */
  async #cover(slices: WorkspaceSlices, first: Waiter): Promise<boolean> {
    if ((await this.#place(slices, first)) || this.#turnBack(slices, first)) return true
    const { current } = slices
    if (current !== null && current.requests === 0) {
      slices.current = null
      await this.#giveBack(current)
      return true
    }
    const othersHold = this.#walletOf(slices).heldPicos > 0n
    if (othersHold && this.#waitedMs(first) < limits.admissionWaitMs) return false
    return this.#settleForLess(slices, first, othersHold)
  }

  /** A slice for about a second; from a wallet that is nearly empty one for each waiter, so that nothing lies unused that others wait for. */
  #place(slices: WorkspaceSlices, first: Waiter): Promise<boolean> {
    const sharePicos = availablePicos(this.#walletOf(slices)) / shareDivisor
    const desiredPicos = this.#desiredPicos(slices)
    const singlesMax = limits.allowanceSinglesMax - slices.draining.size
    return desiredPicos > sharePicos && singlesMax > 0
      ? this.#placeSingles(slices, firstWithin(slices.waiters.slice(0, singlesMax), sharePicos))
      : this.#openSlice(slices, first.wantedPicos, desiredPicos)
  }

  /** Takes what there is above the floor. */
  async #settleForLess(slices: WorkspaceSlices, first: Waiter, othersHold: boolean): Promise<boolean> {
    const { current } = slices
    if (current !== null && this.#free(current) >= first.floorPicos) {
      this.#serve(slices, first, current, minOf(first.wantedPicos, this.#free(current)))
      return true
    }
    const leastPicos = minOf(first.wantedPicos, availablePicos(this.#walletOf(slices)))
    if (leastPicos < first.floorPicos || leastPicos <= 0n)
      return this.#refuse(slices, first, othersHold ? allReserved() : insufficient())
    if (await this.#placeSingle(slices, first, leastPicos)) return true
    // Another edge was quicker: there may be more, unless it took too long.
    return this.#waitedMs(first) < limits.admissionWaitMs || this.#refuse(slices, first, allReserved())
  }

  #waitedMs({ sinceMs }: Waiter): number {
    return this.#parts.clock() - sinceMs
  }

  #serve(slices: WorkspaceSlices, waiter: Waiter, slice: Slice, reservedPicos: bigint): void {
    // One that was refused when the edge stopped needs nothing.
    if (!slices.waiters.includes(waiter)) return
    slices.waiters = slices.waiters.filter((each) => each !== waiter)
    waiter.resolve(this.#reserve(slices, slice, waiter, reservedPicos))
  }

  #refuse(slices: WorkspaceSlices, waiter: Waiter, refusal: GatewayError): boolean {
    slices.waiters = slices.waiters.filter((each) => each !== waiter)
    waiter.reject(refusal)
    return true
  }

  /** A slice lasts for about a second: who waits now, what is in flight, and what was spent in the last one. */
  #desiredPicos({ waiters, current, spentPicos, spentBeforePicos }: WorkspaceSlices): bigint {
    const waitingPicos = waiters.reduce((sum, waiter) => sum + waiter.wantedPicos, 0n)
    return waitingPicos + (current?.reservedPicos ?? 0n) + spentPicos + spentBeforePicos
  }

  async #openSlice(slices: WorkspaceSlices, minimumPicos: bigint, desiredPicos: bigint): Promise<boolean> {
    const slice = await this.#placeHold(slices, minimumPicos, desiredPicos)
    if (slice === null) return false
    this.#makeCurrent(slices, slice)
    return true
  }

  /** True when at least one could be placed. */
  async #placeSingles(slices: WorkspaceSlices, waiters: readonly Waiter[]): Promise<boolean> {
    const placed = await Promise.allSettled(
      waiters.map((waiter) => this.#placeSingle(slices, waiter, waiter.wantedPicos)),
    )
    const fault = placed.find((each) => each.status === 'rejected')
    if (fault !== undefined) throw fault.reason
    return placed.some((each) => each.status === 'fulfilled' && each.value)
  }

  /** A slice of one request, which goes back when that ends. */
  async #placeSingle(slices: WorkspaceSlices, waiter: Waiter, amountPicos: bigint): Promise<boolean> {
    const slice = await this.#placeHold(slices, amountPicos, amountPicos)
    if (slice === null) return false
    slices.draining.add(slice)
    this.#serve(slices, waiter, slice, amountPicos)
    return true
  }

  /** Null when the wallet has less than the minimum. */
  async #placeHold(
    { workspaceId }: WorkspaceSlices,
    minimumPicos: bigint,
    desiredPicos: bigint,
  ): Promise<Slice | null> {
    const { clock, newId, owner, writer, tail } = this.#parts
    const placedAtMs = clock()
    const holdId = newId()
    const deadline = new Date(placedAtMs + this.#times.lifetimeMs).toISOString()
    const command = { type: 'PlaceAllowance', holdId, minimumPicos, desiredPicos, deadline, owner } as const
    const outcome = await writer.execute(workspaceId, command)
    const hold = walletOf(tail.ledger, workspaceId).holds.get(holdId)
    if ('refused' in outcome || hold === undefined) return null
    const renewAtMs = placedAtMs + this.#times.renewMs
    return { hold, renewAtMs, reservedPicos: 0n, requests: 0, usedAtMs: placedAtMs }
  }

  /** A slice that does not come back, since a request in it goes on, may as well be used. */
  #turnBack(slices: WorkspaceSlices, first: Waiter): boolean {
    if (this.#waitedMs(first) < limits.allowanceDrainMs) return false
    const slice = [...slices.draining].find((each) => this.#free(each) >= first.wantedPicos)
    if (slice === undefined) return false
    slices.draining.delete(slice)
    this.#makeCurrent(slices, slice)
    return true
  }

  #makeCurrent(slices: WorkspaceSlices, slice: Slice): void {
    if (slices.current !== null) this.#retire(slices, slices.current)
    slices.current = slice
  }

  #retire(slices: WorkspaceSlices, slice: Slice): void {
    if (slices.current === slice) slices.current = null
    if (slice.requests === 0) this.#giveBack(slice)
    else slices.draining.add(slice)
  }

  #giveBack(slice: Slice): Promise<void> {
    const returned = this.#release(slice).finally(() => this.#returns.delete(slice))
    this.#returns.set(slice, returned)
    return returned
  }

  async #release(slice: Slice): Promise<void> {
    const { workspaceId, holdId } = slice.hold
    try {
      await this.#parts.writer.execute(workspaceId, { type: 'ReleaseHold', holdId, reason: 'returned' })
    } catch (fault) {
      this.#parts.logger.warn(
        { fault, holdId },
        'an allowance was not given back; it is tried again until its deadline',
      )
      this.#slicesOf(workspaceId).draining.add(slice)
    }
  }

  /** Those whose return failed. */
  #giveBackUnused({ draining }: WorkspaceSlices): void {
    for (const slice of draining)
      if (slice.requests === 0) {
        draining.delete(slice)
        this.#giveBack(slice)
      }
  }

  /** A slice that the scheduler took back covers nothing more. What became of its last requests may never be told. */
  #drop(slices: WorkspaceSlices, holdId: string): void {
    const { current, draining } = slices
    const ended = [...draining, ...(current === null ? [] : [current])].find(({ hold }) => hold.holdId === holdId)
    if (ended === undefined) return
    draining.delete(ended)
    if (ended === current) slices.current = null
    for (const [requestId, { slice }] of this.#reservations) if (slice === ended) this.#reservations.delete(requestId)
    this.#tellEnded()
  }

  /** More lies unused in it than the wallet has left for others, and than a second needs. */
  #isTooLarge(slices: WorkspaceSlices, slice: Slice): boolean {
    const unusedPicos = this.#free(slice)
    return (
      unusedPicos > availablePicos(this.#walletOf(slices)) && unusedPicos > slices.spentPicos + slices.spentBeforePicos
    )
  }

  #sweep(): void {
    const nowMs = this.#parts.clock()
    const newWindow = nowMs - this.#sweptAtMs >= limits.allowanceSpendWindowMs
    if (newWindow) this.#sweptAtMs = nowMs
    for (const slices of this.#workspaces.values()) {
      if (newWindow) turnSpendWindow(slices)
      this.#giveBackUnused(slices)
      const { current } = slices
      if (current !== null && !slices.busy && (isOver(current, nowMs) || this.#isTooLarge(slices, current)))
        this.#retire(slices, current)
      if (slices.waiters.length > 0) this.#pump(slices)
      else if (isEmpty(slices)) this.#workspaces.delete(slices.workspaceId)
    }
  }
}

/** Those at the front whose worst cases come to no more than a share; the first in any case. */
const firstWithin = (waiters: readonly Waiter[], sharePicos: bigint): readonly Waiter[] => {
  let leftPicos = sharePicos
  const end = waiters.findIndex(({ wantedPicos }) => {
    leftPicos -= wantedPicos
    return leftPicos < 0n
  })
  return end === -1 ? waiters : waiters.slice(0, Math.max(1, end))
}

const chargedPicosOf = (movements: readonly Movement[]): bigint =>
  movements.reduce((sum, { amountPicos }) => sum - amountPicos, 0n)

const turnSpendWindow = (slices: WorkspaceSlices): void => {
  slices.spentBeforePicos = slices.spentPicos
  slices.spentPicos = 0n
}

const isOver = (slice: Slice, nowMs: number): boolean =>
  nowMs >= slice.renewAtMs || (slice.requests === 0 && nowMs - slice.usedAtMs >= limits.allowanceIdleMs)

const slicesIn = ({ current, draining }: WorkspaceSlices): readonly Slice[] =>
  current === null ? [...draining] : [current, ...draining]

const isEmpty = ({ current, draining, busy, spentBeforePicos, spentPicos }: WorkspaceSlices): boolean =>
  current === null && draining.size === 0 && !busy && spentBeforePicos === 0n && spentPicos === 0n
