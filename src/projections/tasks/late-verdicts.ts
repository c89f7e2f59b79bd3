import { sharedLimits } from '../../runtime/limits.ts'
import { parsePicos } from '../schema/columns.ts'
import { restoredOrNull } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'

/** The vendor's verdict on a task whose hold had ended: not charged. */
interface LateVerdict {
  readonly sequence: number
  readonly eventIndex: number
  /** A second settlement, or a verdict that the poller itself saw to be too late. */
  readonly eventType: 'TaskSettled' | 'LateVerdictSeen'
  readonly workspaceId: string
  readonly taskId: string
  readonly vendorTaskId: string | null
  readonly outcome: 'SUCCESS' | 'FAILURE'
  /** The vendor's own figure, as it wrote it. */
  readonly deduction: string | null
  readonly costPicos: bigint
  readonly failReason: string | null
  readonly time: Date
}

/** SQL, of the row `v`: a poller that dies before it is done with a task leaves it to another, which records the same verdict. */
export const isNewVerdict = `not exists (
    select from late_verdicts earlier
    where earlier.task_id = v.task_id and (earlier.sequence, earlier.event_index) < (v.sequence, v.event_index)
      and (earlier.vendor_task_id, earlier.outcome, earlier.deduction) is not distinct from (v.vendor_task_id, v.outcome, v.deduction)
  ) and not exists (
    select from tasks
    where tasks.task_id = v.task_id and tasks.source is not null
      and (tasks.vendor_task_id, tasks.status, tasks.deduction) is not distinct from (v.vendor_task_id, v.outcome, v.deduction)
  )`

type LateVerdictCursor = Pick<LateVerdict, 'sequence' | 'eventIndex'>

const start: LateVerdictCursor = { sequence: 0, eventIndex: 0 }

/** Of every workspace, oldest first, at most `sharedLimits.pageRowsMax`. */
export const selectLateVerdicts = async (
  db: ReadModels,
  after: LateVerdictCursor = start,
): Promise<readonly LateVerdict[]> => {
  const rows = await db
    .selectFrom('late_verdicts')
    .selectAll()
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('sequence', 'event_index'), '>', tuple(BigInt(after.sequence), after.eventIndex)),
    )
    .orderBy('sequence')
    .orderBy('event_index')
    .limit(sharedLimits.pageRowsMax)
    .execute()
  return rows.map((row) => ({
    sequence: Number(row.sequence),
    eventIndex: row.event_index,
    eventType: row.event_type,
    workspaceId: row.workspace_id,
    taskId: row.task_id,
    vendorTaskId: restoredOrNull(row.vendor_task_id),
    outcome: row.outcome,
    deduction: restoredOrNull(row.deduction),
    costPicos: parsePicos(row.cost),
    failReason: restoredOrNull(row.fail_reason),
    time: row.time,
  }))
}
