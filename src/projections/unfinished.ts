import { sql } from 'kysely'
import { parseMonth } from '../domain/instant.ts'
import { isCorrected } from './charges/corrected.ts'
import type { ReadModels } from './schema/tables.ts'

/** What keeps a month from being closed. */
export interface Unfinished {
  readonly kind: 'open request' | 'open task' | 'unexplained usage' | 'unexplained deduction'
  readonly workspaceId: string
  readonly id: string
}

/** Of a month: requests and tasks without an end, and figures that an operator has neither confirmed nor corrected. */
export const selectUnfinished = async (db: ReadModels, month: string): Promise<readonly Unfinished[]> => {
  const { from, to } = parseMonth(month)!
  const { rows } = await sql<Unfinished>`
    select 'open request' as kind, routed -> 'data' ->> 'workspaceId' as "workspaceId", request_id as id
    from open_requests where routed is not null and (routed ->> 'time')::timestamptz < ${to}
    union all
    select 'open task', workspace_id, task_id from tasks where finished_at is null and queued_at < ${to}
    union all
    select 'unexplained usage', workspace_id, request_id from usage_entries u
    where exception is not null and time >= ${from} and time < ${to}
      and not ${isCorrected('u.workspace_id', 'u.request_id')}
    union all
    select 'unexplained deduction', workspace_id, task_id from tasks t
    where source = 'estimated' and deduction is not null and finished_at >= ${from} and finished_at < ${to}
      and not ${isCorrected('t.workspace_id', 't.task_id')}
    order by 1, 2, 3`.execute(db)
  return rows
}
