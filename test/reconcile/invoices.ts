import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import type { DifferenceClass } from '../../src/reconcile/decompose.ts'
import type { FormatName } from '../../src/reconcile/invoices/invoice.ts'
import { type Charged, days, type ProviderTruth, sheet, unitPrice } from './ledger.ts'

/** Tokens and what they cost. */
export interface Told {
  quantity: bigint
  amountPicos: bigint
}

export interface ToldRow {
  readonly id: string | null
  readonly day: string
  readonly model: string
  /** By the names of the lines of a charge; reasoning is with the output. */
  readonly items: Map<string, Told>
  /** Of a task. */
  units: string | null
  /** Decimals with which the amount is written. */
  decimals: number
}

/** How an invoice is written. */
export interface Style {
  readonly format: FormatName
  readonly form: 'json' | 'csv'
  readonly subject: 'day' | 'request' | 'task'
  readonly amounts: boolean
  readonly quantities: boolean
  /** Each item with an amount of its own. */
  readonly byItem: boolean
}

const daily = { subject: 'day', byItem: true } as const

export const styles: readonly Style[] = [
  { ...daily, format: 'openai-usage', form: 'json', amounts: false, quantities: true },
  { ...daily, format: 'openai-usage', form: 'csv', amounts: false, quantities: true },
  { ...daily, format: 'openai-costs', form: 'json', amounts: true, quantities: true },
  { ...daily, format: 'openai-costs', form: 'csv', amounts: true, quantities: true },
  { ...daily, format: 'anthropic-usage', form: 'json', amounts: false, quantities: true },
  { ...daily, format: 'anthropic-cost', form: 'json', amounts: true, quantities: false },
  { format: 'csv', form: 'csv', subject: 'day', byItem: false, amounts: true, quantities: true },
  { format: 'csv', form: 'csv', subject: 'day', byItem: false, amounts: true, quantities: false },
  { format: 'csv', form: 'csv', subject: 'request', byItem: false, amounts: true, quantities: true },
  { format: 'csv', form: 'csv', subject: 'request', byItem: false, amounts: true, quantities: false },
  { format: 'csv', form: 'csv', subject: 'request', byItem: false, amounts: false, quantities: true },
  { format: 'vv-deductions', form: 'json', subject: 'task', byItem: false, amounts: false, quantities: true },
  { format: 'vv-deductions', form: 'csv', subject: 'task', byItem: false, amounts: false, quantities: true },
]

export const pricePicos: Readonly<Record<string, bigint>> = {
  input: parseUsd(sheet.per_million_tokens.input) / 1_000_000n,
  cached_input: parseUsd(sheet.per_million_tokens.cached_input!) / 1_000_000n,
  output: parseUsd(sheet.per_million_tokens.output) / 1_000_000n,
}

const itemOf = (item: string): string => (item === 'reasoning' ? 'output' : item)

const itemsOf = ({ lines }: Charged): Map<string, Told> => {
  const items = new Map<string, Told>()
  for (const { item, quantity, amount } of lines) {
    const told = items.get(itemOf(item)) ?? { quantity: 0n, amountPicos: 0n }
    items.set(itemOf(item), {
      quantity: told.quantity + BigInt(Math.round(quantity)),
      amountPicos: told.amountPicos + parseUsd(amount),
    })
  }
  return items
}

const exactDecimals = 12

const rowOf = (charged: Charged, units: string | null): ToldRow => ({
  id: charged.id,
  day: charged.day,
  model: charged.model,
  items: units === null ? itemsOf(charged) : new Map(),
  units,
  decimals: exactDecimals,
})

export const amountOf = ({ items }: ToldRow): bigint =>
  [...items.values()].reduce((sum, each) => sum + each.amountPicos, 0n)

const isOfPeriod = ({ day }: { readonly day: string }): boolean => day >= days[0] && day <= days[3]

const addInto = (
  rows: Map<string, ToldRow>,
  { day, model }: Pick<Charged, 'day' | 'model'>,
  items: ToldRow['items'],
) => {
  const name = `${day} ${model}`
  const row = rows.get(name) ?? { id: null, day, model, items: new Map(), units: null, decimals: exactDecimals }
  rows.set(name, row)
  for (const [item, { quantity, amountPicos }] of items) {
    const told = row.items.get(item) ?? { quantity: 0n, amountPicos: 0n }
    row.items.set(item, { quantity: told.quantity + quantity, amountPicos: told.amountPicos + amountPicos })
  }
}

/** A fault that was put in: the class it must be found in, where, and how much. */
export interface Fault {
  readonly class: DifferenceClass
  readonly place: string
  readonly amountPicos: bigint
}

const placeOf = ({ id, day, model }: Pick<ToldRow, 'id' | 'day' | 'model'>): string => id ?? `${day} ${model}`

