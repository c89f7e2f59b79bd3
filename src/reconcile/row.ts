import { unitsPicosRoundingHalfUp } from '../domain/video/settle.ts'

/** Where a row stands in what was given. */
export interface RowPlace {
  /** The place of its file among those given, from 0. */
  readonly file: number
  /** The line of a CSV file, or the running number of a result in a JSON file, from 1. */
  readonly row: number
}

/** The request or task that a row is about, by the id that the gateway gave it. */
export interface RowSubject {
  readonly kind: SubjectKind
  readonly id: string
}

export type SubjectKind = 'request' | 'task'

/** What a provider says of one period and model, or of one request. */
export interface InvoiceRow extends RowPlace {
  /** Null: of a period. */
  readonly subject: RowSubject | null
  /** YYYY-MM-DD in the invoice's zone; null where a row of a request or task tells none. */
  readonly day: string | null
  /** As the invoice names it; null where it tells none. */
  readonly model: string | null
  /** What the amount is for; null where it is for all that the row tells. */
  readonly item: string | null
  /** By item of a charge or group of items; tokens and calls as they are, units of video in 1e-12. Null: the row tells no quantity. */
  readonly quantities: readonly (readonly [item: string, quantity: bigint])[] | null
  /** Null where the format tells none. */
  readonly amountPicos: bigint | null
  /** How far the amount may be from the exact one, by the way it is written. */
  readonly roundingPicos: bigint
}

/** A row that cannot be read, and why. */
export interface RowFault extends RowPlace {
  readonly problem: string
}

export type RowOrFault = InvoiceRow | RowFault

export const isRowFault = (row: RowOrFault): row is RowFault => 'problem' in row

/** Stands for every model, or every item, where an invoice does not tell them apart. */
export const wildcard = '*'

/** Of tokens, calls and units: the item of a video task's charge, whose quantities are decimals. */
export const videoItem = 'video'

/** Units of video are compared in 1e-12: so many are one. */
export const unitParts = 10n ** 12n

/** A number of units in these parts; rounded half up. Throws RangeError for what is no number of units. */
export const toUnitParts = (units: string): bigint => unitsPicosRoundingHalfUp(units, '1')
