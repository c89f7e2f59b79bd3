import type { FactOf } from '../../events/envelope.ts'
import type { Limits, LimitsSet } from '../../events/types.ts'
import { findLimitKey } from '../accounts/accounts.ts'
import { utcDayOf } from '../instant.ts'
import { maxOf, minOf, parseUsd } from '../money.ts'
import { dayOfMonth } from '../plans/period.ts'
import { nextAnchorDay, periodReference, termsOf } from '../plans/subscription.ts'
import { type AlertFact, applyAlert } from './alerts.ts'
import { addGrant, expireGrant, spendGrants } from './grants.ts'
import { endUserHolder, type Holder, isLabel, type Labels, labelsOf, tagHolder } from './holders.ts'
import { applyProposal } from './proposals.ts'
import { addSpending, type SpendingHolders, spendLimitsOf } from './spending.ts'
import {
  balancePicos,
  findLimitedHolders,
  type Hold,
  isCounted,
  spendingOf,
  type Wallet,
  type WalletDraft,
} from './wallet.ts'

export const movementKinds = ['credit', 'charge', 'excess', 'fee', 'adjustment', 'lapse', 'hold', 'release'] as const
export type MovementKind = (typeof movementKinds)[number]

export interface Movement {
  readonly workspaceId: string
  readonly kind: MovementKind
  readonly amountPicos: bigint
  readonly heldPicos: bigint
  readonly balanceAfterPicos: bigint
  readonly heldAfterPicos: bigint
  readonly reference: string
  readonly spender: SpendingHolders | null
}

export type PlanFact = FactOf<'PlanSubscribed' | 'PlanRenewed' | 'PlanCancelled' | 'PlanEnded'>
export type WalletFact =
  | FactOf<'WalletCredited' | 'CreditExpired' | 'HoldPlaced' | 'HoldReleased' | 'AdjustmentPosted' | 'LimitsSet'>
  | Parameters<typeof applyProposal>[1]
  | AlertFact
  | PlanFact

/** With the time of its event; a drafted fact has none yet. */
type WalletMove = WalletFact & { readonly time?: string }

const movement = (
  wallet: WalletDraft,
  kind: MovementKind,
  reference: string,
  amountPicos: bigint,
  heldPicos: bigint,
  spender: SpendingHolders | null = null,
): Movement => ({
  workspaceId: wallet.workspaceId,
  kind,
  amountPicos,
  heldPicos,
  balanceAfterPicos: balancePicos(wallet),
  heldAfterPicos: wallet.heldPicos,
  reference,
  spender,
})

const heldIn = (wallet: WalletDraft, holder: Holder): bigint => spendingOf(wallet, holder).held.totalPicos

/** Nothing is left of a tag or an end user that has no limits, once its last hold has ended. */
const dropUnlimited = (wallet: WalletDraft, holder: Holder): void => {
  if (isLabel(holder) && !wallet.spendLimits.has(holder) && heldIn(wallet, holder) === 0n)
    wallet.spendings.delete(holder)
}

const count = (
  wallet: WalletDraft,
  spender: SpendingHolders | null,
  moved: { readonly spentPicos?: bigint; readonly heldPicos?: bigint },
): void => {
  for (const holder of spender?.holders ?? []) {
    if (!isCounted(wallet, holder)) continue
    wallet.spendings.set(holder, addSpending(spendingOf(wallet, holder), spender!.day, moved))
    dropUnlimited(wallet, holder)
  }
}

const spenderIn = (
  wallet: WalletDraft,
  keyId: string | undefined,
  labels: Labels,
  day: string,
): SpendingHolders | null => {
  const ofKey = keyId === undefined ? [] : [findLimitKey(wallet, keyId)]
  const holders = [...ofKey, ...labelsOf(labels).filter((label) => isCounted(wallet, label))]
  return holders.length === 0 ? null : { holders, day }
}

type Credit = Pick<FactOf<'WalletCredited'>['data'], 'reference' | 'amount' | 'expiresAt'>

const credit = (wallet: WalletDraft, { reference, amount, expiresAt }: Credit): readonly Movement[] => {
  const key = creditKey(reference)
  if (wallet.references.has(key)) return []
  const amountPicos = parseUsd(amount)
  wallet.references.set(key, amountPicos)
  wallet.creditsPicos += amountPicos
  if (expiresAt !== undefined && amountPicos > 0n) {
    const grant = { reference, remainingPicos: amountPicos, expiresAtMs: Date.parse(expiresAt) }
    wallet.grants = addGrant(wallet.grants, grant)
  }
  return [movement(wallet, 'credit', reference, amountPicos, 0n)]
}

