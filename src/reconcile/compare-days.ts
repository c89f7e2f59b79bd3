import { type DayCell, type DayCells, type DaySeries, type Sums, sumAmounts } from './day-cells.ts'
import {
  type BucketState,
  type Cell,
  type ComparedQuantity,
  decompose,
  type ExplainedAmount,
  noPrice,
  type UnitPrice,
} from './decompose.ts'
import type { ReconcileFinding } from './finding.ts'
import { dayAfter } from './invoices/days.ts'
import type { InvoiceLayout } from './invoices/format.ts'
import { wildcard } from './invoices/row.ts'
import type { ModelNames } from './models.ts'
import type { DayCorrection, InvoicePeriod, ReconcileRepository, UnendedRequest } from './repository.ts'
import { computeTimingShifts } from './timing.ts'

interface SourcedCell extends Cell {
  readonly source: DayCell
}

const nothing = { quantity: 0n, amountPicos: 0n }
const wholeAmount = 'amount'

/** What is compared of a cell: a quantity by group, or the amount if there are no quantities. */
interface Measure {
  readonly name: Cell['measure']
  readonly groups: readonly string[]
  invoiced(cell: DayCell, group: string): bigint
  sumIn(sums: Sums | null, group: string): bigint
}

const amounts: Measure = {
  name: 'amounts',
  groups: [wholeAmount],
  invoiced: (cell) => cell.invoicedPicos,
  sumIn: sumAmounts,
}

const quantitiesOf = (groups: readonly string[]): Measure => ({
  name: 'quantities',
  groups,
  invoiced: (cell, group) => cell.invoiced?.get(group) ?? 0n,
  sumIn: (sums, group) => (sums?.get(group) ?? nothing).quantity,
})

const groupsIn = ({ days, edges }: DaySeries): readonly string[] => {
  const groups = new Set([...edges.early.keys(), ...edges.late.keys()])
  for (const { invoiced, charged } of days.values()) {
    for (const group of invoiced?.keys() ?? []) groups.add(group)
    for (const group of charged?.keys() ?? []) groups.add(group)
  }
  return [...groups]
}

const measureOf = (series: DaySeries, layout: InvoiceLayout): Measure => {
  const byQuantity = layout.hasQuantities && [...series.days.values()].every(({ hasQuantities }) => hasQuantities)
  return byQuantity ? quantitiesOf(groupsIn(series)) : amounts
}

const hasStraddles = ({ days, edges }: DaySeries): boolean =>
  edges.early.size > 0 ||
  edges.late.size > 0 ||
  [...days.values()].some(({ early, late }) => early !== null || late !== null)

type Shifts = ReadonlyMap<string, bigint>
const noShifts: Shifts = new Map()

/** By day and group: what the other side has beyond a midnight. */
const shiftsIn = (series: DaySeries, measure: Measure, days: readonly string[]): Shifts => {
  if (!hasStraddles(series)) return noShifts
  const shifts = new Map<string, bigint>()
  for (const group of measure.groups) {
    const timed = days.map((day) => {
      const cell = series.days.get(day)
      if (cell === undefined) return { difference: 0n, early: 0n, late: 0n }
      const difference = measure.invoiced(cell, group) - measure.sumIn(cell.charged, group)
      return { difference, early: measure.sumIn(cell.early, group), late: measure.sumIn(cell.late, group) }
    })
    const edges = { early: measure.sumIn(series.edges.early, group), late: measure.sumIn(series.edges.late, group) }
    computeTimingShifts(timed, edges).forEach((shift, place) => {
      if (shift !== 0n) shifts.set(`${days[place]}\t${group}`, shift)
    })
  }
  return shifts
}

const priceOf = (cell: DayCell, group: string, measure: Measure, names: ModelNames): UnitPrice => {
  if (measure.name === 'amounts') return { picos: 1n, per: 1n }
  const charged = cell.charged?.get(group) ?? nothing
  if (charged.quantity > 0n) return { picos: charged.amountPicos, per: charged.quantity }
  return names.findPrice(cell.model, group, cell.day) ?? noPrice
}

interface ComparisonContext {
  readonly layout: InvoiceLayout
  readonly names: ModelNames
}

const toSourcedCell = (
  cell: DayCell,
  measure: Measure,
  shifts: Shifts,
  { layout, names }: ComparisonContext,
): SourcedCell => ({
  source: cell,
  measure: measure.name,
  parts: measure.groups.map(
    (group): ComparedQuantity => ({
      item: group,
      invoiced: measure.invoiced(cell, group),
      charged: measure.sumIn(cell.charged, group),
      estimated: measure.sumIn(cell.estimated, group),
      shifted: shifts.get(`${cell.day}\t${group}`) ?? 0n,
      price: priceOf(cell, group, measure, names),
    }),
  ),
  invoicedPicos: layout.hasAmounts ? cell.invoicedPicos : null,
  chargedPicos: sumAmounts(cell.charged),
  roundingPicos: cell.roundingPicos,
})

