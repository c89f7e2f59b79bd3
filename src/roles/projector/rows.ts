import type { Key, Workspace } from '../../domain/accounts/accounts.ts'
import type { FrameWindow } from '../../domain/ledger/frame-window.ts'
import type { Applied } from '../../domain/ledger/ledger.ts'
import type { ClosedRequest, OpenRequest } from '../../domain/ledger/requests.ts'
import { formatUsd } from '../../domain/money.ts'
import type { Subscription } from '../../domain/plans/subscription.ts'
import type { Task } from '../../domain/video/task.ts'
import type { Movement } from '../../domain/wallet/evolve.ts'
import type { Grant } from '../../domain/wallet/grants.ts'
import type { KeySpending } from '../../domain/wallet/spending.ts'
import { balancePicos, type Hold, type Wallet } from '../../domain/wallet/wallet.ts'
import type { EventOf } from '../../events/envelope.ts'
import type { LimitsSet, PlanPublished } from '../../events/types.ts'
import { storedOrNull, storedText } from '../../projections/stored-text.ts'
import type { RowOf } from '../../projections/tables.ts'
import type { StoredGrant } from '../../projections/wallet.table.ts'

export type ChargePlace = Pick<Applied, 'sequence' | 'index'>

const isoOf = (epochMs: number): string => new Date(epochMs).toISOString()
const isoOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : isoOf(epochMs))

export const writerRow = (writer: string, { low, above }: FrameWindow): RowOf<'writers'> => ({
  writer,
  low,
  above: [...above].sort((one, other) => one - other),
})

export const workspaceRow = ({ workspaceId, name, creditLimitPicos }: Workspace): RowOf<'workspaces'> => ({
  workspace_id: workspaceId,
  name: storedText(name),
  credit_limit: formatUsd(creditLimitPicos),
})

export const keyRow = (key: Key): RowOf<'keys'> => ({
  key_id: key.keyId,
  workspace_id: key.workspaceId,
  name: storedText(key.name),
  sha256: key.sha256,
  prefix: storedText(key.prefix),
  revoked: key.revoked,
  expires_at: isoOrNull(key.expiresAtMs),
  replaces: key.replaces,
})

export const aliasRow = ({ data }: EventOf<'AliasSet'>): RowOf<'aliases'> => ({
  alias: storedText(data.alias),
  model: storedOrNull(data.model),
})

export const routerRow = ({ data }: EventOf<'RouterSet'>): RowOf<'routers'> => ({
  router: data.router,
  candidates: JSON.stringify(data.candidates),
  candidate_order: data.order,
})

export const limitsRow = ({ workspaceId, keyId, limits }: LimitsSet): RowOf<'limits'> => ({
  workspace_id: workspaceId,
  key_id: keyId ?? '',
  limits: JSON.stringify(limits),
})

export const priceRow = ({ sequence, index }: ChargePlace, { data }: EventOf<'PricePublished'>): RowOf<'prices'> => ({
  sequence,
  event_index: index,
  model: storedText(data.model),
  version: data.version,
  effective_from: isoOf(Date.parse(data.effectiveFrom)),
  published: JSON.stringify(data),
})

export const planRow = (plan: PlanPublished): RowOf<'plans'> => ({
  plan_id: plan.planId,
  published: JSON.stringify(plan),
})

export const subscriptionRow = (subscription: Subscription): RowOf<'subscriptions'> => ({
  workspace_id: subscription.workspaceId,
  subscription_id: subscription.subscriptionId,
  terms: JSON.stringify(subscription.terms),
  starts_at: isoOf(subscription.startsAtMs),
  expires_at: isoOf(subscription.expiresAtMs),
  anchor_day: subscription.anchorDay,
  renews: subscription.renews,
})

const storedGrant = ({ reference, remainingPicos, expiresAtMs }: Grant): StoredGrant => ({
  reference,
  remaining: formatUsd(remainingPicos),
  expiresAt: isoOf(expiresAtMs),
})

