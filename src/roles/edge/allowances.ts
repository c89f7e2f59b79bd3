import { findLimitKey } from '../../domain/accounts/accounts.ts'
import { utcDayAt } from '../../domain/instant.ts'
import { walletInLedger } from '../../domain/ledger/ledger.ts'
import { formatUsd, minOf } from '../../domain/money.ts'
import type { Movement } from '../../domain/wallet/evolve.ts'
import { dayEndsMs, type KeyRemaining } from '../../domain/wallet/spending.ts'
import {
  findKeyRemaining,
  type Hold,
  isLimited,
  isTighter,
  spendablePicos,
  type Wallet,
} from '../../domain/wallet/wallet.ts'
import { GatewayError, logUnavailable } from '../../errors/gateway-error.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'
import type { WalletCommandHandler } from '../../log/wallet-command-handler.ts'
import type { Clock, NewId } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { waitAtMost } from '../../runtime/within.ts'
import { type SliceTimes, sliceTimesOf } from './bounds.ts'
import { edgeLimits } from './limits.ts'
import { keyLimitReached } from './spend-limit.ts'

/** `wantedPicos`: the worst case of the request; `floorPicos`: the least for which it is still admitted. */
export interface Admission {
  readonly requestId: string
  readonly workspaceId: string
  readonly keyId: string
  readonly wantedPicos: bigint
  readonly floorPicos: bigint
}

export interface Reservation {
  /** Null when the request can cost nothing. */
  readonly allowanceId: string | null
  readonly reservedPicos: bigint
}

interface Slice {
  readonly hold: Hold
  /** Milliseconds since the epoch: from then on no request is admitted against it. */
  readonly renewAtMs: number
  reservedPicos: bigint
  requests: number
  usedAtMs: number
}

interface Waiter extends Admission {
  /** By `performance.now()`: setting the wall clock must not refuse a waiter. */
  readonly sinceMs: number
  readonly resolve: (reservation: Reservation) => void
  readonly reject: (refusal: GatewayError) => void
}

/** The slices shared by the keys of a workspace, or those of one key that has spend limits. */
interface SpenderSlices {
  readonly workspaceId: string
  /** Null for the shared slices. */
  readonly keyId: string | null
  current: Slice | null
  /** Slices returned when their last request ends. They admit more requests only while no other money is available. */
  readonly draining: Set<Slice>
  waiters: Waiter[]
  /** True while a slice is being placed or returned: its acknowledgement starts the next step. */
  busy: boolean
  spentPicos: bigint
  spentBeforePicos: bigint
}

export interface AllowanceParts {
  readonly tail: LedgerTail
  readonly writer: WalletCommandHandler
  readonly owner: string
  readonly clock: Clock
  readonly newId: NewId
  readonly logger: Logger
  readonly requestDeadlineMs: number
  /** How long `close` waits for slices to be returned. */
  readonly returnMs?: number
}

/** The map key of the shared slices: no API key has this id. */
const shared = ''

/**
 * A slice takes at most this fraction of the available money, unless one request needs more: other edges place slices
 * too.
 */
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
    'What is left to spend is reserved by requests in flight. Try again shortly.',
    {
      retryAfterSeconds: 1,
    },
  )

/**
 * The money this edge may spend without a round trip: slices of wallets, reserved in the log before use. A key with
 * spend limits has its own slices, which count against its limits. A request reserves its worst case until the ledger
 * applies its closing event.
 */