const bucketName = (day: string, model: string): string => `${day}\t${model}`

const bucketsOf = (
  cells: DayCells,
  days: readonly string[],
  compared: ComparisonContext,
): ReadonlyMap<string, readonly SourcedCell[]> => {
  const buckets = new Map<string, SourcedCell[]>()
  for (const series of cells.series.values()) {
    const measure = measureOf(series, compared.layout)
    const shifts = shiftsIn(series, measure, days)
    for (const cell of series.days.values()) {
      const name = bucketName(cell.day, cell.model)
      const bucket = buckets.get(name) ?? []
      bucket.push(toSourcedCell(cell, measure, shifts, compared))
      buckets.set(name, bucket)
    }
  }
  return buckets
}

const classifyBucket = (bucket: readonly SourcedCell[], cells: DayCells): BucketState => {
  const isInvoiced = bucket.some(({ source }) => source.rows > 0)
  const isCharged = bucket.some(({ source }) => source.charged !== null)
  if (isInvoiced && isCharged) return 'both'
  if (!isInvoiced) return 'missing_there'
  return cells.isKnown(bucket[0]!.source.model) ? 'missing_here' : 'unknown_model'
}

const nameOrNull = (name: string): string | null => (name === wildcard ? null : name)

const findingOf = ({ class: name, amountPicos, cell }: ExplainedAmount<SourcedCell>): ReconcileFinding => ({
  class: name,
  amountPicos,
  day: cell.source.day,
  model: nameOrNull(cell.source.model),
  item: nameOrNull(cell.source.item),
  id: null,
  upstreamRequestId: null,
  workspaceId: null,
  invoicedPicos: cell.invoicedPicos ?? cell.chargedPicos + amountPicos,
  ledgerPicos: cell.chargedPicos,
  quantities: cell.measure === 'amounts' ? [] : cell.parts.filter(({ invoiced, charged }) => invoiced !== charged),
  rows: cell.source.rows === 0 ? null : { file: cell.source.file, row: cell.source.row, rows: cell.source.rows },
})

const daysOf = ({ from, to }: InvoicePeriod): readonly string[] => {
  const days = [from]
  while (days.at(-1)! < to) days.push(dayAfter(days.at(-1)!))
  return days
}

const addTo = (sums: Map<string, bigint>, name: string, amountPicos: bigint): void => {
  sums.set(name, (sums.get(name) ?? 0n) + amountPicos)
}

interface BucketAmounts {
  readonly corrected: Map<string, bigint>
  readonly unfinished: Map<string, bigint>
}

const addCorrection = (
  cells: DayCells,
  { corrected }: BucketAmounts,
  { day, model, correctedPicos }: DayCorrection,
): void => {
  const named = cells.bucketModel(model)
  cells.ensureDay(day, named)
  addTo(corrected, bucketName(day, named), correctedPicos)
}

const addUnfinished = (cells: DayCells, { unfinished }: BucketAmounts, request: UnendedRequest): void => {
  const models = new Set(request.upstreamModels.map((model) => cells.bucketUpstream(model)))
  for (const model of models) addTo(unfinished, bucketName(request.day, model), request.reservedPicos)
}

const loadCharges = async (
  cells: DayCells,
  repository: ReconcileRepository,
  period: InvoicePeriod,
): Promise<BucketAmounts> => {
  const beside: BucketAmounts = { corrected: new Map(), unfinished: new Map() }
  const isOfPeriod = (day: string): boolean => day >= period.from && day <= period.to
  for await (const charges of repository.charges(period)) for (const charge of charges) cells.addCharge(charge)
  for await (const straddles of repository.straddles(period))
    for (const straddle of straddles) cells.addStraddle(straddle, isOfPeriod(straddle.day))
  for await (const corrections of repository.corrections(period))
    for (const correction of corrections) addCorrection(cells, beside, correction)
  for await (const requests of repository.openRequests(period.timezone))
    for (const request of requests) if (isOfPeriod(request.day)) addUnfinished(cells, beside, request)
  return beside
}

interface ComparedBucket {
  readonly invoicedPicos: bigint
  readonly ledgerPicos: bigint
  readonly findings: readonly ReconcileFinding[]
}

export async function* compareDays(
  cells: DayCells,
  repository: ReconcileRepository,
  period: InvoicePeriod,
  compared: ComparisonContext,
): AsyncGenerator<ComparedBucket> {
  const { corrected, unfinished } = await loadCharges(cells, repository, period)
  const buckets = bucketsOf(cells, daysOf(period), compared)
  for (const name of [...buckets.keys()].sort()) {
    const bucket = buckets.get(name)!
    const { invoicedPicos, ledgerPicos, pieces } = decompose({
      state: classifyBucket(bucket, cells),
      cells: bucket,
      correctedPicos: corrected.get(name) ?? 0n,
      unfinishedPicos: unfinished.get(name) ?? 0n,
    })
    yield { invoicedPicos, ledgerPicos, findings: pieces.map(findingOf) }
  }
}