/** An invoice that says what the ledger says, and faults put into it; no two of them in one place. */
export class TestInvoice {
  readonly style: Style
  readonly faults: Fault[] = []
  readonly rows: ToldRow[]
  readonly #truth: ProviderTruth
  readonly #random: () => number
  readonly #used = new Set<string>()

  constructor(style: Style, truth: ProviderTruth, random: () => number) {
    this.style = style
    this.#truth = truth
    this.#random = random
    const all = style.subject === 'task' ? truth.tasks : truth.charged
    const told = all.filter(isOfPeriod)
    if (style.subject === 'day') {
      const rows = new Map<string, ToldRow>()
      for (const charged of told) addInto(rows, charged, itemsOf(charged))
      this.rows = [...rows.values()]
    } else
      this.rows = told.map((charged) =>
        rowOf(charged, 'units' in charged && typeof charged.units === 'string' ? charged.units : null),
      )
  }

  /** Puts in a fault of a class, where there is room for it and the format can tell it. */
  inject(name: DifferenceClass): void {
    const { subject } = this.style
    if (name === 'missing_here') this.#addUnknown('d', 'missing_here')
    else if (name === 'unknown_model') this.#addUnknown('zz-unheard-of', 'unknown_model')
    else if (name === 'missing_there') this.#drop()
    else if (name === 'price_drift') this.#changePrice()
    else if (name === 'rounding') this.#round()
    else if (name === 'unfinished_request') this.#tellUnfinished()
    else if (name === 'timing') subject === 'day' ? this.#moveOverMidnight() : this.#moveOverEdge()
    else if (name !== 'unexplained') this.#changeQuantity(name)
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }

  #take(rows: readonly ToldRow[]): ToldRow | null {
    const free = rows.filter((row) => !this.#used.has(placeOf(row)))
    const row = free[this.#below(free.length)] ?? null
    if (row !== null) this.#used.add(placeOf(row))
    return row
  }

  #fault(name: DifferenceClass, row: Pick<ToldRow, 'id' | 'day' | 'model'>, amountPicos: bigint): void {
    this.faults.push({ class: name, place: placeOf(row), amountPicos })
  }

