import { sql } from 'kysely'
import { parsePicos } from '../schema/columns.ts'
import type { ReadModels } from '../schema/tables.ts'
import { firstOfMinute } from './queries.ts'

interface PeriodQuery {
  readonly from: Date
  readonly to: Date
  /** Absent: all. */
  readonly workspaceId?: string | undefined
}

const startOf = (instant: Date) => sql`(
  select sequence, event_index, line from wallet_entries e
  where e.workspace_id = w.workspace_id and e.time >= ${instant} and e.sequence >= ${firstOfMinute(instant)}
  order by sequence, event_index, line limit 1
)`

/** Of each wallet, cut as its statement is: in the order of the log, where it first reaches the instant; with its balances there. */
export const spansOf = ({ from, to, workspaceId }: PeriodQuery) => sql`spans as materialized (
  select w.workspace_id, first.sequence, first.event_index, first.line,
    last.sequence as to_sequence, last.event_index as to_index, last.line as to_line
  from wallets w cross join lateral ${startOf(from)} first left join lateral ${startOf(to)} last on true
  where (last.sequence is null or (first.sequence, first.event_index, first.line) < (last.sequence, last.event_index, last.line))
    and ${workspaceId === undefined ? sql`true` : sql`w.workspace_id = ${workspaceId}`}
), balances as (
    select s.workspace_id, coalesce(before.balance_after, 0) as opening, coalesce(after.balance_after, 0) as closing
    from spans s
    left join lateral (
      select balance_after from wallet_entries e where e.workspace_id = s.workspace_id
        and (e.sequence, e.event_index, e.line) < (s.sequence, s.event_index, s.line)
      order by sequence desc, event_index desc, line desc limit 1
    ) before on true
    left join lateral (
      select balance_after from wallet_entries e where e.workspace_id = s.workspace_id
        and (s.to_sequence is null or (e.sequence, e.event_index, e.line) < (s.to_sequence, s.to_index, s.to_line))
      order by sequence desc, event_index desc, line desc limit 1
    ) after on true
  )`

export const entriesInSpans = sql`spans s join wallet_entries e on e.workspace_id = s.workspace_id
  and (e.sequence, e.event_index, e.line) >= (s.sequence, s.event_index, s.line)
  and (s.to_sequence is null or (e.sequence, e.event_index, e.line) < (s.to_sequence, s.to_index, s.to_line))`

/** Of the workspaces with a movement in the period, ordered by id. */
export const selectMovedBalances = async (db: ReadModels, period: PeriodQuery) => {
  const { rows } = await sql<{ readonly workspace_id: string; readonly opening: string; readonly closing: string }>`
    with ${spansOf(period)} select * from balances order by workspace_id`.execute(db)
  return rows.map(({ workspace_id: workspaceId, opening, closing }) => ({
    workspaceId,
    openingPicos: parsePicos(opening),
    closingPicos: parsePicos(closing),
  }))
}