export class Allowances {
  readonly #parts: AllowanceParts
  readonly #times: SliceTimes
  /** By workspace, then by key; `shared` for the shared slices. */
  readonly #workspaces = new Map<string, Map<string, SpenderSlices>>()
  readonly #reservations = new Map<
    string,
    { readonly slice: Slice; readonly reservedPicos: bigint; readonly slices: SpenderSlices }
  >()
  readonly #returns = new Map<Slice, Promise<void>>()
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
    this.#sweepTimer = setInterval(() => this.#sweep(), edgeLimits.allowanceSweepMs)
  }

  /**
   * Reserves the worst case of a request, or, when the wallet cannot cover it and nothing in flight will free more,
   * what is available above the floor. Throws `insufficient_user_quota`, `key_spend_limit_reached`, or
   * `concurrency_limit_exceeded` when requests in flight hold the money for too long.
   */
  admit(admission: Admission): Promise<Reservation> {
    if (this.#isClosed) return Promise.reject(stopping())
    if (admission.wantedPicos === 0n) return Promise.resolve({ allowanceId: null, reservedPicos: 0n })
    const slices = this.#slicesOf(admission.workspaceId, this.#limitedKeyOf(admission))
    if (slices.waiters.length >= edgeLimits.admissionWaitersMax) return Promise.reject(allReserved())
    const current = slices.current
    if (slices.waiters.length === 0 && current !== null && this.#free(current) >= admission.wantedPicos)
      return Promise.resolve(this.#reserve(slices, current, admission, admission.wantedPicos))
    return new Promise((resolve, reject) => {
      slices.waiters.push({ ...admission, sinceMs: performance.now(), resolve, reject })
      this.#pump(slices)
    })
  }

  /** Ends the reservation of a request that was never recorded in the log. */
  cancel(requestId: string): void {
    this.#end(requestId, 0n)
  }

  ended(): Promise<void> {
    if (this.#reservations.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onEnded.push(resolve)
    })
  }

  /** Admits nothing more and returns the slices; the scheduler releases the others at their deadline. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#sweepTimer)
    await waitAtMost(this.#returnAll(), this.#parts.returnMs ?? edgeLimits.allowanceReturnMs)
    this.#stopListening()
    const kept = this.#allSlices().flatMap(slicesIn)
    for (const slice of [...kept, ...this.#returns.keys()]) if (this.#isOpen(slice)) this.#reportHeld(slice)
  }

  async #returnAll(): Promise<void> {
    for (const slices of this.#allSlices())
      for (const waiter of slices.waiters) this.#refuse(slices, waiter, stopping())
    await Promise.all(this.#steps)
    for (const slices of this.#allSlices()) {
      if (slices.current !== null) this.#retire(slices, slices.current)
      this.#returnUnused(slices)
    }
    await Promise.all(this.#returns.values())
  }

  #isOpen({ hold }: Slice): boolean {
    return walletInLedger(this.#parts.tail.ledger, hold.workspaceId).holds.has(hold.holdId)
  }

  #reportHeld({ hold, requests }: Slice): void {
    const { workspaceId, holdId, remainingPicos, deadlineMs } = hold
    const fields = { workspaceId, holdId, requests, amount: formatUsd(remainingPicos), deadline: new Date(deadlineMs) }
    this.#parts.logger.warn(fields, 'the edge stops while an allowance is held: it goes back at its deadline')
  }

  #allSlices(): SpenderSlices[] {
    return [...this.#workspaces.values()].flatMap((byKey) => [...byKey.values()])
  }

  /** Null for a key without spend limits, which uses the shared slices. */
  #limitedKeyOf({ workspaceId, keyId }: Admission): string | null {
    const wallet = walletInLedger(this.#parts.tail.ledger, workspaceId)
    return isLimited(wallet, keyId) ? findLimitKey(wallet, keyId) : null
  }

  #find(workspaceId: string, keyId: string | null): SpenderSlices | undefined {
    return this.#workspaces.get(workspaceId)?.get(keyId ?? shared)
  }

  #slicesOf(workspaceId: string, keyId: string | null): SpenderSlices {
    const standing = this.#find(workspaceId, keyId)
    if (standing !== undefined) return standing
    const slices = {
      workspaceId,
      keyId,
      current: null,
      draining: new Set<Slice>(),
      waiters: [],
      busy: false,
      spentPicos: 0n,
      spentBeforePicos: 0n,
    }
    const byKey = this.#workspaces.get(workspaceId) ?? new Map<string, SpenderSlices>()
    this.#workspaces.set(workspaceId, byKey.set(keyId ?? shared, slices))
    return slices
  }

  #walletOf({ workspaceId }: SpenderSlices): Wallet {
    return walletInLedger(this.#parts.tail.ledger, workspaceId)
  }

  #today(): string {
    return utcDayAt(this.#parts.clock())
  }

  #remainingOf({ workspaceId, keyId }: Pick<SpenderSlices, 'workspaceId' | 'keyId'>): KeyRemaining | null {
    return keyId === null
      ? null
      : findKeyRemaining(walletInLedger(this.#parts.tail.ledger, workspaceId), keyId, this.#today())
  }

  #spendablePicos(slices: SpenderSlices): bigint {
    return spendablePicos(this.#walletOf(slices), this.#remainingOf(slices))
  }

  /** 0 once the hold has ended, is due for renewal, or exceeds what its key may still spend. */
  #free(slice: Slice): bigint {
    return this.#isOpen(slice) && this.#parts.clock() < slice.renewAtMs && !this.#isBeyondLimit(slice)
      ? slice.hold.remainingPicos - slice.reservedPicos
      : 0n
  }

  #isBeyondLimit({ hold: { workspaceId, spender } }: Slice): boolean {
    if (spender === null) return false
    const room = this.#remainingOf({ workspaceId, keyId: spender.keyId })
    return room !== null && room.leftPicos < 0n
  }

  #reserve(slices: SpenderSlices, slice: Slice, { requestId }: Admission, reservedPicos: bigint): Reservation {
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
    this.#reportEnded()
    const { slice, slices, reservedPicos } = reservation
    slice.reservedPicos -= reservedPicos
    slice.requests -= 1
    slices.spentPicos += chargedPicos
    if (slice.requests === 0 && slices.draining.delete(slice)) this.#returnSlice(slice)
    this.#pump(slices)
  }

  #reportEnded(): void {
    if (this.#reservations.size > 0) return
    for (const resolve of this.#onEnded) resolve()
    this.#onEnded = []
  }

  #observe({ workspaceId, kind, reference, spender }: Movement): void {
    const byKey = this.#workspaces.get(workspaceId)
    if (byKey === undefined) return
    const own = kind === 'release' ? byKey.get(spender?.keyId ?? shared) : undefined
    if (own !== undefined) this.#drop(own, reference)
    for (const slices of byKey.values()) if (slices.waiters.length > 0) this.#pump(slices)
  }

  /** Serves waiters in order from the current slice; where it cannot cover the first, starts the next step for it. */
  #pump(slices: SpenderSlices): void {
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

  #begin(slices: SpenderSlices, first: Waiter): void {
    const step = this.#step(slices, first).finally(() => this.#steps.delete(step))
    this.#steps.add(step)
  }

  async #step(slices: SpenderSlices, first: Waiter): Promise<void> {
    slices.busy = true
    let progress = false
    try {
      progress = await this.#coverPending(slices, first)
    } catch (fault) {
      this.#parts.logger.warn({ fault, workspaceId: slices.workspaceId }, 'no allowance could be placed')
      this.#refuse(slices, first, logUnavailable(fault))
      progress = true
    }
    slices.busy = false
    if (progress) this.#pump(slices)
  }

  /** False when only time, or the end of a request, can free money for the first waiter. */
  async #coverPending(slices: SpenderSlices, first: Waiter): Promise<boolean> {
    if ((await this.#place(slices, first)) || this.#rejectPending(slices, first)) return true
    const { current } = slices
    if (current !== null && current.requests === 0) {
      slices.current = null
      await this.#returnSlice(current)
      return true
    }
    const othersHold = this.#mayComeBack(slices)
    if (othersHold && this.#waitedMs(first) < edgeLimits.admissionWaitMs) return false
    return this.#acceptLess(slices, first, othersHold)
  }

  /** Whether holds take part of what is short: of the key's limit, or of the wallet. */
  #mayComeBack(slices: SpenderSlices): boolean {
    const wallet = this.#walletOf(slices)
    const room = this.#remainingOf(slices)
    return isTighter(room, wallet) ? room.heldPicos > 0n : wallet.heldPicos > 0n
  }

  #shortage(slices: SpenderSlices): GatewayError {
    const room = this.#remainingOf(slices)
    return isTighter(room, this.#walletOf(slices)) ? keyLimitReached(room, this.#today()) : insufficient()
  }

  /**
   * A slice for about a second; from a nearly empty wallet one per waiter, so that none locks money others wait for.
   */
  #place(slices: SpenderSlices, first: Waiter): Promise<boolean> {
    const sharePicos = this.#spendablePicos(slices) / shareDivisor
    const desiredPicos = this.#desiredPicos(slices)
    const singlesMax = edgeLimits.allowanceSinglesMax - slices.draining.size
    return desiredPicos > sharePicos && singlesMax > 0
      ? this.#placeSingles(slices, firstWithin(slices.waiters.slice(0, singlesMax), sharePicos))
      : this.#openSlice(slices, first.wantedPicos, desiredPicos)
  }

  /** Reserves less than the worst case, but at least the floor. */
  async #acceptLess(slices: SpenderSlices, first: Waiter, othersHold: boolean): Promise<boolean> {
    const { current } = slices
    if (current !== null && this.#free(current) >= first.floorPicos) {
      this.#serve(slices, first, current, minOf(first.wantedPicos, this.#free(current)))
      return true
    }
    const leastPicos = minOf(first.wantedPicos, this.#spendablePicos(slices))
    if (leastPicos < first.floorPicos || leastPicos <= 0n)
      return this.#refuse(slices, first, othersHold ? allReserved() : this.#shortage(slices))
    if (await this.#placeSingle(slices, first, leastPicos)) return true
    // Another edge was faster: retry, unless the request has waited too long.
    return this.#waitedMs(first) < edgeLimits.admissionWaitMs || this.#refuse(slices, first, allReserved())
  }

  #waitedMs({ sinceMs }: Waiter): number {
    return performance.now() - sinceMs
  }

  #serve(slices: SpenderSlices, waiter: Waiter, slice: Slice, reservedPicos: bigint): void {
    // It was refused when the edge stopped.
    if (!slices.waiters.includes(waiter)) return
    slices.waiters = slices.waiters.filter((each) => each !== waiter)
    waiter.resolve(this.#reserve(slices, slice, waiter, reservedPicos))
  }

  #refuse(slices: SpenderSlices, waiter: Waiter, refusal: GatewayError): boolean {
    slices.waiters = slices.waiters.filter((each) => each !== waiter)
    waiter.reject(refusal)
    return true
  }

  #desiredPicos({ waiters, current, spentPicos, spentBeforePicos }: SpenderSlices): bigint {
    const waitingPicos = waiters.reduce((sum, waiter) => sum + waiter.wantedPicos, 0n)
    return waitingPicos + (current?.reservedPicos ?? 0n) + spentPicos + spentBeforePicos
  }

  async #openSlice(slices: SpenderSlices, minimumPicos: bigint, desiredPicos: bigint): Promise<boolean> {
    const slice = await this.#placeHold(slices, minimumPicos, desiredPicos)
    if (slice === null) return false
    this.#activate(slices, slice)
    return true
  }

  async #placeSingles(slices: SpenderSlices, waiters: readonly Waiter[]): Promise<boolean> {
    const placed = await Promise.allSettled(
      waiters.map((waiter) => this.#placeSingle(slices, waiter, waiter.wantedPicos)),
    )
    const fault = placed.find((each) => each.status === 'rejected')
    if (fault !== undefined) throw fault.reason
    return placed.some((each) => each.status === 'fulfilled' && each.value)
  }

  async #placeSingle(slices: SpenderSlices, waiter: Waiter, amountPicos: bigint): Promise<boolean> {
    const slice = await this.#placeHold(slices, amountPicos, amountPicos)
    if (slice === null) return false
    slices.draining.add(slice)
    this.#serve(slices, waiter, slice, amountPicos)
    return true
  }

  /** Null when the wallet has less than the minimum. */
  async #placeHold(
    { workspaceId, keyId }: SpenderSlices,
    minimumPicos: bigint,
    desiredPicos: bigint,
  ): Promise<Slice | null> {
    const { clock, newId, owner, writer, tail } = this.#parts
    const placedAtMs = clock()
    const holdId = newId()
    const deadline = new Date(placedAtMs + this.#times.lifetimeMs).toISOString()
    const asked = { holdId, minimumPicos, desiredPicos, keyId, day: utcDayAt(placedAtMs), deadline, owner }
    const outcome = await writer.execute(workspaceId, { type: 'PlaceAllowance', ...asked })
    const hold = walletInLedger(tail.ledger, workspaceId).holds.get(holdId)
    if ('refused' in outcome || hold === undefined) return null
    const renewAtMs = placedAtMs + this.#times.renewMs
    return { hold, renewAtMs: untilDayEnds(hold, renewAtMs), reservedPicos: 0n, requests: 0, usedAtMs: placedAtMs }
  }

  /** Reuses a draining slice that a long request keeps from being returned. */
  #rejectPending(slices: SpenderSlices, first: Waiter): boolean {
    if (this.#waitedMs(first) < edgeLimits.allowanceDrainMs) return false
    const slice = [...slices.draining].find((each) => this.#free(each) >= first.wantedPicos)
    if (slice === undefined) return false
    slices.draining.delete(slice)
    this.#activate(slices, slice)
    return true
  }

  #activate(slices: SpenderSlices, slice: Slice): void {
    if (slices.current !== null) this.#retire(slices, slices.current)
    slices.current = slice
  }

  #retire(slices: SpenderSlices, slice: Slice): void {
    if (slices.current === slice) slices.current = null
    if (slice.requests === 0) this.#returnSlice(slice)
    else slices.draining.add(slice)
  }

  #returnSlice(slice: Slice): Promise<void> {
    const returned = this.#release(slice).finally(() => this.#returns.delete(slice))
    this.#returns.set(slice, returned)
    return returned
  }

  async #release(slice: Slice): Promise<void> {
    const { workspaceId, holdId, spender } = slice.hold
    try {
      await this.#parts.writer.execute(workspaceId, { type: 'ReleaseHold', holdId, reason: 'returned' })
    } catch (fault) {
      this.#parts.logger.warn(
        { fault, holdId },
        'an allowance was not given back; it is tried again until its deadline',
      )
      this.#slicesOf(workspaceId, spender?.keyId ?? null).draining.add(slice)
    }
  }

  /** Retries returns that failed. */
  #returnUnused({ draining }: SpenderSlices): void {
    for (const slice of draining)
      if (slice.requests === 0) {
        draining.delete(slice)
        this.#returnSlice(slice)
      }
  }

  /** A slice that the scheduler released covers nothing more. Its last requests may never be reported as ended. */
  #drop(slices: SpenderSlices, holdId: string): void {
    const { current, draining } = slices
    const ended = [...draining, ...(current === null ? [] : [current])].find(({ hold }) => hold.holdId === holdId)
    if (ended === undefined) return
    draining.delete(ended)
    if (ended === current) slices.current = null
    for (const [requestId, { slice }] of this.#reservations) if (slice === ended) this.#reservations.delete(requestId)
    this.#reportEnded()
  }

  /** More of it is unused than the wallet has left for others, and than a second of spending needs. */
  #isTooLarge(slices: SpenderSlices, slice: Slice): boolean {
    const unusedPicos = this.#free(slice)
    return unusedPicos > this.#spendablePicos(slices) && unusedPicos > slices.spentPicos + slices.spentBeforePicos
  }

  #sweep(): void {
    const nowMs = this.#parts.clock()
    const newWindow = nowMs - this.#sweptAtMs >= edgeLimits.allowanceSpendWindowMs
    if (newWindow) this.#sweptAtMs = nowMs
    for (const slices of this.#allSlices()) {
      if (newWindow) turnSpendWindow(slices)
      this.#returnUnused(slices)
      const { current } = slices
      if (current !== null && !slices.busy && this.#isToRetire(slices, current, nowMs)) this.#retire(slices, current)
      if (slices.waiters.length > 0) this.#pump(slices)
      else if (isEmpty(slices)) this.#forget(slices)
    }
  }

  #isToRetire(slices: SpenderSlices, current: Slice, nowMs: number): boolean {
    return isOver(current, nowMs) || this.#isTooLarge(slices, current) || this.#isBeyondLimit(current)
  }

  #forget({ workspaceId, keyId }: SpenderSlices): void {
    const byKey = this.#workspaces.get(workspaceId)
    byKey?.delete(keyId ?? shared)
    if (byKey?.size === 0) this.#workspaces.delete(workspaceId)
  }
}

/** A slice that counts against a day's limit is not used on the next day. */
const untilDayEnds = ({ spender }: Hold, renewAtMs: number): number =>
  spender === null ? renewAtMs : Math.min(renewAtMs, dayEndsMs(spender.day))

/** The first waiters whose worst cases together fit into a share; always at least one. */
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

const turnSpendWindow = (slices: SpenderSlices): void => {
  slices.spentBeforePicos = slices.spentPicos
  slices.spentPicos = 0n
}

const isOver = (slice: Slice, nowMs: number): boolean =>
  nowMs >= slice.renewAtMs || (slice.requests === 0 && nowMs - slice.usedAtMs >= edgeLimits.allowanceIdleMs)

const slicesIn = ({ current, draining }: SpenderSlices): readonly Slice[] =>
  current === null ? [...draining] : [current, ...draining]

const isEmpty = ({ current, draining, busy, spentBeforePicos, spentPicos }: SpenderSlices): boolean =>
  current === null && draining.size === 0 && !busy && spentBeforePicos === 0n && spentPicos === 0n
