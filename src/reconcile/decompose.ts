import { maxOf, minOf, withoutSign } from '../domain/money.ts'
import { productRoundingHalfUp } from './invoices/decimal.ts'

/** Every difference is of one class, and all of them add up to the whole difference. */
export const differenceClasses = [
  'missing_here',
  'missing_there',
  'unfinished_request',
  'unknown_model',
  'estimated',
  'token_drift',
  'price_drift',
  'unexplained',
  'timing',
  'rounding',
] as const

export type DifferenceClass = (typeof differenceClasses)[number]

/** `picos` for `per` of them; `per` is above zero. */
export interface UnitPrice {
  readonly picos: bigint
  readonly per: bigint
}

export const noPrice: UnitPrice = { picos: 0n, per: 1n }

/** One kind of quantity, or the amount itself if there are no quantities: then a unit is a pico-dollar. */
export interface ComparedQuantity {
  readonly item: string
  readonly invoiced: bigint
  readonly charged: bigint
  /** How much of `charged` is estimated, and may be off either way. Null: no bound is known. */
  readonly estimated: bigint | null
  /** The part of `invoiced` less `charged` that is on the other side of a midnight. */
  readonly shifted: bigint
  /** Our price: what was charged for one, or would have been. */
  readonly price: UnitPrice
}

export interface Cell {
  readonly measure: 'quantities' | 'amounts'
  readonly parts: readonly ComparedQuantity[]
  /** Null if the invoice has quantities alone: they are valued at our prices. */
  readonly invoicedPicos: bigint | null
  readonly chargedPicos: bigint
  readonly roundingPicos: bigint
}

/** Which side has the subject; any class other than `both` is that of all that nothing else explains. */
export type BucketState = 'both' | 'missing_here' | 'missing_there' | 'unknown_model' | 'unfinished_request'

/** What is explained together: a day and model, or one request. */
export interface Bucket<C extends Cell> {
  readonly state: BucketState
  readonly cells: readonly C[]
  /** What earlier corrections have taken beyond the charges, less what they gave back. */
  readonly correctedPicos: bigint
  /** The most that requests without an end can have cost. */
  readonly unfinishedPicos: bigint
}

export interface ExplainedAmount<C extends Cell> {
  readonly class: DifferenceClass
  readonly amountPicos: bigint
  readonly cell: C
}

export interface Decomposition<C extends Cell> {
  readonly invoicedPicos: bigint
  readonly ledgerPicos: bigint
  /** Their sum is `invoicedPicos` less `ledgerPicos`. */
  readonly pieces: readonly ExplainedAmount<C>[]
}

interface CellDraft<C extends Cell> {
  readonly cell: C
  readonly invoicedPicos: bigint
  readonly timing: bigint
  unfinished: bigint
  estimated: bigint
  drift: bigint
  remainder: bigint
  readonly unvalued: boolean
}

const worthOf = ({ price }: ComparedQuantity, quantity: bigint): bigint =>
  productRoundingHalfUp(quantity, price.picos, price.per)

const clamp = (value: bigint, bound: bigint | null): bigint =>
  bound === null ? value : maxOf(-bound, minOf(bound, value))

interface PartDraft {
  readonly timing: bigint
  readonly estimated: bigint
  readonly drift: bigint
  readonly unvalued: boolean
}

const decomposePart = (part: ComparedQuantity, state: BucketState): PartDraft => {
  const beyondTiming = part.invoiced - part.charged - part.shifted
  // What is not invoiced at all is missing, even if it was estimated.
  const estimated = state === 'missing_there' ? 0n : clamp(beyondTiming, part.estimated)
  const rest = beyondTiming - estimated
  const drift = worthOf(part, rest)
  return {
    timing: worthOf(part, part.shifted),
    estimated: worthOf(part, estimated),
    drift,
    unvalued: rest > 0n && drift === 0n,
  }
}

const sumOf = <T>(list: readonly T[], figure: (each: T) => bigint): bigint =>
  list.reduce((sum, each) => sum + figure(each), 0n)

const draftOf = <C extends Cell>(cell: C, state: BucketState): CellDraft<C> => {
  const parts = cell.parts.map((part) => decomposePart(part, state))
  const timing = sumOf(parts, (part) => part.timing)
  const estimated = sumOf(parts, (part) => part.estimated)
  const drift = sumOf(parts, (part) => part.drift)
  const invoicedPicos = cell.invoicedPicos ?? cell.chargedPicos + timing + estimated + drift
  const remainder = invoicedPicos - cell.chargedPicos - timing - estimated - drift
  return {
    cell,
    invoicedPicos,
    timing,
    unfinished: 0n,
    estimated,
    // Without quantities, none is known to differ.
    ...(cell.measure === 'quantities' ? { drift, remainder } : { drift: 0n, remainder: remainder + drift }),
    unvalued: parts.some((part) => part.unvalued),
  }
}

