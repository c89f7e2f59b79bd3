import { formatUsd, maxOf, picosPerUsd } from '../domain/money.ts'
import type { FactOf } from '../events/envelope.ts'

const wholeDigitsMax = 15
const tooManyPicos = 10n ** BigInt(wholeDigitsMax) * picosPerUsd

/** False for an amount too large for an event. */
export const isUsd = (picos: bigint): boolean => maxOf(picos, -picos) < tooManyPicos

/** What the ledger should have charged beyond its charge, for one request or task. */
export interface Correction {
  readonly corrects: string
  readonly workspaceId: string
  readonly before: number
  /** Above zero debits the workspace, below zero credits it. */
  readonly takesPicos: bigint
  readonly differences: number
  readonly note: string
}

export const reconciliationPrefix = 'reconciliation:'

/**
 * The id of the next reconciliation of a request, by its number. Two runs that correct the same request post the same
 * id, of which the ledger takes one, whatever they found.
 */
export const reconciliationId = (corrects: string, before: number): string =>
  `${reconciliationPrefix}${corrects}:${before + 1}`

const idPattern = /^[A-Za-z0-9_:-]{1,64}$/

/** False for an id or an amount that does not fit the log: no charge of the gateway has such. */
export const isPostable = ({ corrects, before, takesPicos }: Correction): boolean =>
  idPattern.test(reconciliationId(corrects, before)) && isUsd(takesPicos)

export const toAdjustment = (correction: Correction): FactOf<'AdjustmentPosted'> => ({
  type: 'AdjustmentPosted',
  data: {
    adjustmentId: reconciliationId(correction.corrects, correction.before),
    workspaceId: correction.workspaceId,
    amount: formatUsd(-correction.takesPicos),
    reason: 'reconciliation',
    corrects: correction.corrects,
    note: correction.note,
  },
})
