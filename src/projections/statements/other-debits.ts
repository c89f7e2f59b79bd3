import { type RawBuilder, sql } from 'kysely'
import type { Allocation } from '../../domain/ledger/allocation.ts'
import { parsePicos } from '../schema/columns.ts'
import type { ReadModels } from '../schema/tables.ts'
import { correctedBy, findCorrected, textIn } from './allocations.ts'
import { firstOfMinute } from './queries.ts'

/** How a group is shown: `unattributed` where it has no value, and a value that could be taken for that within quotes. */
export const showGroup = (value = ''): string => {
  if (value === '') return 'unattributed'
  return /^"*unattributed"*$/.test(value) ? `"${value}"` : value
}

/** Of all wallets. */
export const entriesOfRange = ({ from, to }: { readonly from: Date; readonly to: Date }): RawBuilder<unknown> =>
  sql`select * from wallet_entries where time >= ${from} and time < ${to} and sequence >= ${firstOfMinute(from)}`

/** A correction or a fee: a debit that no request or task is charged for. */
export interface OtherDebit {
  readonly workspaceId: string
  readonly kind: 'adjustment' | 'fee'
  readonly time: Date
  readonly eventTime: Date
  /** The id of what an adjustment corrects; else empty. */
  readonly corrects: string
  /** Of an adjustment; else empty. */
  readonly reason: string
  readonly adjustmentId: string
  /** A chargeback, or a correction of a credit or of a chargeback: it undoes a receipt, and is neither usage nor revenue. */
  readonly isPayment: boolean
  /** Below zero for what was given back. */
  readonly debitPicos: bigint
  readonly allocation: Allocation
}

const members = { model: 'model', key: 'keyId', surface: 'surface', end_user: 'endUser' } as const

/** `group`: one of these members, or `tag:<name>`; empty where there is no such value. */
export const allocatedTo = (allocation: Allocation, group: string): string =>
  Object.hasOwn(members, group)
    ? allocation[members[group as keyof typeof members]]
    : (allocation.tags[group.slice('tag:'.length)] ?? '')

interface DebitRow {
  readonly workspace_id: string
  readonly kind: OtherDebit['kind']
  readonly time: Date
  readonly event_time: Date | null
  readonly amount: string
  readonly detail: Readonly<Record<string, unknown>> | null
}

/** By the index of movements other than charges, and in its order: exports of a closed month are the same bytes for ever. */
export const selectOtherDebits = async (
  db: ReadModels,
  entries: RawBuilder<unknown>,
): Promise<readonly OtherDebit[]> => {
  const { rows } = await sql<DebitRow>`select e.workspace_id, e.kind, e.time, e.event_time, e.amount, c.detail
    from (${entries}) e
    left join admin_changes c on c.sequence = e.sequence and c.event_index = e.event_index and e.kind = 'adjustment'
    where e.kind in ('adjustment', 'fee') and e.kind <> 'charge'
    order by e.workspace_id, e.kind, e.sequence, e.event_index, e.line`.execute(db)
  const debits: OtherDebit[] = []
  for (const [workspaceId, some] of Map.groupBy(rows, ({ workspace_id }) => workspace_id)) {
    const ids = some.map(({ detail }) => textIn(detail, 'corrects')).filter((id) => id !== '')
    const all = await findCorrected(db, workspaceId, new Set(ids))
    for (const { kind, time, event_time: eventTime, amount, detail } of some) {
      const corrects = textIn(detail, 'corrects')
      const corrected = correctedBy(detail, all)
      const named = { corrects, reason: textIn(detail, 'reason'), adjustmentId: textIn(detail, 'adjustmentId') }
      const times = { time, eventTime: eventTime ?? time }
      debits.push({ workspaceId, kind, ...times, ...named, debitPicos: -parsePicos(amount), ...corrected })
    }
  }
  return debits
}