export const walletRow = (wallet: Wallet): RowOf<'wallets'> => ({
  workspace_id: wallet.workspaceId,
  credits: formatUsd(wallet.creditsPicos),
  charges: formatUsd(wallet.chargesPicos),
  adjustments: formatUsd(wallet.adjustmentsPicos),
  held: formatUsd(wallet.heldPicos),
  credit_limit: formatUsd(wallet.creditLimitPicos),
  balance: formatUsd(balancePicos(wallet)),
  subject_sequence: wallet.subjectSequence,
  fees: formatUsd(wallet.feesPicos),
  lapsed: formatUsd(wallet.lapsedPicos),
  grants: JSON.stringify(wallet.grants.map(storedGrant)),
})

export const holdRow = (hold: Hold): RowOf<'holds'> => ({
  workspace_id: hold.workspaceId,
  hold_id: hold.holdId,
  purpose: hold.purpose,
  owner: storedText(hold.owner),
  amount: formatUsd(hold.amountPicos),
  remaining: formatUsd(hold.remainingPicos),
  deadline: isoOf(hold.deadlineMs),
  key_id: hold.spender?.keyId ?? null,
  day: hold.spender?.day ?? null,
})

export const keySpendingRow = (
  workspaceId: string,
  keyId: string,
  { day, spent, held }: KeySpending,
): RowOf<'key_spending'> => ({
  workspace_id: workspaceId,
  key_id: keyId,
  day,
  spent_day: formatUsd(spent.dayPicos),
  spent_month: formatUsd(spent.monthPicos),
  spent_total: formatUsd(spent.totalPicos),
  held_day: formatUsd(held.dayPicos),
  held_month: formatUsd(held.monthPicos),
  held_total: formatUsd(held.totalPicos),
})

export const referenceRow = (workspaceId: string, key: string, amount: string): RowOf<'wallet_references'> => ({
  workspace_id: workspaceId,
  reference: storedText(key),
  amount,
})

export const walletEntryRow = (
  { event, sequence, index }: Applied,
  movement: Movement,
  line: number,
): RowOf<'wallet_entries'> => ({
  workspace_id: movement.workspaceId,
  sequence,
  event_index: index,
  line,
  kind: movement.kind,
  amount: formatUsd(movement.amountPicos),
  held: formatUsd(movement.heldPicos),
  balance_after: formatUsd(movement.balanceAfterPicos),
  held_after: formatUsd(movement.heldAfterPicos),
  reference: storedText(movement.reference),
  time: event.time,
})

type Ending = Pick<RowOf<'requests'>, 'status' | 'error_status' | 'error_reason' | 'served_model' | 'level' | 'total'>

const endingOf = ({ closing }: ClosedRequest): Ending =>
  closing.type === 'RequestFailed'
    ? {
        status: 'failed',
        error_status: closing.data.status,
        error_reason: storedText(closing.data.reason),
        served_model: null,
        level: null,
        total: '0',
      }
    : {
        status: 'ok',
        error_status: null,
        error_reason: null,
        served_model: storedText(closing.data.model),
        level: closing.data.level,
        total: closing.data.total,
      }

export const requestRow = ({ sequence, index }: ChargePlace, closed: ClosedRequest): RowOf<'requests'> => {
  const { data, time } = closed.routed
  return {
    request_id: data.requestId,
    sequence,
    event_index: index,
    first_sequence: closed.firstSequence,
    workspace_id: data.workspaceId,
    key_id: data.keyId,
    surface: data.surface,
    model: storedText(data.model),
    router: storedOrNull(data.router),
    stream: data.stream,
    attempts: JSON.stringify(closed.closing.data.attempts),
    reserved: data.reserved,
    routed_at: time,
    closed_at: closed.closing.time,
    ...endingOf(closed),
  }
}

export const openRequestRow = (
  requestId: string,
  { sequence, routed, closing }: OpenRequest,
): RowOf<'open_requests'> => ({
  request_id: requestId,
  sequence,
  routed: routed === null ? null : JSON.stringify(routed),
  closing: closing === null ? null : JSON.stringify(closing),
})

