import { walletOf } from '../../domain/ledger/ledger.ts'
import { minOf } from '../../domain/money.ts'
import { availablePicos, type Hold } from '../../domain/wallet/wallet.ts'
import { GatewayError, logUnavailable } from '../../errors.ts'
import { limits } from '../../limits.ts'
import type { LedgerTail } from '../ledger-tail.ts'
import type { Clock, Logger, NewId } from '../role.ts'
import type { WalletWriter } from '../wallet-writer.ts'

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
  readonly giveUpAtMs: number
  readonly resolve: (reservation: Reservation) => void
  readonly reject: (refusal: GatewayError) => void
}

interface WorkspaceSlices {
  readonly workspaceId: string
  current: Slice | null
  /** Slices that admit nothing more and go back when their last request ends. */
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
  /** How long `close` waits for what the last requests cost. */
  readonly lastEndMs?: number | undefined
}

const insufficient = (): GatewayError =>
  new GatewayError(
    'insufficient_user_quota',
    'The workspace has no money left for this request. Add credit and try again.',
  )

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
  readonly #workspaces = new Map<string, WorkspaceSlices>()
  readonly #reservations = new Map<
    string,
    { readonly slice: Slice; readonly reservedPicos: bigint; readonly slices: WorkspaceSlices }
  >()
  readonly #stopListening: () => void
  readonly #sweepTimer: NodeJS.Timeout
  #sweptAtMs: number

  constructor(parts: AllowanceParts) {
    this.#parts = parts
    this.#sweptAtMs = parts.clock()
    this.#stopListening = parts.tail.onApplied((applied) => {
      for (const { closed, movements } of applied) {
        if (closed !== null)
          this.#end(
            closed.routed.data.requestId,
            movements.reduce((sum, each) => sum - each.amountPicos, 0n),
          )
        for (const { workspaceId } of movements) this.#pumpWaiting(workspaceId)
      }
    })
    this.#sweepTimer = setInterval(() => this.#sweep(), limits.allowanceSweepMs)
  }

  /**
   * Reserves the worst case of a request, or, when the wallet cannot cover it and nothing in flight will free more, what there is above the floor.
   * Throws `insufficient_user_quota`, or `concurrency_limit_exceeded` when requests in flight hold the money for too long.
   */
  admit(admission: Admission): Promise<Reservation> {
    if (admission.wantedPicos === 0n) return Promise.resolve({ allowanceId: null, reservedPicos: 0n })
    const slices = this.#slicesOf(admission.workspaceId)
    if (slices.waiters.length >= limits.admissionWaitersMax) return Promise.reject(allReserved())
    const current = slices.current
    if (slices.waiters.length === 0 && current !== null && this.#free(current) >= admission.wantedPicos)
      return Promise.resolve(this.#reserve(slices, current, admission, admission.wantedPicos))
    return new Promise((resolve, reject) => {
      const giveUpAtMs = this.#parts.clock() + limits.admissionWaitMs
      slices.waiters.push({ ...admission, giveUpAtMs, resolve, reject })
      this.#pump(slices)
    })
  }

  /** Ends the reservation of a request that the log never heard of. */
  cancel(requestId: string): void {
    this.#end(requestId, 0n)
  }

  /** Gives every idle slice back. Call it when no request is in flight any more; what the last ones cost may still be on its way. */
  async close(): Promise<void> {
    clearInterval(this.#sweepTimer)
    if (this.#reservations.size > 0) await this.#lastEnd()
    this.#stopListening()
    const slices = [...this.#workspaces.values()].flatMap(({ current, draining }) => [
      ...draining,
      ...(current === null ? [] : [current]),
    ])
    await Promise.all(slices.filter(({ requests }) => requests === 0).map((slice) => this.#giveBack(slice)))
  }

  /** Resolves when no reservation is left, or the tail has had the time to tell. */
  #lastEnd(): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer)
        leave()
        resolve()
      }
      const timer = setTimeout(settle, this.#parts.lastEndMs ?? limits.stopMs)
      const leave = this.#parts.tail.onApplied(() => {
        if (this.#reservations.size === 0) settle()
      })
    })
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

  /** What a slice can still reserve; nothing once its hold ended or it is due for renewal. */
  #free(slice: Slice): bigint {
    const open = walletOf(this.#parts.tail.ledger, slice.hold.workspaceId).holds.has(slice.hold.holdId)
    return open && this.#parts.clock() < slice.renewAtMs ? slice.hold.remainingPicos - slice.reservedPicos : 0n
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
    const { slice, slices, reservedPicos } = reservation
    slice.reservedPicos -= reservedPicos
    slice.requests -= 1
    slices.spentPicos += chargedPicos
    if (slice.requests === 0 && slices.draining.delete(slice)) void this.#giveBack(slice)
    this.#pump(slices)
  }

  #pumpWaiting(workspaceId: string): void {
    const slices = this.#workspaces.get(workspaceId)
    if (slices !== undefined && slices.waiters.length > 0) this.#pump(slices)
  }

  /** Serves waiters in their order from the current slice; where it cannot cover the first, starts the next step for it. */
  #pump(slices: WorkspaceSlices): void {
    for (;;) {
      const [first] = slices.waiters
      if (first === undefined || slices.busy) return
      const { current } = slices
      if (current === null || this.#free(current) < first.wantedPicos) {
        void this.#step(slices, first)
        return
      }
      slices.waiters.shift()
      first.resolve(this.#reserve(slices, current, first, first.wantedPicos))
    }
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
    if (await this.#openSlice(slices, first.wantedPicos, this.#desiredPicos(slices))) return true
    const { current } = slices
    if (current !== null && current.requests === 0) {
      slices.current = null
      await this.#giveBack(current)
      return true
    }
    const othersHold = walletOf(this.#parts.tail.ledger, slices.workspaceId).heldPicos > 0n
    if (othersHold && this.#parts.clock() < first.giveUpAtMs) return false
    return this.#settleForLess(slices, first, othersHold)
  }

  async #settleForLess(slices: WorkspaceSlices, first: Waiter, othersHold: boolean): Promise<boolean> {
    const { current } = slices
    if (current === null || this.#free(current) < first.floorPicos) {
      const available = availablePicos(walletOf(this.#parts.tail.ledger, slices.workspaceId))
      const minimum = minOf(first.wantedPicos, available)
      if (minimum < first.floorPicos || minimum <= 0n || !(await this.#openSlice(slices, minimum, minimum)))
        return this.#refuse(slices, first, othersHold ? allReserved() : insufficient())
    }
    const slice = slices.current
    if (slice === null || slices.waiters[0] !== first) return true
    slices.waiters.shift()
    first.resolve(this.#reserve(slices, slice, first, minOf(first.wantedPicos, this.#free(slice))))
    return true
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
    const { clock, newId, owner, writer, tail } = this.#parts
    const placedAtMs = clock()
    const holdId = newId()
    const deadline = new Date(placedAtMs + limits.allowanceLifetimeMs).toISOString()
    const outcome = await writer.execute(slices.workspaceId, {
      type: 'PlaceAllowance',
      holdId,
      minimumPicos,
      desiredPicos,
      deadline,
      owner,
    })
    const hold = walletOf(tail.ledger, slices.workspaceId).holds.get(holdId)
    if ('refused' in outcome || hold === undefined) return false
    if (slices.current !== null) this.#retire(slices, slices.current)
    slices.current = {
      hold,
      renewAtMs: placedAtMs + limits.allowanceRenewMs,
      reservedPicos: 0n,
      requests: 0,
      usedAtMs: placedAtMs,
    }
    return true
  }

  #retire(slices: WorkspaceSlices, slice: Slice): void {
    if (slices.current === slice) slices.current = null
    if (slice.requests === 0) void this.#giveBack(slice)
    else slices.draining.add(slice)
  }

  async #giveBack({ hold }: Slice): Promise<void> {
    try {
      await this.#parts.writer.execute(hold.workspaceId, {
        type: 'ReleaseHold',
        holdId: hold.holdId,
        reason: 'returned',
      })
    } catch (fault) {
      this.#parts.logger.warn(
        { fault, holdId: hold.holdId },
        'an allowance was not given back; the scheduler does it at its deadline',
      )
    }
  }

  #sweep(): void {
    const nowMs = this.#parts.clock()
    const newWindow = nowMs - this.#sweptAtMs >= limits.allowanceSpendWindowMs
    if (newWindow) this.#sweptAtMs = nowMs
    for (const slices of this.#workspaces.values()) {
      if (newWindow) turnSpendWindow(slices)
      const { current } = slices
      if (current !== null && !slices.busy && isOver(current, nowMs)) this.#retire(slices, current)
      if (slices.waiters.length > 0) this.#pump(slices)
      else if (isEmpty(slices)) this.#workspaces.delete(slices.workspaceId)
    }
  }
}

const turnSpendWindow = (slices: WorkspaceSlices): void => {
  slices.spentBeforePicos = slices.spentPicos
  slices.spentPicos = 0n
}

const isOver = (slice: Slice, nowMs: number): boolean =>
  nowMs >= slice.renewAtMs || (slice.requests === 0 && nowMs - slice.usedAtMs >= limits.allowanceIdleMs)

const isEmpty = ({ current, draining, busy, spentBeforePicos, spentPicos }: WorkspaceSlices): boolean =>
  current === null && draining.size === 0 && !busy && spentBeforePicos === 0n && spentPicos === 0n
