import type { InvoiceLayout } from './invoices/format.ts'
import { reconcileLimits } from './invoices/limits.ts'
import { type InvoiceRow, wildcard } from './invoices/row.ts'
import type { ModelNames } from './models.ts'
import type { DayCharge, Straddle } from './repository.ts'

export interface Sum {
  quantity: bigint
  amountPicos: bigint
}

export type Sums = Map<string, Sum>

export interface DayCell {
  readonly day: string
  readonly model: string
  readonly item: string
  /** The first row; `rows` counts them. */
  file: number
  row: number
  rows: number
  invoicedPicos: bigint
  roundingPicos: bigint
  hasQuantities: boolean
  invoiced: Map<string, bigint> | null
  charged: Sums | null
  estimated: Sums | null
  early: Sums | null
  late: Sums | null
}

export interface DaySeries {
  readonly model: string
  readonly item: string
  readonly days: Map<string, DayCell>
  readonly edges: { readonly early: Sums; readonly late: Sums }
}

const newCell = (day: string, model: string, item: string): DayCell => ({
  day,
  model,
  item,
  file: 0,
  row: 0,
  rows: 0,
  invoicedPicos: 0n,
  roundingPicos: 0n,
  hasQuantities: true,
  invoiced: null,
  charged: null,
  estimated: null,
  early: null,
  late: null,
})

const addSum = (sums: Sums, item: string, { quantity, amountPicos }: Sum): Sums => {
  const existing = sums.get(item)
  if (existing === undefined) sums.set(item, { quantity, amountPicos })
  else {
    existing.quantity += quantity
    existing.amountPicos += amountPicos
  }
  return sums
}

export const sumAmounts = (sums: Sums | null): bigint => {
  let sum = 0n
  for (const { amountPicos } of sums?.values() ?? []) sum += amountPicos
  return sum
}

/** What the rows of an invoice distinguish: items or none, and for each item whether it has models. */
class InvoiceItems {
  readonly #layout: InvoiceLayout
  /** By item: whether the invoice has a model for it. */
  readonly #withModel = new Map<string, boolean>()

  constructor(layout: InvoiceLayout) {
    this.#layout = layout
  }

  get hasModels(): boolean {
    return this.#withModel.size === 0 || [...this.#withModel.values()].includes(true)
  }

  itemOf({ item }: InvoiceRow): string {
    return this.#layout.byItem ? (item ?? wildcard) : wildcard
  }

  /** Returns why the row is inconsistent with earlier rows, else null. */
  problemOf(row: InvoiceRow): string | null {
    const item = this.itemOf(row)
    const hadModel = this.#withModel.get(item)
    if (hadModel !== undefined && hadModel !== (row.model !== null))
      return hadModel ? 'has no model, and rows before it have one' : 'has a model, and rows before it have none'
    const isMixed = this.#layout.byItem && this.#withModel.size > 0 && this.#hasItems !== (item !== wildcard)
    return isMixed ? 'rows with an item cannot be mixed with rows without one' : null
  }

  add(row: InvoiceRow): void {
    this.#withModel.set(this.itemOf(row), row.model !== null)
  }

  groupOf(item: string): string {
    return this.#layout.byItem && !this.#hasItems && this.#withModel.size > 0 ? wildcard : this.#layout.groupOf(item)
  }

  /** The model and item under which the invoice has a charge. */
  placeOf(model: string, group: string): { readonly model: string; readonly item: string } {
    const item = this.#layout.byItem ? group : wildcard
    return { model: (this.#withModel.get(item) ?? this.hasModels) ? model : wildcard, item }
  }

  get #hasItems(): boolean {
    return !this.#withModel.has(wildcard)
  }
}

/** Memory grows with the cells, not with the rows. */
export class DayCells {
  readonly series = new Map<string, DaySeries>()
  readonly #items: InvoiceItems
  readonly #names: ModelNames
  readonly #chargedModels = new Set<string>()
  #count = 0

  constructor(layout: InvoiceLayout, names: ModelNames) {
    this.#items = new InvoiceItems(layout)
    this.#names = names
  }

  /** Returns why the row cannot be added, else null. */
  add(row: InvoiceRow & { readonly day: string }): string | null {
    const problem = this.#items.problemOf(row)
    if (problem !== null) return problem
    if (this.#count >= reconcileLimits.invoiceCellsMax)
      return `there are more than ${reconcileLimits.invoiceCellsMax} days, models and items: give less at once`
    this.#items.add(row)
    const model = row.model === null ? wildcard : this.#names.canonical(row.model)
    const cell = this.#ensureCell({ day: row.day, model, item: this.#items.itemOf(row) })
    if (cell.rows === 0) Object.assign(cell, { file: row.file, row: row.row })
    cell.rows += 1
    cell.invoicedPicos += row.amountPicos ?? 0n
    cell.roundingPicos += row.roundingPicos
    cell.hasQuantities &&= row.quantities !== null
    for (const [each, quantity] of row.quantities ?? []) {
      cell.invoiced ??= new Map()
      cell.invoiced.set(each, (cell.invoiced.get(each) ?? 0n) + quantity)
    }
    return null
  }

  addCharge({ day, model, item, source, ...sum }: DayCharge): void {
    const canonical = this.#names.canonicalOfPublic(model)
    this.#chargedModels.add(canonical)
    const group = this.#items.groupOf(item)
    const cell = this.#ensureCell({ day, ...this.#items.placeOf(canonical, group) })
    cell.charged = addSum(cell.charged ?? new Map(), group, sum)
    if (source === 'estimated') cell.estimated = addSum(cell.estimated ?? new Map(), group, sum)
  }

  /** On a day outside of `isOfPeriod` it is at the edge. */
  addStraddle({ day, model, item, direction, ...sum }: Straddle, isOfPeriod: boolean): void {
    const group = this.#items.groupOf(item)
    const named = this.#items.placeOf(this.#names.canonicalOfPublic(model), group)
    if (!isOfPeriod) {
      addSum(this.#ensureSeries(named).edges[direction], group, sum)
      return
    }
    const cell = this.#ensureCell({ day, ...named })
    cell[direction] = addSum(cell[direction] ?? new Map(), group, sum)
  }

  /** The name for a public model's differences on a day: its own, or that of all models if the invoice has none. */
  bucketModel(model: string): string {
    return this.#items.hasModels ? this.#names.canonicalOfPublic(model) : wildcard
  }

  /** The same for a model as the provider calls it. */
  bucketUpstream(upstreamModel: string): string {
    return this.#items.hasModels ? this.#names.canonical(upstreamModel) : wildcard
  }

  isKnown(model: string): boolean {
    return model === wildcard || this.#chargedModels.has(model) || this.#names.isKnown(model)
  }

  ensureDay(day: string, model: string): void {
    this.#ensureCell({ day, model, item: wildcard })
  }

  #ensureSeries({ model, item }: { readonly model: string; readonly item: string }): DaySeries {
    const name = `${model}\t${item}`
    const existing = this.series.get(name)
    if (existing !== undefined) return existing
    const series: DaySeries = { model, item, days: new Map(), edges: { early: new Map(), late: new Map() } }
    this.series.set(name, series)
    return series
  }

  #ensureCell({ day, model, item }: { readonly day: string; readonly model: string; readonly item: string }): DayCell {
    const { days } = this.#ensureSeries({ model, item })
    const existing = days.get(day)
    if (existing !== undefined) return existing
    const cell = newCell(day, model, item)
    days.set(day, cell)
    this.#count += 1
    return cell
  }
}
