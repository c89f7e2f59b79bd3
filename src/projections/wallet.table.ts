import type { MovementKind } from '../domain/wallet/evolve.ts'
import type { HoldPurpose } from '../domain/wallet/wallet.ts'
import type { Decimal, FreeText, Instant, Int8, Json } from './columns.ts'

/** The rest of an expiring credit; the amount in USD. */
export interface StoredGrant {
  readonly reference: string
  readonly remaining: string
  readonly expiresAt: string
}

export interface WalletTable {
  readonly workspace_id: string
  readonly credits: Decimal
  readonly charges: Decimal
  readonly adjustments: Decimal
  readonly held: Decimal
  readonly credit_limit: Decimal
  readonly balance: Decimal
  readonly subject_sequence: Int8
  readonly fees: Decimal
  readonly lapsed: Decimal
  readonly grants: Json<readonly StoredGrant[]>
}

export interface HoldTable {
  readonly workspace_id: string
  readonly hold_id: string
  readonly purpose: HoldPurpose
  readonly owner: FreeText
  readonly amount: Decimal
  readonly remaining: Decimal
  readonly deadline: Instant
  /** Null, as is the day, for an allowance that any key may spend. */
  readonly key_id: string | null
  readonly day: string | null
}

/** As of `day`. */
export interface KeySpendingTable {
  readonly workspace_id: string
  readonly key_id: string
  /** UTC, `2026-11-21`. */
  readonly day: string
  readonly spent_day: Decimal
  readonly spent_month: Decimal
  readonly spent_total: Decimal
  readonly held_day: Decimal
  readonly held_month: Decimal
  readonly held_total: Decimal
}

export interface WalletReferenceTable {
  readonly workspace_id: string
  readonly reference: FreeText
  readonly amount: Decimal
}

export interface WalletEntryTable {
  readonly workspace_id: string
  readonly sequence: Int8
  readonly event_index: number
  /** One event can move a wallet more than once: a charge, and what it cost beyond its reservation. */
  readonly line: number
  readonly kind: MovementKind
  readonly amount: Decimal
  readonly held: Decimal
  readonly balance_after: Decimal
  readonly held_after: Decimal
  readonly reference: FreeText
  readonly time: Instant
}
