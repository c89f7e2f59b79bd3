import { maxOf, minOf, withoutSign } from '../domain/money.ts'
import { type ChargeCorrections, foldCorrections } from '../domain/wallet/charge-corrections.ts'
import type { Correction } from './correction.ts'
import {
  type BucketState,
  type Cell,
  type ComparedQuantity,
  type Decomposition,
  decompose,
  noPrice,
  type UnitPrice,
} from './decompose.ts'
import type { ReconcileFinding } from './finding.ts'
import type { InvoiceLayout } from './invoices/format.ts'
import { unitParts, videoItem } from './invoices/row.ts'
import type { ModelNames } from './models.ts'
import type { InvoicedSubject, LedgerSubject, SubjectPair } from './repository.ts'

interface SubjectRules {
  readonly layout: InvoiceLayout
  readonly names: ModelNames
  /** For a unit of a task that the ledger does not have; null if none is known. */
  readonly unitPrice: UnitPrice | null
  readonly noteOf: (invoiced: InvoicedSubject, ledger: LedgerSubject) => string
}

interface ComparedSubject {
  readonly invoicedPicos: bigint
  readonly ledgerPicos: bigint
  readonly findings: readonly ReconcileFinding[]
  readonly correction: Correction | null
}

interface Sum {
  quantity: bigint
  amountPicos: bigint
}

const noSum: Sum = { quantity: 0n, amountPicos: 0n }

const chargedOf = ({ ledger }: SubjectPair): LedgerSubject | null => (ledger?.state === 'charged' ? ledger : null)

const chargedByGroup = (pair: SubjectPair, { groupOf }: InvoiceLayout): ReadonlyMap<string, Sum> => {
  const sums = new Map<string, Sum>()
  for (const { item, quantity, amountPicos } of chargedOf(pair)?.lines ?? []) {
    const group = groupOf(item)
    const { quantity: counted, amountPicos: sum } = sums.get(group) ?? noSum
    sums.set(group, { quantity: counted + quantity, amountPicos: sum + amountPicos })
  }
  return sums
}

const classifySubject = ({ invoiced, ledger }: SubjectPair, names: ModelNames): BucketState => {
  if (invoiced === null) return 'missing_there'
  if (ledger?.state === 'charged') return 'both'
  if (ledger?.state === 'open') return 'unfinished_request'
  const isKnown = ledger !== null || invoiced.model === null || names.isKnown(names.canonical(invoiced.model))
  return isKnown ? 'missing_here' : 'unknown_model'
}

const priceOf = (item: string, charged: Sum, { invoiced, ledger }: SubjectPair, rules: SubjectRules): UnitPrice => {
  const unitPicos = ledger?.unitPricePicos ?? null
  if (item === videoItem && unitPicos !== null) return { picos: unitPicos, per: unitParts }
  if (charged.quantity > 0n) return { picos: charged.amountPicos, per: charged.quantity }
  const model =
    ledger?.model != null ? rules.names.canonicalOfPublic(ledger.model) : rules.names.canonical(invoiced?.model ?? '')
  const day = ledger?.day ?? invoiced?.day ?? null
  return (
    (day === null ? null : rules.names.findPrice(model, item, day)) ??
    (item === videoItem ? rules.unitPrice : null) ??
    noPrice
  )
}

const noCharge = { chargeId: '', totalPicos: 0n }

const correctionsIn = (pair: SubjectPair): ChargeCorrections => {
  const charged = chargedOf(pair)
  if (charged === null) return foldCorrections(noCharge, [])
  return foldCorrections({ chargeId: charged.id, totalPicos: charged.totalPicos }, charged.adjustments)
}

const isEstimate = (pair: SubjectPair): boolean => pair.ledger?.estimated === true && !correctionsIn(pair).isNamed

/** An estimate explains as much again as was charged, or all of it; what differs by more was not estimated wrongly. */
const estimatedOf = (pair: SubjectPair, charged: bigint): bigint => (isEstimate(pair) ? charged : 0n)

/** Beyond the bound of an estimate, it is not known whether it is tokens or a price that differ. */
const classOf = (name: ReconcileFinding['class'], pair: SubjectPair, { measure }: Cell): ReconcileFinding['class'] => {
  const isBeyond = name === 'token_drift' || (name === 'price_drift' && measure === 'amounts')
  return isBeyond && isEstimate(pair) ? 'unexplained' : name
}

const partsOf = (pair: SubjectPair, rules: SubjectRules): readonly ComparedQuantity[] => {
  const charged = chargedByGroup(pair, rules.layout)
  const quantities = pair.invoiced?.quantities ?? new Map<string, bigint>()
  return [...new Set([...quantities.keys(), ...charged.keys()])].map((item) => {
    const sum = charged.get(item) ?? noSum
    return {
      item,
      invoiced: quantities.get(item) ?? 0n,
      charged: sum.quantity,
      estimated: estimatedOf(pair, sum.quantity),
      shifted: 0n,
      price: priceOf(item, sum, pair, rules),
    }
  })
}

