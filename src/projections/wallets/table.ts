import type { HoldPurpose } from '../../domain/wallet/wallet.ts'
import type { Limits } from '../../events/types.ts'
import { decimal, freeText, instant, int8, json, nullable, text, textOf } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

/** The rest of an expiring credit; the amount in USD. */
export interface StoredGrant {
  readonly reference: string
  readonly remaining: string
  readonly expiresAt: string
}

const spendingColumns = {
  day: text(),
  spent_day: decimal(),
  spent_month: decimal(),
  spent_total: decimal(),
  held_day: decimal(),
  held_month: decimal(),
  held_total: decimal(),
}

export const walletTables = defineTables({
  wallets: {
    key: ['workspace_id'],
    write: 'replace',
    columns: {
      workspace_id: text(),
      credits: decimal(),
      charges: decimal(),
      adjustments: decimal(),
      held: decimal(),
      credit_limit: decimal(),
      balance: decimal(),
      subject_sequence: int8(),
      fees: decimal(),
      lapsed: decimal(),
      grants: json<readonly StoredGrant[]>(),
    },
  },
  holds: {
    key: ['workspace_id', 'hold_id'],
    write: 'replace',
    columns: {
      workspace_id: text(),
      hold_id: text(),
      purpose: textOf<HoldPurpose>(),
      owner: freeText(),
      amount: decimal(),
      remaining: decimal(),
      deadline: instant(),
      /** Null for an allowance of no key; the day, for one without limits. */
      key_id: nullable(text()),
      day: nullable(text()),
    },
  },
  /** As of `day`. */
  key_spending: {
    key: ['workspace_id', 'key_id'],
    write: 'replace',
    columns: {
      workspace_id: text(),
      key_id: text(),
      ...spendingColumns,
    },
  },
  /** Of tags and end users that have limits, or holds from when they had. */
  label_spending: {
    key: ['workspace_id', 'label'],
    write: 'replace',
    columns: {
      workspace_id: text(),
      label: freeText(),
      limits: json<Limits>(),
      ...spendingColumns,
    },
  },
  wallet_references: {
    key: ['workspace_id', 'reference'],
    write: 'insert',
    columns: { workspace_id: text(), reference: freeText(), amount: decimal() },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof walletTables> {}
}
