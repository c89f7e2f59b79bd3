import { formatUsd } from '../domain/money.ts'
import type { StatementEntry, StatementRange, WalletBalance } from '../projections/statements/queries.ts'
import { entryRecord } from './entry-record.ts'
import type { KindSums } from './statement-totals.ts'

interface StatementHead extends StatementRange {
  readonly workspaceId: string
  readonly opening: WalletBalance
}

interface StatementFoot {
  readonly closing: WalletBalance
  readonly sums: readonly KindSums[]
  readonly isFinal: boolean
  /** The log was followed up to this frame. */
  readonly sequence: number
}

/** Each piece is a text with its line ends. */
export interface StatementFormat {
  head(head: StatementHead): string
  entry(entry: StatementEntry): string
  foot(foot: StatementFoot): string
}

export const isoOrNull = (instant: Date | null): string | null => instant?.toISOString() ?? null

const balanceFields = ({ balancePicos, heldPicos }: WalletBalance) => ({
  balance: formatUsd(balancePicos),
  held: formatUsd(heldPicos),
})

const sumRecord = ({ kind, count, amountPicos, heldPicos }: KindSums) => ({
  kind,
  count,
  amount: formatUsd(amountPicos),
  held: formatUsd(heldPicos),
})

const line = (record: object): string => `${JSON.stringify(record)}\n`

/** One JSON object a line: `opening`, every `movement`, `closing`. */
export const jsonStatement: StatementFormat = {
  head: ({ workspaceId, from, to, opening }) =>
    line({
      type: 'opening',
      workspace: workspaceId,
      from: isoOrNull(from),
      to: isoOrNull(to),
      ...balanceFields(opening),
    }),
  entry: (entry) => line({ type: 'movement', ...entryRecord(entry) }),
  foot: ({ closing, sums, isFinal, sequence }) =>
    line({
      type: 'closing',
      ...balanceFields(closing),
      sums: sums.map(sumRecord),
      final: isFinal,
      log_sequence: sequence,
    }),
}
