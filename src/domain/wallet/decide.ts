import type { TaskOrder } from '../../events/types.ts'
import { formatUsd, maxOf, minOf } from '../money.ts'
import type { AlertCommand } from './alerts.ts'
import { type AdjustmentRefusal, decideAdjustment } from './decide-adjustment.ts'
import { decideAlerts } from './decide-alerts.ts'
import { decidePlan, type PlanCommand, type PlanRefusal } from './decide-plan.ts'
import { creditKey, type WalletFact } from './evolve.ts'
import { eventMembers, type Holder } from './holders.ts'
import type { Remaining } from './spending.ts'
import {
  availablePicos,
  expirablePicos,
  findRemaining,
  isBelowAvailable,
  spendablePicos,
  spendDayAmong,
  type WalletDraft,
} from './wallet.ts'

export type WalletCommand =
  | {
      readonly type: 'PlaceAllowance'
      readonly holdId: string
      readonly minimumPicos: bigint
      readonly desiredPicos: bigint
      /** Those with spend limits of the requests that may spend it; none for an allowance of the whole workspace. */
      readonly holders: readonly Holder[]
      /** The UTC day of the request, `2026-11-21`. */
      readonly day: string
      /** ISO 8601. */
      readonly deadline: string
      readonly owner: string
    }
  | {
      readonly type: 'PlaceTaskHold'
      readonly taskId: string
      readonly amountPicos: bigint
      readonly day: string
      /** ISO 8601. */
      readonly deadline: string
      readonly owner: string
      readonly order: TaskOrder
    }
  | { readonly type: 'ReleaseHold'; readonly holdId: string; readonly reason: 'returned' | 'expired' | 'submit_failed' }
  | {
      readonly type: 'Credit'
      readonly amountPicos: bigint
      readonly reference: string
      readonly note: string
      /** ISO 8601: when the unspent rest of it lapses. Absent: never. */
      readonly expiresAt?: string | undefined
    }
  | Parameters<typeof decideAdjustment>[0]
  | AlertCommand
  /** Commanded by a process that has seen that the credit has expired. */
  | { readonly type: 'LapseCredit'; readonly reference: string }
  | PlanCommand

export type WalletDecision = { readonly facts: readonly WalletFact[] } | { readonly refused: WalletRefusal }

export type WalletRefusal =
  | PlanRefusal
  | AdjustmentRefusal
  | { readonly reason: 'insufficient'; readonly availablePicos: bigint }
  | { readonly reason: 'spend_limit_reached'; readonly remaining: Remaining }
  | { readonly reason: 'external_task_differs'; readonly taskId: string }
  | { readonly reason: 'reference_differs'; readonly creditedPicos: bigint }

/** An allowance takes at most half of what is available unless one request needs more: other edges need some too. */
const sliceDivisor = 2n

const shortage = (wallet: WalletDraft, remaining: Remaining | null): WalletRefusal =>
  isBelowAvailable(remaining, wallet)
    ? { reason: 'spend_limit_reached', remaining }
    : { reason: 'insufficient', availablePicos: availablePicos(wallet) }

const placeAllowance = (command: WalletCommand & { type: 'PlaceAllowance' }, wallet: WalletDraft): WalletDecision => {
  const { holdId, holders, minimumPicos, desiredPicos, deadline, owner } = command
  const remaining = findRemaining(wallet, holders, command.day)
  const spendable = spendablePicos(wallet, remaining)
  const amountPicos = maxOf(minimumPicos, minOf(desiredPicos, spendable / sliceDivisor))
  if (spendable < minimumPicos || amountPicos <= 0n) return { refused: shortage(wallet, remaining) }
  const { workspaceId } = wallet
  const amount = formatUsd(amountPicos)
  const spender =
    holders.length === 0 ? {} : { ...eventMembers(holders), day: spendDayAmong(wallet, holders, command.day) }
  return {
    facts: [
      {
        type: 'HoldPlaced',
        data: { holdId, workspaceId, purpose: 'allowance', amount, deadline, owner, ...spender },
      },
    ],
  }
}

