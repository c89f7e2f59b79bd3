import { formatUsd, maxOf, picosPerUsd } from '../domain/money.ts'
import type { FactOf } from '../events/envelope.ts'

const wholeDigitsMax = 15
const tooManyPicos = 10n ** BigInt(wholeDigitsMax) * picosPerUsd

/** False for an amount that no event has room for. */
export const isUsd = (picos: bigint): boolean => maxOf(picos, -picos) < tooManyPicos

/** What the ledger should have charged beyond what it has, for one request or task. */
export interface Correction {
  /** The request or task. */
  readonly corrects: string
  readonly workspaceId: string
  /** Reconciliations that were posted for it before. */
  readonly before: number
  /** Above zero takes from the workspace, below gives back. */
  readonly takesPicos: bigint
  /** How many of the differences found it does away with. */
  readonly differences: number
  readonly note: string
}

/** What the id of every reconciliation's adjustment begins with. */
export const reconciliationPrefix = 'reconciliation:'

/**
 * The id of the next reconciliation of a request: its place among them. Two runs that find the same request in need of correction
 * post the same id, of which the ledger takes one, whatever they found.
 */
export const reconciliationId = (corrects: string, before: number): string =>
  `${reconciliationPrefix}${corrects}:${before + 1}`

const idPattern = /^[A-Za-z0-9_:-]{1,64}$/

/** False for an id or an amount that the log has no room for: no charge of the gateway's own is such. */
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
