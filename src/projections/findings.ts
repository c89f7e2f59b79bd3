import { sql } from 'kysely'
import type { ClosingEvent, RoutedEvent } from '../domain/ledger/requests.ts'
import { parseUsd } from '../domain/money.ts'
import { isCorrected } from './charges/corrected.ts'
import { selectUnknownDeliveries } from './lost-writers/queries.ts'
import { parsePicos } from './schema/columns.ts'
import { restoredText } from './schema/stored-text.ts'
import type { ReadModels } from './schema/tables.ts'
import { textIn } from './statements/allocations.ts'
import { isNewVerdict } from './tasks/late-verdicts.ts'

const findingKinds = [
  'open_request',
  'overdue_hold',
  'late_verdict',
  'estimated_charge',
  'implausible_usage',
  'unpriced_tier',
  'implausible_deduction',
  'unknown_delivery',
  'second_closing',
  'unrouted_closing',
  'adjustment',
] as const
type LedgerFindingKind = (typeof findingKinds)[number]

/** A finding of a reconciliation within the ledger itself, in picos. */
export interface LedgerFinding {
  readonly kind: LedgerFindingKind
  readonly workspaceId: string
  /** Of the request, task, hold or adjustment. */
  readonly id: string
  readonly time: Date
  /** What is reserved, left, not charged, charged or corrected. */
  readonly amountPicos: bigint
  /** A deadline, an outcome, a model, a type of event, or an adjustment's reason and note. */
  readonly detail: string
  /** An adjustment names its charge: it was confirmed, reconciled, refunded or corrected. */
  readonly isSettled: boolean
}

const unsettled = { isSettled: false } as const

export interface LedgerFindingQuery {
  /** Null: every workspace. */
  readonly workspaceId: string | null
  readonly overdueBefore: Date
  /** Of each kind. */
  readonly limit: number
}

type Finder = (db: ReadModels, wanted: LedgerFindingQuery) => Promise<readonly LedgerFinding[]>

const ofWorkspace = (column: 'routed' | 'closing', workspaceId: string | null) =>
  workspaceId === null
    ? sql<boolean>`true`
    : sql<boolean>`${sql.ref(column)} -> 'data' ->> 'workspaceId' = ${workspaceId}`

const openRequestOf = ({ time, data }: RoutedEvent): LedgerFinding => ({
  kind: 'open_request',
  workspaceId: data.workspaceId,
  id: data.requestId,
  time: new Date(time),
  amountPicos: parseUsd(data.reserved),
  detail: data.deadline,
  ...unsettled,
})

const findOpenRequests: Finder = async (db, { workspaceId, overdueBefore, limit }) => {
  const rows = await db
    .selectFrom('open_requests')
    .select('routed')
    .where('routed', 'is not', null)
    .where(sql<boolean>`(routed -> 'data' ->> 'deadline')::timestamptz < ${overdueBefore}`)
    .where(ofWorkspace('routed', workspaceId))
    .orderBy('sequence', 'desc')
    .limit(limit)
    .execute()
  return rows.flatMap(({ routed }) => (routed === null ? [] : [openRequestOf(routed)]))
}

const findOverdueHolds: Finder = async (db, { workspaceId, overdueBefore, limit }) => {
  let query = db
    .selectFrom('holds')
    .select(['workspace_id', 'hold_id', 'purpose', 'remaining', 'deadline'])
    .where('deadline', '<', overdueBefore)
    .orderBy('deadline', 'desc')
    .limit(limit)
  if (workspaceId !== null) query = query.where('workspace_id', '=', workspaceId)
  return (await query.execute()).map((row) => ({
    kind: 'overdue_hold',
    workspaceId: row.workspace_id,
    id: row.hold_id,
    time: row.deadline,
    amountPicos: parsePicos(row.remaining),
    detail: row.purpose,
    ...unsettled,
  }))
}

