import { formatUsd, isUsd } from '../domain/money.ts'
import type { FactOf } from '../events/envelope.ts'
import type { LedgerSubject } from './repository.ts'

/** What the ledger should have charged beyond its charge, for one request or task. */
export interface Correction {
  readonly corrects: string
  readonly workspaceId: string
  readonly correctionsBefore: number
  /** Above zero debits the workspace, below zero credits it. */
  readonly debitPicos: bigint
  readonly differences: number
  /** Of these differences, each without its sign. */
  readonly unsignedPicos: bigint
  readonly note: string
  /** As the tables have it: what the correction was computed from. */
  readonly ledger: LedgerSubject
}

/** Two runs that correct the same request post the same id, of which the ledger takes one, whatever they found. */
export const reconciliationId = (corrects: string, correctionsBefore: number): string =>
  `reconciliation:${corrects}:${correctionsBefore + 1}`

const idPattern = /^[A-Za-z0-9_:-]{1,64}$/

/** False for an id or an amount that does not fit the log: no charge of the gateway has such. */
export const isPostable = ({ corrects, correctionsBefore, debitPicos }: Correction): boolean =>
  idPattern.test(reconciliationId(corrects, correctionsBefore)) && isUsd(debitPicos)

/** `reference` names the invoice; without `posting` it is only shown. */
export const toAdjustment = (
  correction: Correction,
  posting?: { readonly by: string; readonly reference: string },
): FactOf<'AdjustmentPosted'> => ({
  type: 'AdjustmentPosted',
  ...(posting === undefined ? {} : { actor: posting.by }),
  data: {
    adjustmentId: reconciliationId(correction.corrects, correction.correctionsBefore),
    workspaceId: correction.workspaceId,
    amount: formatUsd(-correction.debitPicos),
    reason: 'reconciliation',
    corrects: correction.corrects,
    note: correction.note,
    ...posting,
  },
})
