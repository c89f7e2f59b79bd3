import { type Applied, isSealOfLog, type Ledger, type LedgerFrame } from '../../domain/ledger/ledger.ts'
import type { ClosedRequest, ClosingEvent, RoutedEvent } from '../../domain/ledger/requests.ts'
import { formatUsd } from '../../domain/money.ts'
import type { Task } from '../../domain/video/task.ts'
import { adjustmentKey, creditKey, type Movement, subscriptionKey } from '../../domain/wallet/evolve.ts'
import { frameIdText } from '../../events/codec.ts'
import type { EventOf } from '../../events/envelope.ts'
import type { RowOf } from '../../projections/tables.ts'
import { adminChangeRows } from './admin-changes.ts'
import { addChargePlace } from './charge-places.ts'
import { addTaskToDay, addToDay, type Days, dayRows } from './days.ts'
import { addToMinutes, type Minutes, noMinutes } from './minutes.ts'
import type { ProjectedRows, ProjectionBatch } from './ports.ts'
import {
  aliasRow,
  externalTaskRow,
  holdRow,
  keyRow,
  keySpendingRow,
  lateVerdictRow,
  limitsRow,
  openRequestRow,
  planRow,
  priceRow,
  referenceRow,
  requestRow,
  routerRow,
  sealRow,
  storedResponseRows,
  subscriptionRow,
  taskChargeRow,
  taskRow,
  usageEntryRow,
  walletEntryRow,
  walletRow,
  workspaceRow,
  writerRow,
} from './rows.ts'

interface SpendingKey {
  readonly workspaceId: string
  readonly keyId: string
}

interface HoldKey {
  readonly workspaceId: string
  readonly holdId: string
}

/** One transaction: the rows that are final, and the names of what changed, of which only the last state is written. */
export interface AccumulatedRows {
  readonly fromSequence: number
  firstFrame: string | null
  /** Events, and frames without effect: what bounds a batch. */
  size: number
  readonly prices: RowOf<'prices'>[]
  readonly references: RowOf<'wallet_references'>[]
  readonly entries: RowOf<'wallet_entries'>[]
  readonly requests: RowOf<'requests'>[]
  readonly usageEntries: RowOf<'usage_entries'>[]
  readonly storedResponses: RowOf<'stored_responses'>[]
  readonly seals: RowOf<'seals'>[]
  readonly chargePlaces: RowOf<'charge_places'>[]
  readonly taskCharges: RowOf<'task_charges'>[]
  readonly minutes: Minutes
  readonly lateVerdicts: RowOf<'late_verdicts'>[]
  readonly adminChanges: RowOf<'admin_changes'>[]
  /** By workspace and external id; the last task with the id counts. */
  readonly externalTasks: Map<string, RowOf<'external_tasks'>>
  readonly aliases: Map<string, RowOf<'aliases'>>
  readonly routers: Map<string, RowOf<'routers'>>
  readonly days: Days
  readonly writers: Set<string>
  readonly workspaces: Set<string>
  readonly keys: Set<string>
  /** By workspace and key; the last ones set count. */
  readonly limits: Map<string, RowOf<'limits'>>
  readonly plans: Set<string>
  readonly subscriptions: Set<string>
  readonly wallets: Set<string>
  readonly holds: Map<string, HoldKey>
  readonly spendings: Map<string, SpendingKey>
  readonly tasks: Map<string, Task>
  /** Routed and closing events that completed no request: each is open in the ledger, or was ignored. */
  readonly sides: Set<RoutedEvent | ClosingEvent>
  /** Requests completed by this batch whose first event was in the tables before it. */
  readonly completed: string[]
}