export const usageEntryRow = (
  { sequence, index }: ChargePlace,
  { data, time }: EventOf<'UsageRecorded'>,
): RowOf<'usage_entries'> => {
  const { usage } = data
  return {
    workspace_id: data.workspaceId,
    sequence,
    event_index: index,
    request_id: data.requestId,
    key_id: data.keyId,
    surface: data.surface,
    model: storedText(data.model),
    provider: storedText(data.provider),
    level: data.level,
    price_version: data.priceVersion,
    prompt_total: usage.promptTotal,
    input_uncached: usage.inputUncached,
    cache_read: usage.cacheRead,
    cache_write_5m: usage.cacheWrite5m,
    cache_write_1h: usage.cacheWrite1h,
    input_audio: usage.inputAudio,
    input_image: usage.inputImage,
    output_total: usage.outputTotal,
    output_reasoning: usage.outputReasoning,
    output_audio: usage.outputAudio,
    output_image: usage.outputImage,
    tool_calls: JSON.stringify(usage.toolCalls),
    source: data.source,
    outcome: data.outcome,
    lines: JSON.stringify(data.lines),
    total: data.total,
    time,
  }
}

export const storedResponseRows = (
  { sequence }: ChargePlace,
  { data }: EventOf<'UsageRecorded'>,
): readonly RowOf<'stored_responses'>[] =>
  data.storedResponseId === undefined
    ? []
    : [
        {
          response_id: data.storedResponseId,
          workspace_id: data.workspaceId,
          provider: storedText(data.provider),
          request_id: data.requestId,
          sequence,
        },
      ]

/** Without the leaves, which are in the log. */
export const sealRow = ({ sequence }: ChargePlace, { data }: EventOf<'CheckpointSealed'>): RowOf<'seals'> => ({
  size: data.size,
  sequence,
  from_size: data.from,
  root: data.root,
  peaks: JSON.stringify(data.peaks),
  note: storedText(data.note),
})

type TaskTimes = 'queued_at' | 'deadline' | 'submitted_at' | 'started_at' | 'finished_at' | 'updated_at'

const taskTimes = (task: Task): Pick<RowOf<'tasks'>, TaskTimes> => ({
  queued_at: isoOf(task.queuedMs),
  deadline: isoOf(task.deadlineMs),
  submitted_at: isoOrNull(task.submittedMs),
  started_at: isoOrNull(task.startedMs),
  finished_at: isoOrNull(task.finishedMs),
  updated_at: isoOf(task.updatedMs),
})

export const taskRow = (task: Task): RowOf<'tasks'> => ({
  task_id: task.taskId,
  workspace_id: task.workspaceId,
  key_id: task.keyId,
  surface: task.surface,
  kind: task.kind,
  model: storedText(task.model),
  provider: storedText(task.provider),
  upstream_model: storedText(task.upstreamModel),
  price_version: task.priceVersion,
  unit_price: task.unitPrice,
  units_max: task.unitsMax,
  held: task.held,
  external_task_id: storedOrNull(task.externalTaskId),
  request_digest: task.requestDigest,
  payload_digest: task.payloadDigest,
  vendor_task_id: storedOrNull(task.vendorTaskId),
  status: task.status,
  progress: task.progress,
  ...taskTimes(task),
  fail_reason: storedOrNull(task.failReason),
  vendor_code: task.vendorCode === null ? null : String(task.vendorCode),
  deduction: storedOrNull(task.deduction),
  source: task.source,
  lines: JSON.stringify(task.lines),
  total: task.total,
  results: JSON.stringify(task.results),
})

export const taskChargeRow = ({ sequence, index }: ChargePlace, task: Task): RowOf<'task_charges'> => ({
  workspace_id: task.workspaceId,
  sequence,
  event_index: index,
  task_id: task.taskId,
  key_id: task.keyId,
  surface: task.surface,
  model: storedText(task.model),
})

export const externalTaskRow = (task: Task & { readonly externalTaskId: string }): RowOf<'external_tasks'> => ({
  workspace_id: task.workspaceId,
  external_task_id: storedText(task.externalTaskId),
  task_id: task.taskId,
  request_digest: task.requestDigest,
})

export const lateVerdictRow = (
  { sequence, index }: ChargePlace,
  { type, data, time }: EventOf<'TaskSettled'> | EventOf<'LateVerdictSeen'>,
): RowOf<'late_verdicts'> => ({
  sequence,
  event_index: index,
  event_type: type,
  workspace_id: data.workspaceId,
  task_id: data.taskId,
  vendor_task_id: storedOrNull(data.vendorTaskId ?? null),
  outcome: data.outcome,
  deduction: storedOrNull(data.deduction ?? null),
  cost: 'cost' in data ? data.cost : data.total,
  fail_reason: storedOrNull(data.failReason ?? null),
  time,
})
