import type { Movement } from '../../../domain/wallet/evolve.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { LedgerTail } from '../../../log/ledger-tail.ts'
import { waitAtMost } from '../../../runtime/within.ts'
import { admissionLimits } from './limits.ts'
import { type Admission, type Reservation, Reservations } from './reservations.ts'
import { SliceStore } from './slice-store.ts'
import { Spender } from './spender.ts'
import { SpenderFunds, type SpenderId } from './spender-funds.ts'

export type { Admission, Reservation } from './reservations.ts'

type AllowanceParts = ConstructorParameters<typeof SliceStore>[0] & {
  readonly tail: LedgerTail
  /** How long `close` waits for slices to be returned. */
  readonly returnMs?: number
}

/** The map key of the shared slices: no API key has this id. */
const shared = ''

const stopping = (): GatewayError =>
  new GatewayError('no_available_channel', 'The gateway is being stopped. Send the request again.', {
    retryAfterSeconds: 1,
  })

const chargedPicosOf = (movements: readonly Movement[]): bigint =>
  movements.reduce((sum, { amountPicos }) => sum - amountPicos, 0n)

/**
 * The money this edge may spend without a round trip: slices of wallets, reserved in the log before use. A key with
 * spend limits has its own slices, which count against its limits. A request reserves its worst case until the ledger
 * applies its closing event.
 */
export class Allowances {
  readonly #parts: AllowanceParts
  readonly #funds: SpenderFunds
  readonly #store: SliceStore
  readonly #reservations = new Reservations<Spender>()
  /** By workspace, then by key; `shared` for the shared slices. */
  readonly #workspaces = new Map<string, Map<string, Spender>>()
  #isClosed = false
  readonly #stopListening: () => void
  readonly #sweepTimer: NodeJS.Timeout
  #sweptAtMs: number

  constructor(parts: AllowanceParts) {
    this.#parts = parts
    this.#funds = new SpenderFunds(parts.tail, parts.clock)
    this.#store = new SliceStore(parts, (slice) => {
      const { workspaceId, spender } = slice.hold
      this.#spenderOf({ workspaceId, keyId: spender?.keyId ?? null }).slices.drain(slice)
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
   * Reserves the worst case of a request, or, when the wallet cannot cover it and nothing in flight will free more,
   * what is available above the floor. Throws `insufficient_user_quota`, `key_spend_limit_reached`, or
   * `concurrency_limit_exceeded` when requests in flight hold the money for too long.
   */
  admit(admission: Admission): Promise<Reservation> {
    if (this.#isClosed) return Promise.reject(stopping())
    if (admission.wantedPicos === 0n) return Promise.resolve({ allowanceId: null, reservedPicos: 0n })
    return this.#spenderOf(this.#funds.spenderOf(admission)).admit(admission)
  }

  /** Ends the reservation of a request that was never recorded in the log. */
  cancel(requestId: string): void {
    this.#end(requestId, 0n)
  }

  ended(): Promise<void> {
    return this.#reservations.ended()
  }

  /** Admits nothing more and returns the slices; the scheduler releases the others at their deadline. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#sweepTimer)
    await waitAtMost(this.#returnAll(), this.#parts.returnMs ?? admissionLimits.allowanceReturnMs)
    this.#stopListening()
    const kept = this.#spenders().flatMap(({ slices }) => slices.all)
    for (const slice of [...kept, ...this.#store.beingReturned])
      if (this.#funds.isOpen(slice)) this.#store.reportHeld(slice)
  }

  async #returnAll(): Promise<void> {
    await Promise.all(this.#spenders().map((spender) => spender.refuseAll(stopping)))
    for (const { slices } of this.#spenders()) {
      slices.retireCurrent()
      slices.returnUnused()
    }
    await this.#store.returned()
  }

  #spenders(): readonly Spender[] {
    return [...this.#workspaces.values()].flatMap((byKey) => [...byKey.values()])
  }

  #spenderOf(id: SpenderId): Spender {
    const { workspaceId, keyId } = id
    const existing = this.#workspaces.get(workspaceId)?.get(keyId ?? shared)
    if (existing !== undefined) return existing
    const parts = { ...this.#parts, funds: this.#funds, store: this.#store, reservations: this.#reservations }
    const spender = new Spender(id, parts)
    const byKey = this.#workspaces.get(workspaceId) ?? new Map<string, Spender>()
    this.#workspaces.set(workspaceId, byKey.set(keyId ?? shared, spender))
    return spender
  }

  #end(requestId: string, chargedPicos: bigint): void {
    const reserved = this.#reservations.take(requestId)
    if (reserved === undefined) return
    const { spender, slice, reservedPicos } = reserved
    spender.slices.settle(slice, reservedPicos, chargedPicos)
    spender.serveWaiters()
  }

  #observe({ workspaceId, kind, reference, spender }: Movement): void {
    const byKey = this.#workspaces.get(workspaceId)
    if (byKey === undefined) return
    const own = kind === 'release' ? byKey.get(spender?.keyId ?? shared) : undefined
    const ended = own?.slices.drop(reference)
    if (ended !== undefined) this.#reservations.dropOf(ended)
    for (const each of byKey.values()) each.serveWaiters()
  }

  #sweep(): void {
    const nowMs = this.#parts.clock()
    const isNewWindow = nowMs - this.#sweptAtMs >= admissionLimits.allowanceSpendWindowMs
    if (isNewWindow) this.#sweptAtMs = nowMs
    for (const [workspaceId, byKey] of this.#workspaces) {
      for (const [key, spender] of byKey) {
        if (isNewWindow) spender.slices.spending.turn()
        spender.sweep(nowMs)
        if (spender.isUnused) byKey.delete(key)
      }
      if (byKey.size === 0) this.#workspaces.delete(workspaceId)
    }
  }
}
