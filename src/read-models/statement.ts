import type { MovementKind } from '../domain/wallet/evolve.ts'
import { limits } from '../limits.ts'
import { picosOf } from './columns.ts'
import { restoredText } from './stored-text.ts'
import type { ReadModels } from './tables.ts'

/** One movement of a wallet and how the wallet stood after it, in picos. */
export interface StatementEntry {
  readonly sequence: number
  readonly eventIndex: number
  readonly line: number
  readonly kind: MovementKind
  readonly amountPicos: bigint
  readonly heldPicos: bigint
  readonly balanceAfterPicos: bigint
  readonly heldAfterPicos: bigint
  /** The request, hold, credit reference or adjustment it stands for. */
  readonly reference: string
  readonly time: Date
}

/** The place of an entry: a statement is read on from there. */
export type StatementPlace = Pick<StatementEntry, 'sequence' | 'eventIndex' | 'line'>

const start: StatementPlace = { sequence: 0, eventIndex: 0, line: 0 }

/** The next entries of a workspace's statement after a place, oldest first, at most `limits.pageRowsMax` of them. */
export const listStatement = async (
  db: ReadModels,
  workspaceId: string,
  after: StatementPlace = start,
): Promise<readonly StatementEntry[]> => {
  const rows = await db
    .selectFrom('wallet_entries')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('sequence', 'event_index', 'line'), '>', tuple(BigInt(after.sequence), after.eventIndex, after.line)),
    )
    .orderBy('sequence')
    .orderBy('event_index')
    .orderBy('line')
    .limit(limits.pageRowsMax)
    .execute()
  return rows.map((row) => ({
    sequence: Number(row.sequence),
    eventIndex: row.event_index,
    line: row.line,
    kind: row.kind,
    amountPicos: picosOf(row.amount),
    heldPicos: picosOf(row.held),
    balanceAfterPicos: picosOf(row.balance_after),
    heldAfterPicos: picosOf(row.held_after),
    reference: restoredText(row.reference),
    time: row.time,
  }))
}
