import { utcDayAt } from '../../../domain/instant.ts'
import { findOrCreateWallet } from '../../../domain/ledger/ledger.ts'
import { formatUsd } from '../../../domain/money.ts'
import { findEndUser, findTag, type Holder } from '../../../domain/wallet/holders.ts'
import { limitRenewalMs, type Remaining, type SpendPeriod } from '../../../domain/wallet/spending.ts'
import {
  findLimitedHolders,
  findRemaining,
  isBelowAvailable,
  spendablePicos,
  type Wallet,
} from '../../../domain/wallet/wallet.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { LedgerTail } from '../../../log/ledger-tail.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Allowance } from './allowance-store.ts'
import type { Admission } from './spender.ts'

const words: { readonly [P in SpendPeriod]: string } = { day: 'a day', month: 'a month', total: 'in total' }

const renewalText = ({ period }: Remaining, day: string): string => {
  const atMs = limitRenewalMs(period, day)
  return atMs === null ? '' : ` It renews at ${new Date(atMs).toISOString()}.`
}

/** An end user is not named: its caller knows whom it named. */
const holderText = (holder: Holder): string => {
  const tag = findTag(holder)
  if (tag !== null) return `Requests with the tag \`${tag}\``
  return findEndUser(holder) === null ? 'This key' : 'This end user'
}

/** Nothing in flight will free more of the limit. */
export const spendLimitReached = (room: Remaining, day: string): GatewayError =>
  new GatewayError(
    'key_spend_limit_reached',
    `${holderText(room.holder)} may spend ${formatUsd(room.limitPicos)} USD ${words[room.period]}, and too little of it is left for this request.${renewalText(room, day)}`,
  )

/** Those with spend limits among the key, the tags and the end user of a request; none: the shared allowances. */
export interface SpenderId {
  readonly workspaceId: string
  readonly holders: readonly Holder[]
}

const insufficient = (): GatewayError =>
  new GatewayError(
    'insufficient_user_quota',
    'The workspace has no money left for this request. Add credit and try again.',
  )

export class SpenderFunds {
  readonly #tail: Pick<LedgerTail, 'ledger'>
  readonly #clock: Clock

  constructor(tail: Pick<LedgerTail, 'ledger'>, clock: Clock) {
    this.#tail = tail
    this.#clock = clock
  }

  spenderOf({ workspaceId, keyId, labels }: Pick<Admission, 'workspaceId' | 'keyId' | 'labels'>): SpenderId {
    return { workspaceId, holders: findLimitedHolders(this.#walletOf(workspaceId), keyId, labels) }
  }

  spendablePicos(spender: SpenderId): bigint {
    return spendablePicos(this.#walletOf(spender.workspaceId), this.#remainingOf(spender))
  }

  /** 0 once the hold has ended, is due for renewal, or exceeds what its holders may still spend. */
  freePicos(allowance: Allowance): bigint {
    return this.isOpen(allowance) && this.#clock() < allowance.renewAtMs && !this.isBeyondLimit(allowance)
      ? allowance.hold.remainingPicos - allowance.reservedPicos
      : 0n
  }

  isOpen({ hold }: Allowance): boolean {
    return this.#walletOf(hold.workspaceId).holds.has(hold.holdId)
  }

  isBeyondLimit({ spender }: Allowance): boolean {
    const remaining = this.#remainingOf(spender)
    return remaining !== null && remaining.leftPicos < 0n
  }

  /** Whether holds take part of what is short: of a limit, or of the wallet. */
  isHeld(spender: SpenderId): boolean {
    const wallet = this.#walletOf(spender.workspaceId)
    const remaining = this.#remainingOf(spender)
    return isBelowAvailable(remaining, wallet) ? remaining.heldPicos > 0n : wallet.heldPicos > 0n
  }

  shortageError(spender: SpenderId): GatewayError {
    const remaining = this.#remainingOf(spender)
    return isBelowAvailable(remaining, this.#walletOf(spender.workspaceId))
      ? spendLimitReached(remaining, this.#today())
      : insufficient()
  }

  /** The refusal of a request that is certain to be refused, also when those in flight have ended; null otherwise. */
  findShortage(admission: Omit<Admission, 'requestId'>): GatewayError | null {
    const spender = this.spenderOf(admission)
    const isCovered = admission.wantedPicos === 0n || this.spendablePicos(spender) >= admission.floorPicos
    return isCovered || this.isHeld(spender) ? null : this.shortageError(spender)
  }

  #walletOf(workspaceId: string): Wallet {
    return findOrCreateWallet(this.#tail.ledger, workspaceId)
  }

  #remainingOf({ workspaceId, holders }: SpenderId): Remaining | null {
    return findRemaining(this.#walletOf(workspaceId), holders, this.#today())
  }

  #today(): string {
    return utcDayAt(this.#clock())
  }
}
