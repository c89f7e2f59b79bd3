import { limits } from '../../limits.ts'
import type { DayCharge, Straddle } from './books.ts'
import type { InvoiceLayout } from './formats/format.ts'
import type { ModelNames } from './models.ts'
import { anything, type InvoiceRow } from './row.ts'

export interface Sum {
  quantity: bigint
  amountPicos: bigint
}

/** By group of items. */
export type Sums = Map<string, Sum>

/** One day of one model and item, as both sides have it. */
export interface DayCell {
  readonly day: string
  readonly model: string
  readonly item: string
  /** The first row, and how many there are. */
  file: number
  row: number
  rows: number
  invoicedPicos: bigint
  roundingPicos: bigint
  quantitiesTold: boolean
  invoiced: Map<string, bigint> | null
  charged: Sums | null
  /** Of what was charged. */
  estimated: Sums | null
  early: Sums | null
  late: Sums | null
}

/** The days of one model and item, and what was charged on the days around them. */
export interface Chain {
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
  quantitiesTold: true,
  invoiced: null,
  charged: null,
  estimated: null,
  early: null,
  late: null,
})

const addSum = (sums: Sums, item: string, { quantity, amountPicos }: Sum): Sums => {
  const standing = sums.get(item)
  if (standing === undefined) sums.set(item, { quantity, amountPicos })
  else {
    standing.quantity += quantity
    standing.amountPicos += amountPicos
  }
  return sums
}

export const amountOf = (sums: Sums | null): bigint => {
  let sum = 0n
  for (const { amountPicos } of sums?.values() ?? []) sum += amountPicos
  return sum
}

const place = ({ day, model, item }: { readonly day: string; readonly model: string; readonly item: string }) =>
  `${day}\t${model}\t${item}`

/** An invoice of days, gathered by day, model and item, with the charges of the ledger beside it. Memory is for the cells, not for the rows. */
export class DayCells {
  readonly chains = new Map<string, Chain>()
  readonly #layout: InvoiceLayout
  readonly #names: ModelNames
  /** By item: whether the invoice tells its model. */
  readonly #modelTold = new Map<string, boolean>()
  readonly #chargedModels = new Set<string>()
  #count = 0

  constructor(layout: InvoiceLayout, names: ModelNames) {
    this.#layout = layout
    this.#names = names
  }

  get isFull(): boolean {
    return this.#count >= limits.invoiceCellsMax
  }

  /** Adds a row; answers with what is wrong where it does not go with the rows before it. */
  add(row: InvoiceRow & { readonly day: string }): string | null {
    const item = this.#layout.byItem ? (row.item ?? anything) : anything
    const problem = this.#problemOf(row, item)
    if (problem !== null) return problem
    this.#modelTold.set(item, row.model !== null)
    const model = row.model === null ? anything : this.#names.canonical(row.model)
    const cell = this.#cell({ day: row.day, model, item })
    if (cell.rows === 0) Object.assign(cell, { file: row.file, row: row.row })
    cell.rows += 1
    cell.invoicedPicos += row.amountPicos ?? 0n
    cell.roundingPicos += row.roundingPicos
    cell.quantitiesTold &&= row.quantities !== null
    for (const [each, quantity] of row.quantities ?? []) {
      cell.invoiced ??= new Map()
      cell.invoiced.set(each, (cell.invoiced.get(each) ?? 0n) + quantity)
    }
    return null
  }

  addCharge({ day, model, item, source, ...sum }: DayCharge): void {
    const canonical = this.#names.canonicalOfPublic(model)
    this.#chargedModels.add(canonical)
    const group = this.#groupOf(item)
    const cell = this.#cell({ day, ...this.#placeOf(canonical, group) })
    cell.charged = addSum(cell.charged ?? new Map(), group, sum)
    if (source === 'estimated') cell.estimated = addSum(cell.estimated ?? new Map(), group, sum)
  }

  /** What reached over a midnight; on a day outside of `isOfPeriod` it is at the edge. */
  addStraddle({ day, model, item, direction, ...sum }: Straddle, isOfPeriod: boolean): void {
    const group = this.#groupOf(item)
    const named = this.#placeOf(this.#names.canonicalOfPublic(model), group)
    if (!isOfPeriod) {
      addSum(this.#chain(named).edges[direction], group, sum)
      return
    }
    const cell = this.#cell({ day, ...named })
    cell[direction] = addSum(cell[direction] ?? new Map(), group, sum)
  }

  /** The name under which a public model's differences stand on a day: its own, or that of all models where the invoice tells none. */
  bucketModel(model: string): string {
    return this.#tellsModels ? this.#names.canonicalOfPublic(model) : anything
  }

  /** The same for a model as the provider calls it. */
  bucketUpstream(upstreamModel: string): string {
    return this.#tellsModels ? this.#names.canonical(upstreamModel) : anything
  }

  /** True for a model that the configuration, a price or a charge knows. */
  isKnown(model: string): boolean {
    return model === anything || this.#chargedModels.has(model) || this.#names.isKnown(model)
  }

  /** Makes the cell of a day where there is none. */
  ensure(day: string, model: string): void {
    this.#cell({ day, model, item: anything })
  }

  #problemOf({ model, item }: InvoiceRow, cellItem: string): string | null {
    const told = this.#modelTold.get(cellItem)
    if (told !== undefined && told !== (model !== null))
      return told ? 'tells no model, where rows before it do' : 'tells a model, where rows before it tell none'
    const isMixed = this.#layout.byItem && this.#modelTold.size > 0 && this.#tellsItems !== (item !== anything)
    if (isMixed) return 'rows with and without an item cannot be compared together'
    return this.isFull
      ? `there are more than ${limits.invoiceCellsMax} days, models and items: give less at once`
      : null
  }

  get #tellsItems(): boolean {
    return !this.#modelTold.has(anything)
  }

  get #tellsModels(): boolean {
    return this.#modelTold.size === 0 || [...this.#modelTold.values()].includes(true)
  }

  #groupOf(item: string): string {
    return this.#layout.byItem && !this.#tellsItems && this.#modelTold.size > 0 ? anything : this.#layout.groupOf(item)
  }

  #placeOf(canonical: string, group: string): { readonly model: string; readonly item: string } {
    const item = this.#layout.byItem ? group : anything
    return { model: (this.#modelTold.get(item) ?? this.#tellsModels) ? canonical : anything, item }
  }

  #chain({ model, item }: { readonly model: string; readonly item: string }): Chain {
    const name = place({ day: '', model, item })
    const standing = this.chains.get(name)
    if (standing !== undefined) return standing
    const chain: Chain = { model, item, days: new Map(), edges: { early: new Map(), late: new Map() } }
    this.chains.set(name, chain)
    return chain
  }

  #cell({ day, model, item }: { readonly day: string; readonly model: string; readonly item: string }): DayCell {
    const { days } = this.#chain({ model, item })
    const standing = days.get(day)
    if (standing !== undefined) return standing
    const cell = newCell(day, model, item)
    days.set(day, cell)
    this.#count += 1
    return cell
  }
}
