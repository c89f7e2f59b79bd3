import type { Event, EventOf } from '../../events/envelope.ts'
import type { InvoiceReconciled, LimitsSet } from '../../events/types.ts'
import { type Accounts, applyToAccounts, indexKey, initialAccounts, setSubscription } from '../accounts/accounts.ts'
import { putLimits } from '../accounts/limits.ts'
import { utcDayOf } from '../instant.ts'
import { parseUsd } from '../money.ts'
import { type PriceBook, publishPrice } from '../pricing/price-book.ts'
import { applyToOverlay, initialOverlay, type RoutingOverlay } from '../routing/overlay.ts'
import { expireTask, openTask, progressTask, settleTask, type Task, type TaskEvent } from '../video/task.ts'
import { countRequest } from '../wallet/alerts.ts'
import {
  applyCharge,
  applyHoldSettlement,
  applyToWallet,
  type Movement,
  type PlanFact,
  type WalletFact,
} from '../wallet/evolve.ts'
import { type Hold, initialWallet, type Wallet } from '../wallet/wallet.ts'
import { admitFrame, type FrameWindow, initialFrameWindow } from './frame-window.ts'
import { applyToPeriods, initialInvoices } from './invoices.ts'
import { findLastPeriod, type PeriodFact, type Periods, periodEnd } from './periods.ts'
import {
  type ClosedRequest,
  type ClosingEvent,
  type OpenRequestMap,
  pairRequest,
  type RoutedEvent,
} from './requests.ts'
import { applyCreditLimit, applyLimitKey } from './workspace-draft.ts'

export interface LastSeal {
  /** Frames sealed: those of the sequences 1 to this. */
  readonly size: number
  /** Of the frame that holds the checkpoint. */
  readonly sequence: number
}

/** Of a task, after its first: it changed nothing. */
export interface LateEnd {
  readonly taskId: string
  readonly sequence: number
}

interface ReconciledInvoice extends Pick<InvoiceReconciled, 'provider' | 'from' | 'to'> {
  readonly unreconciledPicos: bigint
  /** In UTC, on which it was recorded; and the frame. */
  readonly day: string
  readonly sequence: number
}

/** The state projected from the whole log. Every process that needs it applies the same frames with the same code. */
export interface Ledger {
  sequence: number
  readonly writers: Map<string, FrameWindow>
  readonly accounts: Accounts
  readonly prices: PriceBook
  /** Set over the configuration's aliases and routers; a new object after each change. */
  routing: RoutingOverlay
  readonly wallets: Map<string, Wallet>
  openRequests: OpenRequestMap
  readonly tasks: Map<string, Task>
  /** By the id of the event: a row of the tables that names its frame must not make it the end of the task. */
  readonly lateEnds: Map<string, LateEnd>
  readonly periods: Periods
  readonly invoices: ReturnType<typeof initialInvoices>
  /** By provider and days; none whose days are all within those of a later one. */
  readonly reconciled: Map<string, ReconciledInvoice>
  /** Before it nothing is posted any more; empty: no month is closed. */
  closedUntil: string
  /** The checkpoint that covers the most frames, the first of equal ones. Its signature is not verified here. */
  sealed: LastSeal | null
}

export const initialLedger = (): Ledger => ({
  sequence: 0,
  writers: new Map(),
  accounts: initialAccounts(),
  prices: new Map(),
  routing: initialOverlay,
  wallets: new Map(),
  openRequests: new Map(),
  tasks: new Map(),
  lateEnds: new Map(),
  periods: new Map(),
  invoices: initialInvoices(),
  reconciled: new Map(),
  closedUntil: '',
  sealed: null,
})

/** A frame as stored in the log; see the log's port for the writer's side. */
export interface LedgerFrame {
  readonly sequence: number
  readonly walletSubject: string | null
  readonly writer: string
  readonly counter: number
  readonly events: readonly Event[]
}