  #chargedOf(row: ToldRow): readonly Charged[] {
    const all = this.style.subject === 'task' ? this.#truth.tasks : this.#truth.charged
    return all.filter(({ id, day, model }) =>
      row.id === null ? day === row.day && model === row.model : id === row.id,
    )
  }

  /** Of nothing that was estimated, without an end, or over midnight. */
  get #plain(): readonly ToldRow[] {
    return this.rows.filter((row) => {
      if (row.id?.includes('over') || row.id?.includes('until')) return false
      if (this.style.subject === 'day') return row.model === 'a'
      return this.#chargedOf(row).every(({ estimated }) => !estimated) && this.#chargedOf(row).length > 0
    })
  }

  #addUnknown(model: string, name: 'missing_here' | 'unknown_model'): void {
    const { subject, amounts } = this.style
    if (subject === 'task' && name === 'unknown_model') return
    const day = days[this.#below(days.length)]!
    const ids = subject === 'task' ? this.#truth.failedTasks : this.#truth.failed.map(({ id }) => id)
    const unknownId = `unknown-${model}-${this.#below(1_000_000)}`
    const id = subject === 'day' ? null : name === 'missing_here' && this.#below(2) === 0 ? ids[0]! : unknownId
    if (this.#used.has(placeOf({ id, day, model }))) return
    this.#used.add(placeOf({ id, day, model }))
    const quantity = BigInt(1 + this.#below(10_000))
    const items = new Map([['output', { quantity, amountPicos: quantity * pricePicos['output']! }]])
    const units = subject === 'task' ? '2.5' : null
    const row = { id, day, model, items: units === null ? items : new Map(), units, decimals: exactDecimals }
    this.rows.push(row)
    const valued = name === 'unknown_model' && !amounts ? 0n : amountOf(row)
    this.#fault(name, row, units === null ? valued : (parseUsd(units) * parseUsd(unitPrice)) / 10n ** 12n)
  }

  #drop(): void {
    const row = this.#take(this.#plain)
    if (row === null) return
    this.rows.splice(this.rows.indexOf(row), 1)
    this.#fault('missing_there', row, -this.#chargedOf(row).reduce((sum, { totalPicos }) => sum + totalPicos, 0n))
  }

  #changePrice(): void {
    const row = this.style.amounts ? this.#take(this.#plain) : null
    if (row === null) return
    const told = row.items.get('output')!
    const change = BigInt(2_000_000 + this.#below(1_000_000_000)) * (this.#below(2) === 0 ? 1n : -1n)
    told.amountPicos += change
    this.#fault('price_drift', row, change)
  }

  /** As far as the way in which the format writes amounts allows. */
  #round(): void {
    const { format, amounts } = this.style
    const row = amounts ? this.#take(this.#plain) : null
    if (row === null) return
    const told = row.items.get('output')!
    const before = amountOf(row)
    if (format === 'csv') {
      row.decimals = 4 + this.#below(5)
      const unit = 10n ** BigInt(exactDecimals - row.decimals)
      told.amountPicos += ((before + unit / 2n) / unit) * unit - before
    } else told.amountPicos += format === 'openai-costs' ? -700n : 700_000n
    const change = amountOf(row) - before
    if (change !== 0n) this.#fault('rounding', row, change)
  }

  #changeQuantity(name: 'token_drift' | 'estimated'): void {
    const { subject, quantities } = this.style
    if (name === 'token_drift' && !quantities) return
    const estimated = this.rows.filter((row) => this.#chargedOf(row).some((charged) => charged.estimated))
    const row = this.#take(name === 'token_drift' ? this.#plain : estimated)
    if (row === null) return
    if (subject === 'task') {
      this.#changeUnits(row, name)
      return
    }
    const told = row.items.get('output')!
    const change = (1n + BigInt(this.#below(10))) * (this.#below(2) === 0 ? 1n : -1n)
    told.quantity += change
    told.amountPicos += change * pricePicos['output']!
    this.#fault(name, row, change * pricePicos['output']!)
  }

  #changeUnits(row: ToldRow, name: 'token_drift' | 'estimated'): void {
    const change = parseUsd('0.25')
    row.units = formatUsd(parseUsd(row.units!) + change)
    this.#fault(name, row, (change * parseUsd(unitPrice)) / 10n ** 12n)
  }

  #tellUnfinished(): void {
    const { subject } = this.style
    const [open] = this.#truth.open
    const id = subject === 'task' ? this.#truth.openTasks[0]! : subject === 'request' ? open!.id : null
    const place = { id, day: open!.day, model: open!.model }
    if (this.#used.has(placeOf(place))) return
    this.#used.add(placeOf(place))
    const quantity = BigInt(1 + this.#below(20_000))
    const amountPicos = quantity * pricePicos['output']!
    if (subject === 'task') {
      this.rows.push({ ...place, items: new Map(), units: '3', decimals: exactDecimals })
      this.#fault('unfinished_request', place, 3n * parseUsd(unitPrice))
      return
    }
    const standing = id === null ? this.rows.find((row) => placeOf(row) === placeOf(place)) : undefined
    const row = standing ?? { ...place, items: new Map<string, Told>(), units: null, decimals: exactDecimals }
    if (standing === undefined) this.rows.push(row)
    const told = row.items.get('output') ?? { quantity: 0n, amountPicos: 0n }
    row.items.set('output', { quantity: told.quantity + quantity, amountPicos: told.amountPicos + amountPicos })
    this.#fault('unfinished_request', place, amountPicos)
  }

  /** Books a request on the other side of its midnight. */
  #moveOverMidnight(): void {
    const free = this.#truth.charged.filter(
      ({ day, model, otherDay }) =>
        otherDay !== null && !this.#used.has(`${day} ${model}`) && !this.#used.has(`${otherDay} ${model}`),
    )
    const moved = free[this.#below(free.length)]
    if (moved === undefined) return
    const items = itemsOf(moved)
    for (const [day, sign] of [
      [moved.day, -1n],
      [moved.otherDay!, 1n],
    ] as const) {
      const place = { id: null, day, model: moved.model }
      this.#used.add(placeOf(place))
      const row = this.rows.find((each) => placeOf(each) === placeOf(place))
      if (row === undefined) continue
      for (const [item, { quantity, amountPicos }] of items) {
        const told = row.items.get(item)!
        told.quantity += sign * quantity
        told.amountPicos += sign * amountPicos
      }
      this.#fault('timing', place, sign * moved.totalPicos)
    }
  }

  /** Leaves out what may stand in the invoice before this one, or tells what is charged after the period. */
  #moveOverEdge(): void {
    const all = this.style.subject === 'task' ? this.#truth.tasks : this.#truth.charged
    const free = all.filter(
      ({ id, day, otherDay }) =>
        otherDay !== null && isOfPeriod({ day }) !== isOfPeriod({ day: otherDay }) && !this.#used.has(id),
    )
    const moved = free[this.#below(free.length)]
    if (moved === undefined) return
    this.#used.add(moved.id)
    const sign = isOfPeriod(moved) ? -1n : 1n
    if (sign < 0n)
      this.rows.splice(
        this.rows.findIndex(({ id }) => id === moved.id),
        1,
      )
    else {
      const units = 'units' in moved && typeof moved.units === 'string' ? moved.units : null
      this.rows.push({ ...rowOf(moved, units), day: moved.otherDay! })
    }
    this.#fault('timing', { id: moved.id, day: moved.day, model: moved.model }, sign * moved.totalPicos)
  }
}
