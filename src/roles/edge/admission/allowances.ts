import type { Movement } from '../../../domain/wallet/evolve.ts'
import { stoppingError } from '../../../errors/gateway-error.ts'
import type { LedgerTail } from '../../../log/ledger-tail.ts'
import { waitAtMost } from '../../../runtime/within.ts'
import { AllowanceStore } from './allowance-store.ts'
import { admissionLimits } from './limits.ts'
import { type Admission, type Reservation, Reservations, Spender } from './spender.ts'
import { SpenderFunds, type SpenderId } from './spender-funds.ts'

type AllowanceParts = ConstructorParameters<typeof AllowanceStore>[0] & {
  readonly tail: LedgerTail
  /** How long `close` waits for allowances to be returned. */
  readonly returnMs?: number
}

/** Of one workspace. */
interface Spenders {
  readonly byKey: Map<string, Spender>
  readonly waiting: Set<Spender>
}

/** Of the shared allowances it is empty. No holder has a line feed. */
const spenderKey = ({ holders }: SpenderId): string => holders.join('\n')

const chargedPicosOf = (movements: readonly Movement[]): bigint =>
  movements.reduce((sum, { amountPicos }) => sum - amountPicos, 0n)

/**
 * The money this edge may spend without a round trip: allowances of wallets, reserved in the log before use. Requests
 * of a key, with a tag or of an end user that has spend limits have allowances of their own, which count against each of
 * these limits. A request reserves its worst case until the ledger applies its closing event.
 */
export class Allowances {
  readonly #parts: AllowanceParts
  readonly funds: SpenderFunds
  readonly #store: AllowanceStore
  readonly #reservations = new Reservations()
  readonly #workspaces = new Map<string, Spenders>()
  #isClosed = false
  readonly #stopListening: () => void
  readonly #sweepTimer: NodeJS.Timeout
  #sweptAtMs: number

  constructor(parts: AllowanceParts) {
    this.#parts = parts
    this.funds = new SpenderFunds(parts.tail, parts.clock)
    this.#store = new AllowanceStore(parts, (allowance) => {
      this.#spenderOf(allowance.spender).allowances.drain(allowance)
    })
    this.#sweptAtMs = parts.clock()
    this.#stopListening = parts.tail.onApplied((applied) => {
      for (const { closed, movements } of applied) {
        if (closed !== null) this.#end(closed.routed.data.requestId, chargedPicosOf(movements))
        for (const movement of movements) this.#observe(movement)
      }
    })
    this.#sweepTimer = setInterval(() => this.#sweep(), admissionLimits.allowanceSweepMs)
  }

  /**
   * Reserves the worst case of a request, at once where an allowance covers it, or, when the wallet cannot cover it and nothing in flight will free more,
   * what is available above the floor. Throws `insufficient_user_quota`, `key_spend_limit_reached`, or
   * `concurrency_limit_exceeded` when requests in flight hold the money for too long.
   */
  admit(admission: Admission): Reservation | Promise<Reservation> {
    if (this.#isClosed) return Promise.reject(stoppingError())
    if (admission.wantedPicos === 0n) return { allowanceId: null, reservedPicos: 0n }
    return this.#spenderOf(this.funds.spenderOf(admission)).admit(admission)
  }

  /** Ends the reservation of a request that was never recorded in the log. */
  cancel(requestId: string): void {
    this.#end(requestId, 0n)
  }

  ended(): Promise<void> {
    return this.#reservations.ended()
  }

  /** Admits nothing more and returns the allowances; the scheduler releases the others at their deadline. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#sweepTimer)
    await waitAtMost(this.#returnAll(), this.#parts.returnMs ?? admissionLimits.allowanceReturnMs)
    this.#stopListening()
    const kept = this.#spenders().flatMap(({ allowances }) => allowances.all)
    for (const allowance of [...kept, ...this.#store.beingReturned])
      if (this.funds.isOpen(allowance)) this.#store.reportHeld(allowance)
  }

  async #returnAll(): Promise<void> {
    await Promise.all(this.#spenders().map((spender) => spender.refuseAll(stoppingError)))
    for (const { allowances } of this.#spenders()) {
      allowances.retireCurrent()
      allowances.returnUnused()
    }
    await this.#store.returned()
  }

  #spenders(): readonly Spender[] {
    return [...this.#workspaces.values()].flatMap(({ byKey }) => [...byKey.values()])
  }

  #spenderOf(id: SpenderId): Spender {
    const { workspaceId } = id
    const key = spenderKey(id)
    const spenders = this.#workspaces.get(workspaceId) ?? { byKey: new Map(), waiting: new Set() }
    const existing = spenders.byKey.get(key)
    if (existing !== undefined) return existing
    const { waiting } = spenders
    const parts = { ...this.#parts, funds: this.funds, store: this.#store, reservations: this.#reservations, waiting }
    const spender = new Spender(id, parts)
    spenders.byKey.set(key, spender)
    this.#workspaces.set(workspaceId, spenders)
    return spender
  }

  #end(requestId: string, chargedPicos: bigint): void {
    const reserved = this.#reservations.take(requestId)
    if (reserved === undefined) return
    const { spender, allowance, reservedPicos } = reserved
    spender.allowances.settle(allowance, reservedPicos, chargedPicos)
    spender.serveWaiters()
  }

  #observe({ workspaceId, kind, reference }: Movement): void {
    const released = kind === 'release' ? this.#store.takeSpender(reference) : null
    const spenders = this.#workspaces.get(workspaceId)
    if (spenders === undefined) return
    const own = released === null ? undefined : spenders.byKey.get(spenderKey(released))
    const ended = own?.allowances.drop(reference)
    if (ended !== undefined) this.#reservations.dropOf(ended)
    for (const each of [...spenders.waiting]) each.serveWaiters()
  }

  #sweep(): void {
    const nowMs = this.#parts.clock()
    const isNewWindow = nowMs - this.#sweptAtMs >= admissionLimits.allowanceSpendWindowMs
    if (isNewWindow) this.#sweptAtMs = nowMs
    for (const [workspaceId, { byKey }] of this.#workspaces) {
      for (const [key, spender] of byKey) {
        if (isNewWindow) spender.allowances.spending.turn()
        spender.sweep(nowMs)
        if (spender.isUnused) byKey.delete(key)
      }
      if (byKey.size === 0) this.#workspaces.delete(workspaceId)
    }
  }
}
