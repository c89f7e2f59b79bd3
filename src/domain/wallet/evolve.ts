import type { FactOf } from '../../events/envelope.ts'
import { utcDayOf } from '../instant.ts'
import { maxOf, minOf, parseUsd } from '../money.ts'
import { countFor, type Spender, spendLimitsOf } from './spending.ts'
import { balancePicos, type Hold, spendingOf, type Wallet, type WalletDraft } from './wallet.ts'

export const movementKinds = ['credit', 'charge', 'excess', 'adjustment', 'hold', 'release'] as const
export type MovementKind = (typeof movementKinds)[number]

/** One line of a statement: what a fact did to a wallet, and how the wallet stood after it. */
export interface Movement {
  readonly workspaceId: string
  readonly kind: MovementKind
  /** What it did to the balance; zero for a hold and a release. */
  readonly amountPicos: bigint
  /** What it did to the money held. */
  readonly heldPicos: bigint
  readonly balanceAfterPicos: bigint
  readonly heldAfterPicos: bigint
  /** The request, hold, credit reference or adjustment it stands for. */
  readonly reference: string
  /** The key that it counts for, and the day; null where it counts for none. */
  readonly spender: Spender | null
}

export type WalletFact = FactOf<'WalletCredited' | 'HoldPlaced' | 'HoldReleased' | 'AdjustmentPosted' | 'LimitsSet'>

/** With the instant at which it was said; a fact that is only tried has none yet. */
type WalletMove = WalletFact & { readonly time?: string }

const movement = (
  wallet: WalletDraft,
  kind: MovementKind,
  reference: string,
  amountPicos: bigint,
  heldPicos: bigint,
  spender: Spender | null = null,
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

const count = (
  wallet: WalletDraft,
  spender: Spender | null,
  moved: { readonly spentPicos?: bigint; readonly heldPicos?: bigint },
): void => {
  if (spender === null) return
  wallet.spendings.set(spender.keyId, countFor(spendingOf(wallet, spender.keyId), spender.day, moved))
}

const credit = (wallet: WalletDraft, { reference, amount }: FactOf<'WalletCredited'>['data']): readonly Movement[] => {
  const key = creditKey(reference)
  if (wallet.references.has(key)) return []
  const amountPicos = parseUsd(amount)
  wallet.references.set(key, amountPicos)
  wallet.creditsPicos += amountPicos
  return [movement(wallet, 'credit', reference, amountPicos, 0n)]
}

const adjust = (
  wallet: WalletDraft,
  { adjustmentId, amount, keyId, day = '' }: FactOf<'AdjustmentPosted'>['data'],
): readonly Movement[] => {
  const key = adjustmentKey(adjustmentId)
  if (wallet.references.has(key)) return []
  const amountPicos = parseUsd(amount)
  wallet.references.set(key, amountPicos)
  wallet.adjustmentsPicos += amountPicos
  const spender = keyId === undefined ? null : { keyId, day }
  count(wallet, spender, { spentPicos: -amountPicos })
  return [movement(wallet, 'adjustment', adjustmentId, amountPicos, 0n, spender)]
}

const spenderOf = ({ keyId, day, task }: FactOf<'HoldPlaced'>['data'], time: string): Spender | null => {
  const spends = keyId ?? task?.keyId
  return spends === undefined ? null : { keyId: spends, day: day ?? utcDayOf(time) }
}

const placeHold = (wallet: WalletDraft, data: FactOf<'HoldPlaced'>['data'], time: string): readonly Movement[] => {
  if (wallet.holds.has(data.holdId)) return []
  const amountPicos = parseUsd(data.amount)
  const { holdId, workspaceId, purpose, owner } = data
  const spender = spenderOf(data, time)
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

/** What a key may spend bounds its holds, and moves nothing. */
const setSpendLimits = (wallet: WalletDraft, { keyId, limits }: FactOf<'LimitsSet'>['data']): readonly Movement[] => {
  if (keyId !== undefined) wallet.spendLimits.set(keyId, spendLimitsOf(limits.spend))
  return []
}

export const creditKey = (reference: string): string => `credit:${reference}`
export const adjustmentKey = (adjustmentId: string): string => `adjustment:${adjustmentId}`

/** What the id of the adjustment that takes back an undelivered answer's charge begins with; its request's id follows. */
export const undeliveredPrefix = 'undelivered:'

/** Applies a fact of the wallet's own subject; a fact that repeats or comes after the end of its hold moves nothing. */
export const evolveWallet = (wallet: WalletDraft, fact: WalletMove): readonly Movement[] => {
  switch (fact.type) {
    case 'WalletCredited':
      return credit(wallet, fact.data)
    case 'AdjustmentPosted':
      return adjust(wallet, fact.data)
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
  spender: Spender | null,
): Movement => {
  wallet.chargesPicos += amountPicos
  const drawnPicos = drawFromHold(wallet, hold, amountPicos)
  count(wallet, spender, { spentPicos: amountPicos, heldPicos: hold?.spender ? -drawnPicos : 0n })
  return movement(wallet, kind, reference, -amountPicos, -drawnPicos, spender)
}

const charge = (
  wallet: Wallet,
  reference: string,
  totalPicos: bigint,
  reservedPicos: bigint,
  hold: Hold | undefined,
  spender: Spender | null,
): readonly Movement[] => {
  const coveredPicos = minOf(totalPicos, reservedPicos)
  const excessPicos = maxOf(0n, totalPicos - reservedPicos)
  const charged = [chargePart(wallet, 'charge', reference, coveredPicos, hold, spender)]
  return excessPicos === 0n
    ? charged
    : [...charged, chargePart(wallet, 'excess', reference, excessPicos, hold, spender)]
}

/**
 * Charges a request. The balance and the allowance it spends from fall together, so `available` stays as it was;
 * what goes beyond the reservation is a movement of its own. It counts for the key and the day of its hold, or, where that has none or has
 * ended, for the key that asked and the day on which it did.
 */
export const chargeWallet = (
  wallet: Wallet,
  reference: string,
  totalPicos: bigint,
  reservedPicos: bigint,
  holdId: string | null,
  asker: Spender,
): readonly Movement[] => {
  const hold = holdId === null ? undefined : wallet.holds.get(holdId)
  return charge(wallet, reference, totalPicos, reservedPicos, hold, hold?.spender ?? asker)
}

/** Charges a task and ends its hold, both or neither: what the hold does not cover is a movement of its own, what is left of it goes back. */
export const settleHold = (wallet: Wallet, holdId: string, totalPicos: bigint): readonly Movement[] => {
  const hold = wallet.holds.get(holdId)
  if (hold === undefined) return []
  const charged = totalPicos === 0n ? [] : charge(wallet, holdId, totalPicos, hold.remainingPicos, hold, hold.spender)
  return [...charged, ...endHold(wallet, holdId)]
}