export const startBatch = (sequence: number): AccumulatedRows => ({
  fromSequence: sequence,
  firstFrame: null,
  size: 0,
  prices: [],
  references: [],
  entries: [],
  requests: [],
  usageEntries: [],
  storedResponses: [],
  seals: [],
  chargePlaces: [],
  taskCharges: [],
  minutes: noMinutes(),
  lateVerdicts: [],
  adminChanges: [],
  externalTasks: new Map(),
  aliases: new Map(),
  routers: new Map(),
  days: new Map(),
  writers: new Set(),
  workspaces: new Set(),
  keys: new Set(),
  limits: new Map(),
  plans: new Set(),
  subscriptions: new Set(),
  wallets: new Set(),
  holds: new Map(),
  spendings: new Map(),
  tasks: new Map(),
  sides: new Set(),
  completed: [],
})

export const accumulate = (gathered: AccumulatedRows, frame: LedgerFrame, applied: readonly Applied[]): void => {
  if (frame.sequence === 1) gathered.firstFrame = frameIdText(frame)
  if (frame.walletSubject === null) gathered.writers.add(frame.writer)
  else gathered.wallets.add(frame.walletSubject)
  gathered.size += Math.max(1, applied.length)
  for (const each of applied) gatherEvent(gathered, each)
}

const gatherEvent = (gathered: AccumulatedRows, applied: Applied): void => {
  const { event, movements, closed, task } = applied
  movements.forEach((movement, line) => {
    gathered.entries.push(walletEntryRow(applied, movement, line))
    touchSpending(gathered, movement)
  })
  if (movements.length > 0) addToMinutes(gathered.minutes, applied)
  addChargePlace(gathered.chargePlaces, applied)
  gathered.adminChanges.push(...adminChangeRows(applied))
  if (task !== null) gathered.tasks.set(task.taskId, task)
  switch (event.type) {
    case 'WorkspaceOpened':
    case 'WorkspaceChanged':
      gathered.workspaces.add(event.data.workspaceId)
      gathered.wallets.add(event.data.workspaceId)
      break
    case 'KeyIssued':
    case 'KeyExpirySet':
    case 'KeyRevoked':
      gathered.keys.add(event.data.keyId)
      break
    case 'LimitsSet':
      gatherLimits(gathered, event)
      break
    case 'PricePublished':
      gathered.prices.push(priceRow(applied, event))
      break
    case 'AliasSet':
      gathered.aliases.set(event.data.alias, aliasRow(event))
      break
    case 'RouterSet':
      gathered.routers.set(event.data.router, routerRow(event))
      break
    case 'PlanPublished':
      gathered.plans.add(event.data.planId)
      break
    case 'PlanSubscribed':
    case 'PlanRenewed':
      gatherPeriod(gathered, applied, event)
      break
    case 'PlanCancelled':
    case 'PlanEnded':
      gathered.subscriptions.add(event.data.workspaceId)
      break
    case 'CreditExpired':
      gathered.wallets.add(event.data.workspaceId)
      break
    case 'WalletCredited':
      gatherReference(gathered, applied, creditKey(event.data.reference), event.data)
      break
    case 'AdjustmentPosted':
      gatherReference(gathered, applied, adjustmentKey(event.data.adjustmentId), event.data)
      break
    case 'HoldPlaced':
    case 'HoldReleased':
      gathered.wallets.add(event.data.workspaceId)
      touchHold(gathered, event.data)
      if (task !== null && event.type === 'HoldPlaced') gatherName(gathered, task)
      break
    case 'TaskSettled':
      if (task === null) gathered.lateVerdicts.push(lateVerdictRow(applied, event))
      else gatherSettled(gathered, applied, event, task)
      break
    case 'LateVerdictSeen':
      gathered.lateVerdicts.push(lateVerdictRow(applied, event))
      break
    case 'CheckpointSealed':
      if (isSealOfLog(event, applied.sequence)) gathered.seals.push(sealRow(applied, event))
      break
    case 'RequestRouted':
    case 'UsageRecorded':
    case 'RequestFailed':
      if (closed === null) gathered.sides.add(event)
      else gatherRequest(gathered, applied, event, closed)
  }
}

