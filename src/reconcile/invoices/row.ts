import { unitsPicosRoundingHalfUp } from '../../domain/video/settle.ts'

export interface RowPlace {
  /** Index of the file among those given, from 0. */
  readonly file: number
  /** The line of a CSV file, or the running number of a result in a JSON file, from 1. */
  readonly row: number
}

export interface RowSubject {
  readonly kind: SubjectKind
  readonly id: string
  /** True: the id is the provider's own of a request. */
  readonly isUpstreamId?: boolean
}

export type SubjectKind = 'request' | 'task'

export interface InvoiceRow extends RowPlace {
  /** Null: of a period. */
  readonly subject: RowSubject | null
  readonly day: string | null
  readonly model: string | null
  /** Null: the amount is for the whole row. */
  readonly item: string | null
  /** Tokens and calls as counts, units of video in 1e-12. Null if the row has no quantity. */
  readonly quantities: readonly (readonly [item: string, quantity: bigint])[] | null
  readonly amountPicos: bigint | null
  /** The largest error of the amount, by its written precision. */
  readonly roundingPicos: bigint
}

export interface RowFault extends RowPlace {
  readonly problem: string
}

export type RowOrFault = InvoiceRow | RowFault

export const isRowFault = (row: RowOrFault): row is RowFault => 'problem' in row

/** For every model, or every item, if an invoice does not distinguish them. */
export const wildcard = '*'

/** The item of a video task's charge: the only one whose quantities are decimals. */
export const videoItem = 'video'

/** Units of video are compared in 1e-12. */
export const unitParts = 10n ** 12n

/** Throws RangeError for an invalid number of units. */
export const toUnitParts = (units: string): bigint => unitsPicosRoundingHalfUp(units, '1')
