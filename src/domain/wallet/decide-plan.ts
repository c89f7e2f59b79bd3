import type { FactOf } from '../../events/envelope.ts'
import type { PlanPublished } from '../../events/types.ts'
import { maxOf, parseUsd } from '../money.ts'
import { dayOfMonth, endOfPeriod } from '../plans/period.ts'
import { nextAnchorDay, type Subscription, termsOf } from '../plans/subscription.ts'
import { type PlanFact, subscriptionKey } from './evolve.ts'
import { payablePicos, type WalletDraft } from './wallet.ts'

export type PlanCommand =
  | {
      readonly type: 'Subscribe'
      /** Unique, also after the subscription has ended. */
      readonly subscriptionId: string
      readonly terms: PlanPublished
      /** Milliseconds since the epoch. */
      readonly startsAtMs: number
      readonly renews: boolean
      /** False: a plan that the workspace has already is not restarted. */
      readonly again: boolean
    }
  | { readonly type: 'CancelPlan' }
  /** Commanded by a process that has seen that the period is over. */
  | {
      readonly type: 'EndPeriod'
      readonly subscriptionId: string
      /** Of the period to end; milliseconds since the epoch. */
      readonly expiresAtMs: number
      readonly terms: PlanPublished
    }

type PlanDecision = { readonly facts: readonly PlanFact[] } | { readonly refused: PlanRefusal }

export type PlanRefusal =
  | { readonly reason: 'insufficient'; readonly availablePicos: bigint }
  | { readonly reason: 'subscription_differs'; readonly planId: string }
  | { readonly reason: 'no_subscription' }

const isoOf = (epochMs: number): string => new Date(epochMs).toISOString()

const shortOf = (wallet: WalletDraft, { price }: PlanPublished, atMs: number): bigint | null => {
  const payable = payablePicos(wallet, atMs)
  return maxOf(0n, payable) < parseUsd(price) ? payable : null
}

const periodOf = (
  subscriptionId: string,
  workspaceId: string,
  terms: PlanPublished,
  startsAtMs: number,
  day: number,
) => ({
  subscriptionId,
  workspaceId,
  ...termsOf(terms),
  startsAt: isoOf(startsAtMs),
  expiresAt: isoOf(endOfPeriod(startsAtMs, terms.period, day)),
})

const endOf = (
  { subscriptionId, workspaceId }: Subscription,
  reason: FactOf<'PlanEnded'>['data']['reason'],
): FactOf<'PlanEnded'> => ({ type: 'PlanEnded', data: { subscriptionId, workspaceId, reason } })

/** The rest of the period of a replaced plan is not refunded; its credit stays until it lapses. */
const subscribe = (command: PlanCommand & { type: 'Subscribe' }, wallet: WalletDraft): PlanDecision => {
  const { subscriptionId, terms, startsAtMs, renews, again } = command
  const current = wallet.subscription
  const isSamePlan = current?.terms.planId === terms.planId
  if (current?.subscriptionId === subscriptionId && !isSamePlan)
    return { refused: { reason: 'subscription_differs', planId: current.terms.planId } }
  if (wallet.references.has(subscriptionKey(subscriptionId)) || (isSamePlan && !again)) return { facts: [] }
  const payable = shortOf(wallet, terms, startsAtMs)
  if (payable !== null) return { refused: { reason: 'insufficient', availablePicos: payable } }
  const period = periodOf(subscriptionId, wallet.workspaceId, terms, startsAtMs, dayOfMonth(startsAtMs))
  const begun: PlanFact = { type: 'PlanSubscribed', data: { ...period, renews } }
  return { facts: current === null ? [begun] : [endOf(current, 'replaced'), begun] }
}

const cancel = ({ subscription }: WalletDraft): PlanDecision => {
  if (subscription === null) return { refused: { reason: 'no_subscription' } }
  const { subscriptionId, workspaceId, renews } = subscription
  return { facts: renews ? [{ type: 'PlanCancelled', data: { subscriptionId, workspaceId } }] : [] }
}

/** Renews it once: a period that the next one has replaced is not ended again. */
const endPeriod = (command: PlanCommand & { type: 'EndPeriod' }, wallet: WalletDraft): PlanDecision => {
  const { subscriptionId, expiresAtMs, terms } = command
  const current = wallet.subscription
  if (current?.subscriptionId !== subscriptionId || current.expiresAtMs !== expiresAtMs) return { facts: [] }
  if (!current.renews) return { facts: [endOf(current, 'expired')] }
  if (shortOf(wallet, terms, expiresAtMs) !== null) return { facts: [endOf(current, 'unpaid')] }
  const period = periodOf(subscriptionId, wallet.workspaceId, terms, expiresAtMs, nextAnchorDay(current))
  return { facts: [{ type: 'PlanRenewed', data: period }] }
}

export const decidePlan = (command: PlanCommand, wallet: WalletDraft): PlanDecision => {
  switch (command.type) {
    case 'Subscribe':
      return subscribe(command, wallet)
    case 'CancelPlan':
      return cancel(wallet)
    case 'EndPeriod':
      return endPeriod(command, wallet)
  }
}