const gatherLimits = ({ limits }: AccumulatedRows, { data }: EventOf<'LimitsSet'>): void => {
  const row = limitsRow(data)
  limits.set(`${row.workspace_id} ${row.key_id}`, row)
}

const touchSpending = ({ spendings }: AccumulatedRows, { workspaceId, spender }: Movement): void => {
  if (spender === null) return
  const { keyId } = spender
  spendings.set(`${workspaceId} ${keyId}`, { workspaceId, keyId })
}

const gatherPeriod = (
  gathered: AccumulatedRows,
  { movements }: Applied,
  { type, data }: EventOf<'PlanSubscribed'> | EventOf<'PlanRenewed'>,
): void => {
  const { workspaceId, subscriptionId, price } = data
  gathered.subscriptions.add(workspaceId)
  gathered.wallets.add(workspaceId)
  for (const { kind, reference, amountPicos } of movements)
    if (kind === 'credit')
      gathered.references.push(referenceRow(workspaceId, creditKey(reference), formatUsd(amountPicos)))
    else if (type === 'PlanSubscribed')
      gathered.references.push(referenceRow(workspaceId, subscriptionKey(subscriptionId), price))
}

const touchHold = ({ holds }: AccumulatedRows, { workspaceId, holdId }: HoldKey): void => {
  holds.set(`${workspaceId} ${holdId}`, { workspaceId, holdId })
}

const gatherName = ({ externalTasks }: AccumulatedRows, task: Task): void => {
  const { workspaceId, externalTaskId } = task
  if (externalTaskId !== null)
    externalTasks.set(`${workspaceId} ${externalTaskId}`, externalTaskRow({ ...task, externalTaskId }))
}

const gatherSettled = (
  gathered: AccumulatedRows,
  place: Applied,
  { data, time }: EventOf<'TaskSettled'>,
  task: Task,
): void => {
  const { workspaceId, taskId } = data
  gathered.wallets.add(workspaceId)
  touchHold(gathered, { workspaceId, holdId: taskId })
  if (task.status !== 'SUCCESS') return
  addTaskToDay(gathered.days, time, task)
  gathered.taskCharges.push(taskChargeRow(place, task))
}

const gatherReference = (
  gathered: AccumulatedRows,
  { movements }: Applied,
  key: string,
  { workspaceId, amount }: { readonly workspaceId: string; readonly amount: string },
): void => {
  gathered.wallets.add(workspaceId)
  if (movements.length > 0) gathered.references.push(referenceRow(workspaceId, key, amount))
}

const gatherRequest = (
  gathered: AccumulatedRows,
  applied: Applied,
  event: RoutedEvent | ClosingEvent,
  closed: ClosedRequest,
): void => {
  const { routed, closing } = closed
  const first = event === routed ? closing : routed
  if (!gathered.sides.delete(first)) gathered.completed.push(routed.data.requestId)
  gathered.requests.push(requestRow(applied, closed))
  if (closing.type === 'RequestFailed') return
  const { workspaceId } = closing.data
  gathered.usageEntries.push(usageEntryRow(applied, closing))
  gathered.storedResponses.push(...storedResponseRows(applied, closing))
  addToDay(gathered.days, closing)
  gathered.wallets.add(workspaceId)
  const holdId = routed.data.allowanceId
  if (holdId !== null) touchHold(gathered, { workspaceId, holdId })
}

/** The batch, with the last state of all that changed; the ledger is at its last frame. */
export const finishBatch = (gathered: AccumulatedRows, ledger: Ledger): ProjectionBatch => ({
  fromSequence: gathered.fromSequence,
  toSequence: ledger.sequence,
  firstFrame: gathered.firstFrame,
  rows: rowsOf(gathered, ledger),
})