const findLateVerdicts: Finder = async (db, { workspaceId, limit }) => {
  let query = db
    .selectFrom('late_verdicts as v')
    .where(sql<boolean>`(${sql.raw(isNewVerdict)})`)
    .select(['workspace_id', 'task_id', 'outcome', 'cost', 'time'])
    .orderBy('sequence', 'desc')
    .orderBy('event_index', 'desc')
    .limit(limit)
  if (workspaceId !== null) query = query.where('workspace_id', '=', workspaceId)
  return (await query.execute()).map((row) => ({
    kind: 'late_verdict',
    workspaceId: row.workspace_id,
    id: row.task_id,
    time: row.time,
    amountPicos: parsePicos(row.cost),
    detail: row.outcome,
    ...unsettled,
  }))
}

const findEstimated: Finder = async (db, { workspaceId, limit }) => {
  let query = db
    .selectFrom('usage_entries')
    .select(['workspace_id', 'request_id', 'model', 'total', 'time'])
    .select(isCorrected('usage_entries.workspace_id', 'usage_entries.request_id').as('is_settled'))
    .where('source', '=', 'estimated')
    .orderBy('sequence', 'desc')
    .orderBy('event_index', 'desc')
    .limit(limit)
  if (workspaceId !== null) query = query.where('workspace_id', '=', workspaceId)
  return (await query.execute()).map((row) => ({
    kind: 'estimated_charge',
    workspaceId: row.workspace_id,
    id: row.request_id,
    time: row.time,
    amountPicos: parsePicos(row.total),
    detail: restoredText(row.model),
    isSettled: row.is_settled,
  }))
}

/** Tasks that were charged the figure of the hold. Each form of the condition has an index of its own. */
const findEstimatedTasks =
  (
    has: 'is' | 'is not',
    describe: (task: {
      readonly model: string
      readonly deduction: string | null
    }) => Pick<LedgerFinding, 'kind' | 'detail'>,
  ): Finder =>
  async (db, { workspaceId, limit }) => {
    let query = db
      .selectFrom('tasks')
      .select(['workspace_id', 'task_id', 'model', 'deduction', 'total', 'finished_at', 'updated_at'])
      .select(isCorrected('tasks.workspace_id', 'tasks.task_id').as('is_settled'))
      .where('source', '=', 'estimated')
      .where('deduction', has, null)
      .orderBy('finished_at', 'desc')
      .limit(limit)
    if (workspaceId !== null) query = query.where('workspace_id', '=', workspaceId)
    return (await query.execute()).map((row) => ({
      ...describe(row),
      workspaceId: row.workspace_id,
      id: row.task_id,
      time: row.finished_at ?? row.updated_at,
      amountPicos: parsePicos(row.total),
      isSettled: row.is_settled,
    }))
  }

/** The vendor reported a success without a deduction. */
const findTasksWithoutDeduction = findEstimatedTasks('is', ({ model }) => ({
  kind: 'estimated_charge',
  detail: restoredText(model),
}))

/** The vendor deducted something that cannot be, or cannot be read. */
const findDeductions = findEstimatedTasks('is not', ({ deduction }) => ({
  kind: 'implausible_deduction',
  detail: `${restoredText(deduction ?? '')} units`,
}))

const findExceptions: Finder = async (db, { workspaceId, limit }) => {
  let query = db
    .selectFrom('usage_entries')
    .select(['workspace_id', 'request_id', 'model', 'total', 'time', 'exception'])
    .select(['prompt_total', 'output_total', 'negative'])
    .select(isCorrected('usage_entries.workspace_id', 'usage_entries.request_id').as('is_settled'))
    .where('exception', 'is not', null)
    .orderBy('sequence', 'desc')
    .orderBy('event_index', 'desc')
    .limit(limit)
  if (workspaceId !== null) query = query.where('workspace_id', '=', workspaceId)
  return (await query.execute()).flatMap(({ exception, ...row }) =>
    exception === null
      ? []
      : [
          {
            kind: exception,
            workspaceId: row.workspace_id,
            id: row.request_id,
            time: row.time,
            amountPicos: parsePicos(row.total),
            detail: `${restoredText(row.model)}: ${row.prompt_total} tokens in, ${row.output_total} out${row.negative === null ? '' : `; ${row.negative}`}`,
            isSettled: row.is_settled,
          },
        ],
  )
}