const lapse = (wallet: WalletDraft, { reference, amount }: FactOf<'CreditExpired'>['data']): readonly Movement[] => {
  const { grants, lapsedPicos } = expireGrant(wallet.grants, reference, parseUsd(amount))
  if (lapsedPicos === 0n) return []
  wallet.grants = grants
  wallet.lapsedPicos += lapsedPicos
  return [movement(wallet, 'lapse', reference, -lapsedPicos, 0n)]
}

type BegunPeriod = FactOf<'PlanSubscribed' | 'PlanRenewed'>['data']

const beginPeriod = (
  wallet: WalletDraft,
  data: BegunPeriod,
  anchorDay: number,
  renews: boolean,
): readonly Movement[] => {
  const { subscriptionId, workspaceId, startsAt, expiresAt, price, includedCredit } = data
  const [startsAtMs, expiresAtMs] = [Date.parse(startsAt), Date.parse(expiresAt)]
  const terms = termsOf(data)
  wallet.subscription = { subscriptionId, workspaceId, terms, startsAtMs, expiresAtMs, anchorDay, renews }
  const reference = periodReference(subscriptionId, startsAt)
  const feePicos = parseUsd(price)
  wallet.feesPicos += feePicos
  wallet.grants = spendGrants(wallet.grants, feePicos, startsAtMs)
  const fee = movement(wallet, 'fee', reference, -feePicos, 0n)
  if (parseUsd(includedCredit) === 0n) return [fee]
  return [fee, ...credit(wallet, { reference, amount: includedCredit, expiresAt })]
}

const subscribe = (wallet: WalletDraft, data: FactOf<'PlanSubscribed'>['data']): readonly Movement[] => {
  const key = subscriptionKey(data.subscriptionId)
  if (wallet.references.has(key)) return []
  wallet.references.set(key, parseUsd(data.price))
  return beginPeriod(wallet, data, dayOfMonth(Date.parse(data.startsAt)), data.renews)
}

const renew = (wallet: WalletDraft, data: FactOf<'PlanRenewed'>['data']): readonly Movement[] => {
  const current = wallet.subscription
  const isNext = current?.subscriptionId === data.subscriptionId && current.expiresAtMs === Date.parse(data.startsAt)
  return isNext ? beginPeriod(wallet, data, nextAnchorDay(current), current.renews) : []
}

const applyPlan = (wallet: WalletDraft, fact: PlanFact): readonly Movement[] => {
  if (fact.type === 'PlanSubscribed') return subscribe(wallet, fact.data)
  if (fact.type === 'PlanRenewed') return renew(wallet, fact.data)
  const current = wallet.subscription
  if (current?.subscriptionId === fact.data.subscriptionId)
    wallet.subscription = fact.type === 'PlanEnded' ? null : { ...current, renews: false }
  return []
}

/** A correction names a credit by its key. */
export const namesCredit = (corrects: string): boolean => corrects.startsWith(creditKey(''))

/** What a credit or an adjustment moved, and what reversals of it have moved since; null for anything else. */
export const findReversal = (
  { references }: Pick<WalletDraft, 'references'>,
  corrects: string,
): { readonly key: string; readonly amountPicos: bigint; readonly reversedPicos: bigint } | null => {
  const corrected = namesCredit(corrects) ? corrects : adjustmentKey(corrects)
  const amountPicos = references.get(corrected)
  if (amountPicos === undefined) return null
  const key = `reversed:${corrected}`
  return { key, amountPicos, reversedPicos: references.get(key) ?? 0n }
}

const correctedKey = (chargeId: string): string => `corrected:${chargeId}`

/** What corrections of a request or a task have given back, without corrections of these. */
export const correctedPicos = ({ references }: Pick<WalletDraft, 'references'>, chargeId: string): bigint =>
  references.get(correctedKey(chargeId)) ?? 0n

/** What is taken back of a credit that expires cannot lapse as well. */
const reverse = (wallet: WalletDraft, corrects: string, amountPicos: bigint): void => {
  const reversal = findReversal(wallet, corrects)
  if (reversal === null) {
    wallet.references.set(correctedKey(corrects), correctedPicos(wallet, corrects) + amountPicos)
    return
  }
  wallet.references.set(reversal.key, reversal.reversedPicos + amountPicos)
  if (!namesCredit(corrects) || amountPicos > 0n) return
  wallet.grants = expireGrant(wallet.grants, corrects.slice(creditKey('').length), -amountPicos).grants
}

