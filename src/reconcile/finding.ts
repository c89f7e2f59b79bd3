import type { DifferenceClass } from './decompose.ts'

export interface RowSpan {
  readonly file: number
  readonly row: number
  readonly rows: number
}

export interface ReconcileFinding {
  readonly class: DifferenceClass
  readonly amountPicos: bigint
  readonly day: string | null
  /** The provider's name for it; null if the invoice has none. */
  readonly model: string | null
  readonly item: string | null
  readonly id: string | null
  /** Where the invoice names a request by it that the ledger does not have; null for any other. */
  readonly upstreamRequestId: string | null
  readonly workspaceId: string | null
  readonly invoicedPicos: bigint
  /** What is charged; for one request or task including earlier reconciliations. */
  readonly ledgerPicos: bigint
  /** Those that differ; empty unless both sides have quantities. */
  readonly quantities: readonly { readonly item: string; readonly invoiced: bigint; readonly charged: bigint }[]
  readonly rows: RowSpan | null
}

/** Differences that need no action: they disappear over time, or come from how an amount is written. */
export const harmlessClasses: ReadonlySet<DifferenceClass> = new Set(['timing', 'rounding'])

interface ClassTotal {
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

/** Throws if the classes do not add up to the whole difference: the result would be unreliable. */
export const assertTotalsBalance = ({ invoicedPicos, ledgerPicos, classes }: DifferenceTotals): void => {
  let sum = 0n
  for (const { amountPicos } of classes.values()) sum += amountPicos
  if (sum !== invoicedPicos - ledgerPicos)
    throw new Error(`the classes add up to ${sum} picos, the difference is ${invoicedPicos - ledgerPicos}`)
}
