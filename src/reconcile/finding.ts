import type { DifferenceClass } from './decompose.ts'

/** Where rows stand in the invoice. */
export interface RowSpan {
  readonly file: number
  /** The first. */
  readonly row: number
  readonly rows: number
}

/** One difference, of one class. */
export interface ReconcileFinding {
  readonly class: DifferenceClass
  /** Invoiced less charged. */
  readonly amountPicos: bigint
  /** YYYY-MM-DD; null for a row that tells none. */
  readonly day: string | null
  /** As the provider calls it; null where the invoice tells none. */
  readonly model: string | null
  /** Null: all items together. */
  readonly item: string | null
  /** The request or task; null for a difference of a day. */
  readonly id: string | null
  readonly workspaceId: string | null
  readonly invoicedPicos: bigint
  /** What is charged; of one request or task also what was reconciled before. */
  readonly ledgerPicos: bigint
  /** Where both sides tell quantities: those that differ. */
  readonly quantities: readonly { readonly item: string; readonly invoiced: bigint; readonly charged: bigint }[]
  /** Null where the invoice has none. */
  readonly rows: RowSpan | null
}

/** Nothing is wrong where all differences are of these: they go away over time, or lie in how an amount is written. */
export const harmlessClasses: ReadonlySet<DifferenceClass> = new Set(['timing', 'rounding'])

export interface ClassTotal {
  count: number
  amountPicos: bigint
}

export interface DifferenceTotals {
  invoicedPicos: bigint
  ledgerPicos: bigint
  readonly classes: Map<DifferenceClass, ClassTotal>
}

export const noTotals = (): DifferenceTotals => ({ invoicedPicos: 0n, ledgerPicos: 0n, classes: new Map() })

export const countFinding = ({ classes }: DifferenceTotals, { class: name, amountPicos }: ReconcileFinding): void => {
  const total = classes.get(name) ?? { count: 0, amountPicos: 0n }
  total.count += 1
  total.amountPicos += amountPicos
  classes.set(name, total)
}

/** Throws where the classes do not add up to the whole difference: whoever reads them could not rely on them. */
export const assertTotalsBalance = ({ invoicedPicos, ledgerPicos, classes }: DifferenceTotals): void => {
  let sum = 0n
  for (const { amountPicos } of classes.values()) sum += amountPicos
  if (sum !== invoicedPicos - ledgerPicos)
    throw new Error(`the classes add up to ${sum} picos, the difference is ${invoicedPicos - ledgerPicos}`)
}
