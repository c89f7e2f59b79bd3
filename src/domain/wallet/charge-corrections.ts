import type { AdjustmentPosted } from '../../events/types.ts'
import { adjustmentKey, correctedPicos, findReversal } from './evolve.ts'
import type { WalletDraft } from './wallet.ts'

export interface ChargeAdjustment extends Pick<AdjustmentPosted, 'adjustmentId' | 'corrects' | 'reason'> {
  /** Above zero gives back, below zero takes. */
  readonly amountPicos: bigint
}

export interface ChargeCorrections {
  /** What corrections of the figure have taken beyond the charge, less what they gave back; with reversals of them. */
  readonly correctedPicos: bigint
  /** What all others have given back, such as refunds and goodwill, less what they took: it leaves the figure as it is. */
  readonly givenPicos: bigint
  /** Nothing of the charge was left when it was last given back. */
  readonly isGivenBack: boolean
  /** By an operator, also as what it was; not where that is reversed. The figure is no estimate. */
  readonly isNamed: boolean
  /** The last reconciliation that is not reversed. */
  readonly reconciledBy: string | null
}

const figureReasons: ReadonlySet<AdjustmentPosted['reason']> = new Set(['reconciliation', 'correction'])

/** `adjustments`: in the order of the log, each of them applied. A reversal is of the kind that it reverses. */
export const foldCorrections = (
  { chargeId, totalPicos }: { readonly chargeId: string; readonly totalPicos: bigint },
  adjustments: readonly ChargeAdjustment[],
): ChargeCorrections => {
  const roots = new Map<string, ChargeAdjustment>()
  const sums = new Map<ChargeAdjustment, bigint>()
  let [figurePicos, givenPicos, isGivenBack] = [0n, 0n, false]
  for (const each of adjustments) {
    const { adjustmentId, corrects = '', amountPicos } = each
    const root = corrects === chargeId ? each : roots.get(corrects)
    if (root === undefined) continue
    roots.set(adjustmentId, root)
    sums.set(root, (sums.get(root) ?? 0n) + amountPicos)
    if (figureReasons.has(root.reason)) {
      figurePicos -= amountPicos
      continue
    }
    givenPicos += amountPicos
    const isUndelivered = root.reason === 'undelivered' && amountPicos > 0n
    isGivenBack = isUndelivered || (givenPicos > 0n && givenPicos >= totalPicos + figurePicos)
  }
  const inForce = [...sums].flatMap(([root, picos]) => (picos === 0n ? [] : root))
  return {
    correctedPicos: figurePicos,
    givenPicos,
    isGivenBack,
    isNamed: [...sums].some(
      ([root, picos]) => root.reason === 'correction' && (picos !== 0n || root.amountPicos === 0n),
    ),
    reconciledBy: inForce.findLast(({ reason }) => reason === 'reconciliation')?.adjustmentId ?? null,
  }
}

const sumOf = (adjustments: readonly ChargeAdjustment[], id: string): bigint =>
  adjustments.reduce((sum, { corrects, amountPicos }) => (corrects === id ? sum + amountPicos : sum), 0n)

export const areAllCorrections = (
  adjustments: readonly ChargeAdjustment[],
  chargeId: string,
  wallet: Pick<WalletDraft, 'references'>,
): boolean =>
  sumOf(adjustments, chargeId) === correctedPicos(wallet, chargeId) &&
  adjustments.every(({ adjustmentId, amountPicos }) => {
    const reversedPicos = findReversal(wallet, adjustmentId)?.reversedPicos
    return (
      wallet.references.get(adjustmentKey(adjustmentId)) === amountPicos &&
      reversedPicos === sumOf(adjustments, adjustmentId)
    )
  })