/** All of it or none: a task cannot be half covered. The caller's own id names one task, also after it has ended. */
const placeTaskHold = (command: WalletCommand & { type: 'PlaceTaskHold' }, wallet: WalletDraft): WalletDecision => {
  const { taskId, amountPicos, deadline, owner, order } = command
  const { externalTaskId, requestDigest } = order
  const existing = externalTaskId === undefined ? undefined : wallet.externalTasks.get(externalTaskId)
  if (existing?.requestDigest === requestDigest || wallet.holds.has(taskId)) return { facts: [] }
  if (existing !== undefined) return { refused: { reason: 'external_task_differs', taskId: existing.taskId } }
  const holders = [order.keyId]
  const remaining = findRemaining(wallet, holders, command.day)
  if (spendablePicos(wallet, remaining) < amountPicos) return { refused: shortage(wallet, remaining) }
  const { workspaceId } = wallet
  const amount = formatUsd(amountPicos)
  const counted = remaining === null ? {} : { day: spendDayAmong(wallet, holders, command.day) }
  return {
    facts: [
      {
        type: 'HoldPlaced',
        data: { holdId: taskId, workspaceId, purpose: 'task', amount, deadline, owner, task: order, ...counted },
      },
    ],
  }
}

const releaseHold = (command: WalletCommand & { type: 'ReleaseHold' }, wallet: WalletDraft): WalletDecision => {
  if (!wallet.holds.has(command.holdId)) return { facts: [] }
  return {
    facts: [
      {
        type: 'HoldReleased',
        data: { holdId: command.holdId, workspaceId: wallet.workspaceId, reason: command.reason },
      },
    ],
  }
}

const credit = (command: WalletCommand & { type: 'Credit' }, wallet: WalletDraft): WalletDecision => {
  const { amountPicos, reference, note, expiresAt } = command
  const creditedPicos = wallet.references.get(creditKey(reference))
  if (creditedPicos === amountPicos) return { facts: [] }
  if (creditedPicos !== undefined) return { refused: { reason: 'reference_differs', creditedPicos } }
  return {
    facts: [
      {
        type: 'WalletCredited',
        data: {
          workspaceId: wallet.workspaceId,
          amount: formatUsd(amountPicos),
          reference,
          note,
          ...(expiresAt === undefined ? {} : { expiresAt }),
        },
      },
    ],
  }
}

/** Held money does not lapse before its holds have ended; the rest of the credit can lapse then. */
const lapseCredit = ({ reference }: WalletCommand & { type: 'LapseCredit' }, wallet: WalletDraft): WalletDecision => {
  const amountPicos = expirablePicos(wallet, reference)
  if (amountPicos === 0n) return { facts: [] }
  const { workspaceId } = wallet
  return { facts: [{ type: 'CreditExpired', data: { workspaceId, reference, amount: formatUsd(amountPicos) } }] }
}

/** Decides what a command adds to the wallet's subject; a repeated command adds nothing. */
export const decideWallet = (command: WalletCommand, wallet: WalletDraft): WalletDecision => {
  switch (command.type) {
    case 'PlaceAllowance':
      return placeAllowance(command, wallet)
    case 'PlaceTaskHold':
      return placeTaskHold(command, wallet)
    case 'ReleaseHold':
      return releaseHold(command, wallet)
    case 'Credit':
      return credit(command, wallet)
    case 'Adjust':
    case 'CorrectCharge':
    case 'ApproveAdjustment':
    case 'RejectAdjustment':
      return decideAdjustment(command, wallet)
    case 'LapseCredit':
      return lapseCredit(command, wallet)
    case 'SetAlertRule':
    case 'RemoveAlertRule':
    case 'RaiseAlert':
    case 'ConfirmAlert':
    case 'RecordAlertFailure':
      return decideAlerts(command, wallet)
    case 'Subscribe':
    case 'CancelPlan':
    case 'EndPeriod':
      return decidePlan(command, wallet)
  }
}