export interface Applied {
  readonly event: Event
  readonly sequence: number
  readonly index: number
  readonly movements: readonly Movement[]
  /** When the movements are posted: with the event, or the closing event of a request, and never before the wallet's last. */
  readonly postedAt: string
  readonly closed: ClosedRequest | null
  /** The task that the event changed, in its new state; null where it changed none, as a second end of a task does. */
  readonly task: Task | null
  /** The hold that the event released. */
  readonly released: Hold | null
  /** It changed nothing, and is not listed: an invoice whose number another one has. */
  readonly isVoid?: true
}

export const findOrCreateWallet = (ledger: Ledger, workspaceId: string): Wallet => {
  const existing = ledger.wallets.get(workspaceId)
  if (existing !== undefined) return existing
  const wallet = initialWallet(workspaceId)
  ledger.wallets.set(workspaceId, wallet)
  return wallet
}

const isNewFrame = (ledger: Ledger, frame: LedgerFrame): boolean => {
  // A wallet frame is stored once: its expected sequence, or the ids within it, ensure that.
  if (frame.walletSubject !== null) return true
  const window = ledger.writers.get(frame.writer) ?? initialFrameWindow()
  ledger.writers.set(frame.writer, window)
  return admitFrame(window, frame.counter)
}

const count = (wallet: Wallet, { routed, closing }: ClosedRequest): void => {
  if (wallet.alertRules.size === 0) return
  const isUsage = closing.type === 'UsageRecorded'
  countRequest(wallet, {
    ...{ keyId: routed.data.keyId, labels: routed.data, routedAt: routed.time, endedAt: closing.time },
    spentPicos: isUsage ? parseUsd(closing.data.total) : 0n,
    hasFailed: isUsage ? closing.data.outcome === 'interrupted' : closing.data.status >= 500,
  })
}

const settle = (ledger: Ledger, closed: ClosedRequest): readonly Movement[] => {
  const { routed, closing } = closed
  count(findOrCreateWallet(ledger, closing.data.workspaceId), closed)
  if (closing.type === 'RequestFailed') return []
  const { requestId, workspaceId, total } = closing.data
  const { keyId, reserved, allowanceId } = routed.data
  const request = { keyId, labels: routed.data, day: utcDayOf(routed.time) }
  const wallet = findOrCreateWallet(ledger, workspaceId)
  return applyCharge(wallet, requestId, parseUsd(total), parseUsd(reserved), allowanceId, request)
}

const nothing = { movements: [], closed: null, task: null, released: null } as const
type Effect = Pick<Applied, 'movements' | 'closed' | 'task' | 'released' | 'isVoid'>

const applyRequest = (ledger: Ledger, event: RoutedEvent | ClosingEvent, sequence: number): Effect => {
  const closed = pairRequest(ledger.openRequests, event, sequence)
  return closed === null ? nothing : { ...nothing, movements: settle(ledger, closed), closed }
}

const changeWorkspace = (ledger: Ledger, event: EventOf<'WorkspaceOpened'> | EventOf<'WorkspaceChanged'>): void => {
  applyToAccounts(ledger.accounts, event)
  applyCreditLimit(findOrCreateWallet(ledger, event.data.workspaceId), ledger.accounts)
}

const issueKey = (ledger: Ledger, event: EventOf<'KeyIssued'>): void => {
  const { keyId, workspaceId } = event.data
  applyToAccounts(ledger.accounts, event)
  indexKey(ledger.accounts, ledger.accounts.keys.get(keyId)!)
  applyLimitKey(findOrCreateWallet(ledger, workspaceId), ledger.accounts, keyId)
}

/** Spend limits are enforced by the process that decides for the wallet. */
const setLimits = (ledger: Ledger, data: LimitsSet): void => {
  putLimits(ledger.accounts.limits, data)
  applyToWallet(findOrCreateWallet(ledger, data.workspaceId), { type: 'LimitsSet', data })
}

const moveWallet = (ledger: Ledger, fact: WalletFact): Effect => ({
  ...nothing,
  movements: applyToWallet(findOrCreateWallet(ledger, fact.data.workspaceId), fact),
})

const movePlan = (ledger: Ledger, fact: PlanFact): Effect => {
  const effect = moveWallet(ledger, fact)
  const { workspaceId } = fact.data
  setSubscription(ledger.accounts, workspaceId, findOrCreateWallet(ledger, workspaceId).subscription)
  return effect
}