/** What is invoiced beyond the charges may be of requests that have no end here, up to what those can have cost. */
const explainUnfinished = (drafts: readonly CellDraft<Cell>[], unfinishedPicos: bigint): void => {
  let left = unfinishedPicos
  for (const draft of drafts)
    for (const figure of ['drift', 'remainder'] as const) {
      const taken = minOf(left, maxOf(0n, draft[figure]))
      draft[figure] -= taken
      draft.unfinished += taken
      left -= taken
    }
}

/** What a reconciliation corrects, in the order in which an earlier one is taken to have corrected it. */
const correctable = ['estimated', 'drift', 'remainder'] as const

const hasSameSign = (one: bigint, other: bigint): boolean => (one > 0n && other > 0n) || (one < 0n && other < 0n)
const towardsZero = (value: bigint, by: bigint): bigint => (value < 0n ? value + by : value - by)

const classOfRemainder = ({ remainder, cell }: CellDraft<Cell>): DifferenceClass =>
  // A price that is an average of several is exact to half a pico for each part.
  withoutSign(remainder) <= cell.roundingPicos + BigInt(cell.parts.length) ? 'rounding' : 'price_drift'

interface Figure {
  readonly draft: CellDraft<Cell>
  readonly name: (typeof correctable)[number]
}

/** Rounding is not corrected, so nothing that was posted explains it. */
const figuresOf = (draft: CellDraft<Cell>): readonly Figure[] =>
  correctable
    .filter((name) => name !== 'remainder' || classOfRemainder(draft) !== 'rounding')
    .map((name) => ({ draft, name }))

/** Reduces the figures of the same sign by `by`; returns the rest of it. */
const reduceFigures = (figures: readonly Figure[], by: bigint): bigint => {
  let left = by
  for (const { draft, name } of figures) {
    if (!hasSameSign(draft[name], left)) continue
    const taken = minOf(withoutSign(draft[name]), withoutSign(left))
    draft[name] = towardsZero(draft[name], taken)
    left = towardsZero(left, taken)
  }
  return left
}

/** Earlier corrections were one sum each: the rest is netted, so that two such differences do not reappear. */
const applyCorrections = (drafts: readonly CellDraft<Cell>[], correctedPicos: bigint): void => {
  const [first] = drafts
  if (correctedPicos === 0n || first === undefined) return
  const figures = drafts.flatMap(figuresOf)
  const unexplained = reduceFigures(figures, correctedPicos)
  first.remainder -= unexplained
  for (const { draft, name } of figures) {
    const state = draft[name]
    draft[name] = 0n
    draft[name] = -reduceFigures(figures, -state)
  }
}

const piecesOf = <C extends Cell>(draft: CellDraft<C>, state: BucketState): readonly ExplainedAmount<C>[] => {
  const { cell, timing, unfinished, estimated, drift, remainder, unvalued } = draft
  const figures: (readonly [DifferenceClass, bigint])[] = [
    ['timing', timing],
    ['estimated', estimated],
    ['unfinished_request', unfinished],
    ...(state === 'both'
      ? ([
          ['token_drift', drift],
          [classOfRemainder(draft), remainder],
        ] as const)
      : ([[state, drift + remainder]] as const)),
  ]
  const unvaluedClass = state === 'both' ? 'token_drift' : state
  return figures
    .filter(([name, amountPicos]) => amountPicos !== 0n || (unvalued && name === unvaluedClass))
    .map(([name, amountPicos]) => ({ class: name, amountPicos, cell }))
}

/**
 * Decomposes the difference of a bucket in this order, each step explaining what the earlier ones left: the other side
 * of a midnight; estimated charges, as far as they can be off; requests without an end, up to what they can have cost;
 * quantities, at our price; what earlier reconciliations posted; and the price, or rounding if it is below the
 * precision of the invoice's amounts. What only one side has is missing, whatever its quantities.
 */
export const decompose = <C extends Cell>(bucket: Bucket<C>): Decomposition<C> => {
  const drafts = bucket.cells.map((cell) => draftOf(cell, bucket.state))
  explainUnfinished(drafts, bucket.unfinishedPicos)
  applyCorrections(drafts, bucket.correctedPicos)
  return {
    invoicedPicos: sumOf(drafts, ({ invoicedPicos }) => invoicedPicos),
    ledgerPicos: sumOf(bucket.cells, ({ chargedPicos }) => chargedPicos) + bucket.correctedPicos,
    pieces: drafts.flatMap((draft) => piecesOf(draft, bucket.state)),
  }
}