const adjust = (wallet: WalletDraft, data: FactOf<'AdjustmentPosted'>['data']): readonly Movement[] => {
  const { adjustmentId, amount, corrects, keyId, day = '' } = data
  const key = adjustmentKey(adjustmentId)
  if (wallet.references.has(key)) return []
  const amountPicos = parseUsd(amount)
  if (corrects !== undefined) reverse(wallet, corrects, amountPicos)
  wallet.references.set(key, amountPicos)
  wallet.proposals.delete(adjustmentId)
  wallet.adjustmentsPicos += amountPicos
  const spender = spenderIn(wallet, keyId, data, day)
  count(wallet, spender, { spentPicos: -amountPicos })
  return [movement(wallet, 'adjustment', adjustmentId, amountPicos, 0n, spender)]
}

const placeHold = (wallet: WalletDraft, data: FactOf<'HoldPlaced'>['data'], time: string): readonly Movement[] => {
  if (wallet.holds.has(data.holdId)) return []
  const amountPicos = parseUsd(data.amount)
  const { holdId, workspaceId, purpose, owner } = data
  const spender = spenderIn(wallet, data.keyId ?? data.task?.keyId, data, data.day ?? utcDayOf(time))
  wallet.holds.set(holdId, {
    holdId,
    workspaceId,
    purpose,
    owner,
    amountPicos,
    remainingPicos: amountPicos,
    deadlineMs: Date.parse(data.deadline),
    spender,
  })
  wallet.heldPicos += amountPicos
  count(wallet, spender, { heldPicos: amountPicos })
  if (data.task?.externalTaskId !== undefined)
    wallet.externalTasks.set(data.task.externalTaskId, { taskId: holdId, requestDigest: data.task.requestDigest })
  return [movement(wallet, 'hold', holdId, 0n, amountPicos, spender)]
}

const endHold = (wallet: WalletDraft, holdId: string): readonly Movement[] => {
  const hold = wallet.holds.get(holdId)
  if (hold === undefined) return []
  wallet.holds.delete(holdId)
  wallet.heldPicos -= hold.remainingPicos
  count(wallet, hold.spender, { heldPicos: -hold.remainingPicos })
  return [movement(wallet, 'release', holdId, 0n, -hold.remainingPicos, hold.spender)]
}

const setLabelLimits = (wallet: WalletDraft, label: Holder, { spend }: Limits): void => {
  const limits = spendLimitsOf(spend)
  const wasLimited = wallet.spendLimits.has(label)
  if (limits.length > 0) wallet.spendLimits.set(label, limits)
  else if (wasLimited) wallet.spendLimits.delete(label)
  wallet.limitedLabels += Number(limits.length > 0) - Number(wasLimited)
  dropUnlimited(wallet, label)
}

export const findLabelOf = ({ tag, endUser }: Pick<LimitsSet, 'tag' | 'endUser'>): Holder | null => {
  if (tag !== undefined) return tagHolder(tag)
  return endUser === undefined ? null : endUserHolder(endUser)
}

/** Spend limits bound later holds, and move no money. */
const setSpendLimits = (wallet: WalletDraft, data: LimitsSet): readonly Movement[] => {
  const { keyId, limits } = data
  const label = findLabelOf(data)
  if (label !== null) setLabelLimits(wallet, label, limits)
  else if (keyId !== undefined) wallet.spendLimits.set(keyId, spendLimitsOf(limits.spend))
  return []
}

export const creditKey = (reference: string): string => `credit:${reference}`
export const subscriptionKey = (subscriptionId: string): string => `subscription:${subscriptionId}`
export const adjustmentKey = (adjustmentId: string): string => `adjustment:${adjustmentId}`