const placeHold = (ledger: Ledger, event: EventOf<'HoldPlaced'>): Effect => {
  const effect = moveWallet(ledger, event)
  const task = effect.movements.length === 0 ? null : openTask(event)
  if (task !== null) ledger.tasks.set(task.taskId, task)
  return { ...effect, task }
}

/** Null for a task that has ended, and for one of another workspace, which this event must not change. */
const findTask = (
  { tasks }: Ledger,
  { taskId, workspaceId }: { readonly taskId: string; readonly workspaceId: string },
): Task | null => {
  const task = tasks.get(taskId)
  return task?.workspaceId === workspaceId ? task : null
}

const endTask = (
  ledger: Ledger,
  named: { readonly taskId: string; readonly workspaceId: string },
  end: (task: Task) => void,
): Task | null => {
  const task = findTask(ledger, named)
  if (task === null) return null
  ledger.tasks.delete(task.taskId)
  end(task)
  return task
}

const noteLateEnd = (ledger: Ledger, { id }: Event, end: LateEnd): Effect => {
  ledger.lateEnds.set(id, end)
  return nothing
}

const releaseHold = (ledger: Ledger, event: EventOf<'HoldReleased'>, sequence: number): Effect => {
  const { holdId: taskId, workspaceId } = event.data
  const released = findOrCreateWallet(ledger, workspaceId).holds.get(taskId) ?? null
  if (released === null) noteLateEnd(ledger, event, { taskId, sequence })
  const effect = moveWallet(ledger, event)
  return { ...effect, released, task: endTask(ledger, { taskId, workspaceId }, (task) => expireTask(task, event)) }
}

/** The first end of a task counts: a second one changes nothing, whatever it contains. */
const settleOnce = (ledger: Ledger, event: EventOf<'TaskSettled'>, sequence: number): Effect => {
  const { taskId, workspaceId, total } = event.data
  const task = endTask(ledger, event.data, (open) => settleTask(open, event))
  if (task === null) return noteLateEnd(ledger, event, { taskId, sequence })
  return {
    ...nothing,
    movements: applyHoldSettlement(findOrCreateWallet(ledger, workspaceId), taskId, parseUsd(total)),
    task,
  }
}

const moveTask = (ledger: Ledger, event: TaskEvent): Effect => {
  const task = findTask(ledger, event.data)
  if (task === null) return nothing
  progressTask(task, event)
  return { ...nothing, task }
}

/** False for a checkpoint that claims to seal its own frame or later ones: its writer cannot have read them. */
export const isSealOfLog = ({ data }: EventOf<'CheckpointSealed'>, sequence: number): boolean => data.size < sequence

const noteSeal = (ledger: Ledger, event: EventOf<'CheckpointSealed'>, sequence: number): void => {
  const { data } = event
  if (isSealOfLog(event, sequence) && data.size > (ledger.sealed?.size ?? 0))
    ledger.sealed = { size: data.size, sequence }
}

const movePeriod = (ledger: Ledger, event: PeriodFact | EventOf<'InvoiceIssued'>, sequence: number): Effect => {
  const isChanged = applyToPeriods(ledger, event, sequence)
  ledger.closedUntil = periodEnd(findLastPeriod(ledger.periods))
  return isChanged ? nothing : { ...nothing, isVoid: true }
}

/** An invoice that grows day by day is recorded with the same differences again. */
const noteReconciled = (
  { reconciled }: Ledger,
  { data, time }: EventOf<'InvoiceReconciled'>,
  sequence: number,
): Effect => {
  const { provider, from, to, unreconciled } = data
  for (const [id, before] of reconciled)
    if (before.provider === provider && before.from >= from && before.to <= to) reconciled.delete(id)
  const invoice = { provider, from, to, unreconciledPicos: parseUsd(unreconciled), day: utcDayOf(time), sequence }
  reconciled.set([provider, from, to].join(' '), invoice)
  return nothing
}

const walletOnly = [
  'WalletCredited',
  'CreditExpired',
  'AdjustmentPosted',
  'AdjustmentProposed',
  'AdjustmentApproved',
  'AdjustmentRejected',
  'AlertRuleSet',
  'AlertRuleRemoved',
  'AlertRaised',
  'AlertDelivered',
  'AlertDeliveryFailed',
] as const satisfies readonly WalletFact['type'][]
const walletOnlyTypes: ReadonlySet<string> = new Set(walletOnly)