const rowsOf = (gathered: AccumulatedRows, ledger: Ledger): ProjectedRows => {
  const holds = lastHolds(gathered, ledger)
  return {
    inserted: {
      prices: gathered.prices,
      wallet_references: gathered.references,
      wallet_entries: gathered.entries,
      requests: gathered.requests,
      open_requests: lastOpenRequests(gathered, ledger),
      usage_entries: gathered.usageEntries,
      charge_places: gathered.chargePlaces,
      task_charges: gathered.taskCharges,
      late_verdicts: gathered.lateVerdicts,
      admin_changes: gathered.adminChanges,
    },
    replaced: {
      writers: lastOf(gathered.writers, (id) => mapped(ledger.writers.get(id), (window) => writerRow(id, window))),
      workspaces: lastOf(gathered.workspaces, (id) => mapped(ledger.accounts.workspaces.get(id), workspaceRow)),
      keys: lastOf(gathered.keys, (id) => mapped(ledger.accounts.keys.get(id), keyRow)),
      aliases: [...gathered.aliases.values()],
      routers: [...gathered.routers.values()],
      limits: [...gathered.limits.values()],
      plans: lastOf(gathered.plans, (id) => mapped(ledger.accounts.plans.get(id), planRow)),
      subscriptions: lastOf(gathered.subscriptions, (id) =>
        mapped(ledger.accounts.subscriptions.get(id), subscriptionRow),
      ),
      wallets: lastOf(gathered.wallets, (id) => mapped(ledger.wallets.get(id), walletRow)),
      holds: holds.open,
      key_spending: lastSpendings(gathered, ledger),
      tasks: Array.from(gathered.tasks.values(), taskRow),
      external_tasks: [...gathered.externalTasks.values()],
    },
    added: { usage_by_day: dayRows(gathered.days) },
    first: { stored_responses: gathered.storedResponses, seals: gathered.seals },
    rising: { movement_minutes: gathered.minutes.reached },
    deleted: {
      subscriptions: endedSubscriptions(gathered, ledger),
      holds: holds.ended,
      open_requests: gathered.completed.map((request_id) => ({ request_id })),
    },
  }
}

const mapped = <T, Row>(state: T | undefined, rowOf: (state: T) => Row): Row | undefined =>
  state === undefined ? undefined : rowOf(state)

const lastOf = <Row>(names: ReadonlySet<string>, rowOf: (name: string) => Row | undefined): readonly Row[] =>
  Array.from(names, rowOf).filter((row) => row !== undefined)

const lastHolds = (gathered: AccumulatedRows, ledger: Ledger) => {
  const open: RowOf<'holds'>[] = []
  const ended: { workspace_id: string; hold_id: string }[] = []
  for (const { workspaceId, holdId } of gathered.holds.values()) {
    const hold = ledger.wallets.get(workspaceId)?.holds.get(holdId)
    if (hold === undefined) ended.push({ workspace_id: workspaceId, hold_id: holdId })
    else open.push(holdRow(hold))
  }
  return { open, ended }
}

const lastSpendings = ({ spendings }: AccumulatedRows, ledger: Ledger): readonly RowOf<'key_spending'>[] =>
  Array.from(spendings.values(), ({ workspaceId, keyId }) =>
    mapped(ledger.wallets.get(workspaceId)?.spendings.get(keyId), (spending) =>
      keySpendingRow(workspaceId, keyId, spending),
    ),
  ).filter((row) => row !== undefined)
const endedSubscriptions = (
  gathered: AccumulatedRows,
  { accounts }: Ledger,
): readonly { readonly workspace_id: string }[] =>
  Array.from(gathered.subscriptions)
    .filter((workspaceId) => !accounts.subscriptions.has(workspaceId))
    .map((workspace_id) => ({ workspace_id }))

/** An event of a request that is open in the ledger was opened by this batch; any other was ignored. */
const lastOpenRequests = ({ sides }: AccumulatedRows, { openRequests }: Ledger): readonly RowOf<'open_requests'>[] =>
  Array.from(sides).flatMap((side) => {
    const open = openRequests.get(side.data.requestId)
    return open !== undefined && (open.routed === side || open.closing === side)
      ? [openRequestRow(side.data.requestId, open)]
      : []
  })