const amountPart = (pair: SubjectPair, chargedPicos: bigint): ComparedQuantity => ({
  item: 'amount',
  invoiced: pair.invoiced?.amountPicos ?? 0n,
  charged: chargedPicos,
  estimated: estimatedOf(pair, chargedPicos),
  shifted: 0n,
  price: { picos: 1n, per: 1n },
})

const cellOf = (pair: SubjectPair, rules: SubjectRules): Cell => {
  const { invoiced } = pair
  const chargedPicos = chargedOf(pair)?.totalPicos ?? 0n
  const measure = rules.layout.hasQuantities && invoiced !== null ? 'quantities' : 'amounts'
  return {
    measure,
    parts: measure === 'quantities' ? partsOf(pair, rules) : [amountPart(pair, chargedPicos)],
    invoicedPicos: invoiced === null ? 0n : invoiced.amountPicos,
    chargedPicos,
    roundingPicos: invoiced?.roundingPicos ?? 0n,
  }
}

const findingOf =
  (
    { invoiced, ledger }: SubjectPair,
    { invoicedPicos, ledgerPicos }: Pick<Decomposition<Cell>, 'invoicedPicos' | 'ledgerPicos'>,
    cell: Cell,
  ) =>
  (name: ReconcileFinding['class'], amountPicos: bigint): ReconcileFinding => ({
    class: name,
    amountPicos,
    day: invoiced?.day ?? ledger?.day ?? null,
    model: invoiced?.model ?? ledger?.model ?? null,
    item: null,
    id: invoiced?.isUpstreamId === true ? null : (invoiced?.id ?? ledger?.id ?? null),
    upstreamRequestId: invoiced?.isUpstreamId === true ? invoiced.id : null,
    workspaceId: ledger?.workspaceId ?? null,
    invoicedPicos,
    ledgerPicos,
    quantities: cell.measure === 'quantities' ? cell.parts.filter((part) => part.invoiced !== part.charged) : [],
    rows: invoiced === null ? null : { file: invoiced.file, row: invoiced.row, rows: invoiced.rows },
  })

const correctable: ReadonlySet<ReconcileFinding['class']> = new Set(['estimated', 'token_drift', 'price_drift'])

/** A charge that was given back whole is the gateway's loss; no more is given back than is left of any other. */
const correctionOf = (
  pair: SubjectPair,
  { correctedPicos, givenPicos, isGivenBack }: ChargeCorrections,
  findings: readonly ReconcileFinding[],
  { noteOf }: SubjectRules,
): Correction | null => {
  const { invoiced } = pair
  const ledger = chargedOf(pair)
  if (invoiced === null || ledger === null || isGivenBack) return null
  if (findings.some((finding) => finding.class === 'unexplained')) return null
  const corrected = findings.filter((finding) => correctable.has(finding.class))
  const differencePicos = corrected.reduce((sum, { amountPicos }) => sum + amountPicos, 0n)
  const leftPicos = ledger.totalPicos + correctedPicos - maxOf(0n, givenPicos)
  const debitPicos = maxOf(minOf(0n, -leftPicos), differencePicos)
  if (debitPicos === 0n) return null
  const { id: corrects, workspaceId, adjustments } = ledger
  const correctionsBefore = adjustments.filter(
    (each) => each.corrects === corrects && each.reason === 'reconciliation',
  ).length
  return {
    corrects,
    workspaceId,
    correctionsBefore,
    debitPicos,
    differences: corrected.length,
    unsignedPicos: corrected.reduce((sum, { amountPicos }) => sum + withoutSign(amountPicos), 0n),
    note: noteOf(invoiced, ledger),
    ledger,
  }
}

/** What is charged in another period, or may be invoiced in another, is of the class `timing`. */
const compareOutsidePeriod = (pair: SubjectPair, ledgerPicos: bigint, cell: Cell): ComparedSubject => {
  const figures = { invoicedPicos: 0n, ledgerPicos }
  const findings = ledgerPicos === 0n ? [] : [findingOf(pair, figures, cell)('timing', -ledgerPicos)]
  return { ...figures, findings, correction: null }
}

/** A charge outside the period is not in the ledger's total: an equal part of the invoice is of the class `timing`. */
export const compareSubject = (pair: SubjectPair, rules: SubjectRules): ComparedSubject => {
  const charged = chargedOf(pair)
  const cell = cellOf(pair, rules)
  const corrections = correctionsIn(pair)
  const { correctedPicos } = corrections
  if (pair.invoiced === null && charged?.atEdge === true)
    return compareOutsidePeriod(pair, cell.chargedPicos + correctedPicos, cell)
  const { invoicedPicos, ledgerPicos, pieces } = decompose({
    state: classifySubject(pair, rules.names),
    cells: [cell],
    correctedPicos,
    unfinishedPicos: 0n,
  })
  const isApart = charged?.inPeriod === false
  const find = findingOf(pair, { invoicedPicos, ledgerPicos }, cell)
  const findings = pieces.map((piece) => find(classOf(piece.class, pair, cell), piece.amountPicos))
  const correction = correctionOf(pair, corrections, findings, rules)
  return isApart && ledgerPicos !== 0n
    ? { invoicedPicos, ledgerPicos: 0n, findings: [...findings, find('timing', ledgerPicos)], correction }
    : { invoicedPicos, ledgerPicos, findings, correction }
}