const isWalletOnly = (event: Event): event is Extract<Event, { type: (typeof walletOnly)[number] }> =>
  walletOnlyTypes.has(event.type)

const applyEvent = (ledger: Ledger, event: Event, sequence: number): Effect => {
  if (isWalletOnly(event)) return moveWallet(ledger, event)
  switch (event.type) {
    case 'WorkspaceOpened':
    case 'WorkspaceChanged':
      changeWorkspace(ledger, event)
      return nothing
    case 'KeyIssued':
      issueKey(ledger, event)
      return nothing
    case 'WorkspaceSuspended':
    case 'WorkspaceResumed':
    case 'WorkspaceClosed':
    case 'KeyExpirySet':
    case 'KeyRevoked':
      applyToAccounts(ledger.accounts, event)
      return nothing
    case 'AliasSet':
    case 'RouterSet':
      ledger.routing = applyToOverlay(ledger.routing, event)
      return nothing
    case 'LimitsSet':
      setLimits(ledger, event.data)
      return nothing
    case 'PricePublished':
      publishPrice(ledger.prices, event.data)
      return nothing
    case 'PlanPublished':
      ledger.accounts.plans.set(event.data.planId, event.data)
      return nothing
    case 'PlanSubscribed':
    case 'PlanRenewed':
    case 'PlanCancelled':
    case 'PlanEnded':
      return movePlan(ledger, event)
    case 'HoldPlaced':
      return placeHold(ledger, event)
    case 'HoldReleased':
      return releaseHold(ledger, event, sequence)
    case 'TaskSubmitted':
    case 'TaskProgressed':
      return moveTask(ledger, event)
    case 'TaskSettled':
      return settleOnce(ledger, event, sequence)
    case 'LateVerdictSeen':
    case 'CallbackFailed':
    case 'CheckpointCosigned':
    case 'LogRolledBack':
    case 'LogFormatRaised':
    case 'RefusalsCounted':
      return nothing
    case 'CheckpointSealed':
      noteSeal(ledger, event, sequence)
      return nothing
    case 'PeriodCutOff':
    case 'PeriodClosed':
    case 'PeriodReopened':
    case 'InvoiceIssued':
      return movePeriod(ledger, event, sequence)
    case 'InvoiceReconciled':
      return noteReconciled(ledger, event, sequence)
    case 'RequestRouted':
    case 'UsageRecorded':
    case 'RequestFailed':
      return applyRequest(ledger, event, sequence)
  }
}

const post = (ledger: Ledger, event: Event, { closed, movements }: Effect): string => {
  const { time } = closed?.closing ?? event
  const [movement] = movements
  if (movement === undefined) return time
  const wallet = findOrCreateWallet(ledger, movement.workspaceId)
  for (const earliest of [time, ledger.closedUntil]) if (wallet.postedAt < earliest) wallet.postedAt = earliest
  return wallet.postedAt
}

const openRequestsRenewedAfter = 64 // Frames: see `TransientMap`.

/** A frame that was stored twice has no effect the second time. Throws when a frame is missing. */
export const applyFrame = (ledger: Ledger, frame: LedgerFrame): readonly Applied[] => {
  if (frame.sequence !== ledger.sequence + 1)
    throw new Error(`the ledger is at sequence ${ledger.sequence}, the next frame is ${frame.sequence}`)
  ledger.sequence = frame.sequence
  if (frame.walletSubject !== null) findOrCreateWallet(ledger, frame.walletSubject).subjectSequence = frame.sequence
  if (!isNewFrame(ledger, frame)) return []
  if (frame.sequence % Math.max(openRequestsRenewedAfter, ledger.openRequests.size) === 0)
    ledger.openRequests = new Map(ledger.openRequests)
  return frame.events.map((event, index) => {
    const effect = applyEvent(ledger, event, frame.sequence)
    return { event, sequence: frame.sequence, index, ...effect, postedAt: post(ledger, event, effect) }
  })
}