/** Applies a fact of the wallet's own subject; a fact that repeats or comes after the end of its hold moves nothing. */
export const applyToWallet = (wallet: WalletDraft, fact: WalletMove): readonly Movement[] => {
  switch (fact.type) {
    case 'WalletCredited':
      return credit(wallet, fact.data)
    case 'CreditExpired':
      return lapse(wallet, fact.data)
    case 'PlanSubscribed':
    case 'PlanRenewed':
    case 'PlanCancelled':
    case 'PlanEnded':
      return applyPlan(wallet, fact)
    case 'AdjustmentPosted':
      return adjust(wallet, fact.data)
    case 'AdjustmentProposed':
    case 'AdjustmentApproved':
    case 'AdjustmentRejected':
      applyProposal(wallet, fact)
      return []
    case 'AlertRuleSet':
    case 'AlertRuleRemoved':
    case 'AlertRaised':
    case 'AlertDelivered':
    case 'AlertDeliveryFailed':
      applyAlert(wallet, fact, fact.time ?? '')
      return []
    case 'HoldPlaced':
      return placeHold(wallet, fact.data, fact.time ?? '')
    case 'HoldReleased':
      return endHold(wallet, fact.data.holdId)
    case 'LimitsSet':
      return setSpendLimits(wallet, fact.data)
  }
}

const drawFromHold = (wallet: Wallet, hold: Hold | undefined, amountPicos: bigint): bigint => {
  if (hold === undefined) return 0n
  const drawnPicos = minOf(hold.remainingPicos, amountPicos)
  hold.remainingPicos -= drawnPicos
  wallet.heldPicos -= drawnPicos
  return drawnPicos
}

const chargePart = (
  wallet: Wallet,
  kind: 'charge' | 'excess',
  reference: string,
  amountPicos: bigint,
  hold: Hold | undefined,
  spender: SpendingHolders | null,
): Movement => {
  wallet.chargesPicos += amountPicos
  wallet.grants = spendGrants(wallet.grants, amountPicos)
  const drawnPicos = drawFromHold(wallet, hold, amountPicos)
  count(wallet, spender, { spentPicos: amountPicos })
  count(wallet, hold?.spender ?? null, { heldPicos: -drawnPicos })
  return movement(wallet, kind, reference, -amountPicos, -drawnPicos, spender)
}

const charge = (
  wallet: Wallet,
  reference: string,
  totalPicos: bigint,
  reservedPicos: bigint,
  hold: Hold | undefined,
  spender: SpendingHolders | null,
): readonly Movement[] => {
  const coveredPicos = minOf(totalPicos, reservedPicos)
  const excessPicos = maxOf(0n, totalPicos - reservedPicos)
  const charged = [chargePart(wallet, 'charge', reference, coveredPicos, hold, spender)]
  return excessPicos === 0n
    ? charged
    : [...charged, chargePart(wallet, 'excess', reference, excessPicos, hold, spender)]
}

/** The key that asked, what it asked for and for whom, and the day on which it did. */
interface ChargedRequest {
  readonly keyId: string
  readonly labels?: Labels
  readonly day: string
}

/** Those whose money was set aside for it, the key, and what has limits of what the request is for. */
const chargedHolders = (
  wallet: Wallet,
  spender: SpendingHolders | null | undefined,
  { keyId, labels, day }: ChargedRequest,
): SpendingHolders => {
  const key = findLimitKey(wallet, keyId)
  if (!spender && wallet.limitedLabels === 0) return { holders: [key], day }
  const limited = findLimitedHolders(wallet, keyId, labels)
  return { holders: [...new Set([key, ...(spender?.holders ?? []), ...limited])], day: spender?.day ?? day }
}

/**
 * Charges a request. The balance and the allowance it spends from fall together, so `available` is unchanged; what
 * exceeds the reservation is a movement of its own. It counts for the day of its hold, or, where that has none or has
 * ended, for the day of the request.
 */
export const applyCharge = (
  wallet: Wallet,
  reference: string,
  totalPicos: bigint,
  reservedPicos: bigint,
  holdId: string | null,
  request: ChargedRequest,
): readonly Movement[] => {
  const hold = holdId === null ? undefined : wallet.holds.get(holdId)
  return charge(wallet, reference, totalPicos, reservedPicos, hold, chargedHolders(wallet, hold?.spender, request))
}

/** Charges a task and ends its hold, both or neither: what exceeds the hold is a movement of its own. */
export const applyHoldSettlement = (wallet: Wallet, holdId: string, totalPicos: bigint): readonly Movement[] => {
  const hold = wallet.holds.get(holdId)
  if (hold === undefined) return []
  const charged = totalPicos === 0n ? [] : charge(wallet, holdId, totalPicos, hold.remainingPicos, hold, hold.spender)
  return [...charged, ...endHold(wallet, holdId)]
}