const findUnknownDeliveries: Finder = async (db, { workspaceId, limit }) =>
  (await selectUnknownDeliveries(db, { workspaceId, limit })).map(
    ({ requestId, edgeSeenAt, isSettled, ...charge }) => ({
      kind: 'unknown_delivery',
      workspaceId: charge.workspaceId,
      id: requestId,
      time: charge.time,
      amountPicos: charge.totalPicos,
      detail: `edge last seen ${edgeSeenAt.toISOString()}`,
      isSettled,
    }),
  )

const closingOf = ({ type, time, data }: ClosingEvent, hadEnded: boolean): LedgerFinding => ({
  kind: hadEnded ? 'second_closing' : 'unrouted_closing',
  workspaceId: data.workspaceId,
  id: data.requestId,
  time: new Date(time),
  amountPicos: type === 'UsageRecorded' ? parseUsd(data.total) : 0n,
  detail: type,
  ...unsettled,
})

/** A closing event may wait a moment for its request: only those that waited long are findings. */
const findClosings: Finder = async (db, { workspaceId, overdueBefore, limit }) => {
  const rows = await db
    .selectFrom('open_requests')
    .leftJoin('requests', 'requests.request_id', 'open_requests.request_id')
    .select(['open_requests.closing', 'requests.request_id as ended'])
    .where('closing', 'is not', null)
    .where(sql<boolean>`(closing ->> 'time')::timestamptz < ${overdueBefore}`)
    .where(ofWorkspace('closing', workspaceId))
    .orderBy('open_requests.sequence', 'desc')
    .limit(limit)
    .execute()
  return rows.flatMap(({ closing, ended }) => (closing === null ? [] : [closingOf(closing, ended !== null)]))
}

const findAdjustments: Finder = async (db, { workspaceId, limit }) => {
  let query = db
    .selectFrom('wallet_entries')
    .leftJoin('admin_changes', (join) =>
      join
        .onRef('admin_changes.sequence', '=', 'wallet_entries.sequence')
        .onRef('admin_changes.event_index', '=', 'wallet_entries.event_index'),
    )
    .select(['wallet_entries.workspace_id', 'reference', 'amount', 'wallet_entries.time', 'admin_changes.detail'])
    .where('kind', '=', 'adjustment')
    .where('kind', '<>', 'charge') // Kinds other than charges have their own index.
    .orderBy('wallet_entries.sequence', 'desc')
    .orderBy('wallet_entries.event_index', 'desc')
    .orderBy('line', 'desc')
    .limit(limit)
  if (workspaceId !== null) query = query.where('wallet_entries.workspace_id', '=', workspaceId)
  return (await query.execute()).map((row) => ({
    kind: 'adjustment',
    workspaceId: row.workspace_id,
    id: restoredText(row.reference),
    time: row.time,
    amountPicos: parsePicos(row.amount),
    detail: [textIn(row.detail, 'reason'), textIn(row.detail, 'note')].filter((text) => text !== '').join(': '),
    ...unsettled,
  }))
}

const finders = [
  findOpenRequests,
  findOverdueHolds,
  findLateVerdicts,
  findEstimated,
  findTasksWithoutDeduction,
  findExceptions,
  findDeductions,
  findUnknownDeliveries,
  findClosings,
  findAdjustments,
] as const

export interface LedgerFindings {
  /** Newest first. */
  readonly findings: readonly LedgerFinding[]
  /** False if there are more of a kind than the limit. */
  readonly isComplete: boolean
}

/** Must run in one transaction. */
export const selectFindings = async (db: ReadModels, wanted: LedgerFindingQuery): Promise<LedgerFindings> => {
  const found: LedgerFinding[] = []
  let isComplete = true
  for (const find of finders) {
    const some = await find(db, { ...wanted, limit: wanted.limit + 1 })
    if (some.length > wanted.limit) isComplete = false
    found.push(...some.slice(0, wanted.limit))
  }
  return { findings: found.toSorted((one, other) => other.time.getTime() - one.time.getTime()), isComplete }
}
