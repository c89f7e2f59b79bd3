import { utcDayAt } from '../../../domain/instant.ts'
import { findOrCreateWallet } from '../../../domain/ledger/ledger.ts'
import { formatUsd } from '../../../domain/money.ts'
import { dayEndsMs } from '../../../domain/wallet/spending.ts'
import type { Hold } from '../../../domain/wallet/wallet.ts'
import type { LedgerTail } from '../../../log/ledger-tail.ts'
import type { WalletCommandHandler } from '../../../log/wallet-command-handler.ts'
import type { Clock, NewId } from '../../../runtime/clock.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { admissionLimits } from './limits.ts'
import type { SpenderId } from './spender-funds.ts'

export interface Allowance {
  readonly hold: Hold
  readonly spender: SpenderId
  /** Milliseconds since the epoch: from then on no request is admitted against it. */
  readonly renewAtMs: number
  reservedPicos: bigint
  requests: number
  usedAtMs: number
}

interface AllowanceStoreParts {
  readonly tail: Pick<LedgerTail, 'ledger'>
  readonly writer: Pick<WalletCommandHandler, 'execute'>
  readonly owner: string
  readonly clock: Clock
  readonly newId: NewId
  readonly logger: Logger
  readonly requestDeadlineMs: number
}

/**
 * Until its deadline, from its placement: the scheduler then releases what is left of it. It outlives its requests: the last one runs for `requestDeadlineMs`, and its bill is logged within `closingAckMs`.
 */
const lifetimeMsOf = (requestDeadlineMs: number): number =>
  2 * requestDeadlineMs + sharedLimits.closingAckMs + admissionLimits.allowanceMarginMs

/** An allowance that counts against a day's limit is not used on the next day. */
const untilDayEnds = ({ spender }: Hold, renewAtMs: number): number =>
  spender === null ? renewAtMs : Math.min(renewAtMs, dayEndsMs(spender.day))

export class AllowanceStore {
  readonly #parts: AllowanceStoreParts
  readonly #onNotReturned: (allowance: Allowance) => void
  readonly #returns = new Map<Allowance, Promise<void>>()
  readonly #spenders = new Map<string, SpenderId>()

  constructor(parts: AllowanceStoreParts, onNotReturned: (allowance: Allowance) => void) {
    this.#parts = parts
    this.#onNotReturned = onNotReturned
  }

  async place(spender: SpenderId, minimumPicos: bigint, desiredPicos: bigint): Promise<Allowance | null> {
    const { workspaceId, holders } = spender
    const { clock, newId, owner, writer, tail, requestDeadlineMs } = this.#parts
    const placedAtMs = clock()
    const holdId = newId()
    const deadline = new Date(placedAtMs + lifetimeMsOf(requestDeadlineMs)).toISOString()
    const wanted = { holdId, minimumPicos, desiredPicos, holders, day: utcDayAt(placedAtMs), deadline, owner }
    const outcome = await writer.execute(workspaceId, { type: 'PlaceAllowance', ...wanted })
    const hold = findOrCreateWallet(tail.ledger, workspaceId).holds.get(holdId)
    if ('refused' in outcome || hold === undefined) return null
    const renewAtMs = untilDayEnds(hold, placedAtMs + requestDeadlineMs)
    this.#spenders.set(holdId, spender)
    return { hold, spender, renewAtMs, reservedPicos: 0n, requests: 0, usedAtMs: placedAtMs }
  }

  /** Call it when a hold has ended; null for one that was not placed here. */
  takeSpender(holdId: string): SpenderId | null {
    const spender = this.#spenders.get(holdId) ?? null
    this.#spenders.delete(holdId)
    return spender
  }

  return(allowance: Allowance): Promise<void> {
    const returned = this.#release(allowance).finally(() => this.#returns.delete(allowance))
    this.#returns.set(allowance, returned)
    return returned
  }

  get beingReturned(): readonly Allowance[] {
    return [...this.#returns.keys()]
  }

  async returned(): Promise<void> {
    await Promise.all(this.#returns.values())
  }

  reportHeld({ hold, requests }: Allowance): void {
    const { workspaceId, holdId, remainingPicos, deadlineMs } = hold
    const fields = { workspaceId, holdId, requests, amount: formatUsd(remainingPicos), deadline: new Date(deadlineMs) }
    this.#parts.logger.log('allowance.held_at_stop', fields)
  }

  async #release(allowance: Allowance): Promise<void> {
    const { workspaceId, holdId } = allowance.hold
    try {
      await this.#parts.writer.execute(workspaceId, { type: 'ReleaseHold', holdId, reason: 'returned' })
    } catch (fault) {
      this.#parts.logger.log('allowance.not_returned', { fault, holdId })
      this.#onNotReturned(allowance)
    }
  }
}
