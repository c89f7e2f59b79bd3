import { CsvFault, type CsvRecord, readCsv } from './csv.ts'
import type { DayFormatter } from './days.ts'
import type { GroupOf } from './items.ts'
import { JsonElements, JsonFault } from './json-elements.ts'
import { type Fields, RowProblem } from './record.ts'
import type { InvoiceRow, RowOrFault } from './row.ts'

export interface InvoiceLayout {
  /** True if each item has its own amount and quantity; false if a row has one amount for several. */
  readonly byItem: boolean
  readonly hasAmounts: boolean
  readonly hasQuantities: boolean
  readonly groupOf: GroupOf
  /** True if pages may overlap: a repeated row with the same figures counts once. */
  readonly mayRepeat: boolean
  /** True if rows may name a request by the provider's own id alone. */
  readonly hasUpstreamIds?: boolean
  /** Only files with the same name here can be compared together. */
  readonly name: string
}

export interface FormatOptions {
  readonly provider: string
  readonly dayOf: DayFormatter
  /** The largest error of an amount, for each row; null: the default of the format. */
  readonly roundingPicos: bigint | null
}

export type ReadRow = Omit<InvoiceRow, 'file' | 'row'>

export type Quantities = readonly (readonly [item: string, quantity: bigint])[]

/** If no item was used, one row with quantity zero. */
export const toUsageRows = (all: Quantities, day: string, model: string | null): readonly ReadRow[] => {
  const used = all.filter(([, quantity]) => quantity > 0n)
  return (used.length === 0 ? all.slice(0, 1) : used).map(([item, quantity]) => ({
    subject: null,
    day,
    model,
    item,
    quantities: [[item, quantity]],
    amountPicos: null,
    roundingPicos: 0n,
  }))
}

export interface InvoiceReader {
  read(texts: AsyncIterable<string>): AsyncIterable<readonly RowOrFault[]>
  /** Null until it is read. */
  readonly layout: InvoiceLayout | null
}

interface LineFormat {
  readonly layout: InvoiceLayout
  read(fields: Fields): readonly ReadRow[]
}

const withPosition = (rows: readonly ReadRow[], file: number, row: number): readonly RowOrFault[] =>
  rows.map((each) => ({ ...each, file, row }))

const readRows = (file: number, row: number, read: () => readonly ReadRow[]): readonly RowOrFault[] => {
  try {
    return withPosition(read(), file, row)
  } catch (fault) {
    if (fault instanceof RowProblem) return [{ file, row, problem: fault.message }]
    throw fault
  }
}

export class LineReader implements InvoiceReader {
  readonly #file: number
  readonly #formatOf: (columns: readonly string[]) => LineFormat
  #columns: readonly string[] | null = null
  #format: LineFormat | null = null

  constructor(file: number, formatOf: (columns: readonly string[]) => LineFormat) {
    this.#file = file
    this.#formatOf = formatOf
  }

  get layout(): InvoiceLayout | null {
    return this.#format?.layout ?? null
  }

  async *read(texts: AsyncIterable<string>): AsyncGenerator<readonly RowOrFault[]> {
    try {
      for await (const records of readCsv(texts)) {
        yield records.flatMap((record) => this.#rowsOf(record))
        if (this.#columns !== null && this.#format === null) return
      }
    } catch (fault) {
      if (!(fault instanceof CsvFault)) throw fault
      return yield [{ file: this.#file, row: fault.line, problem: fault.message }]
    }
    if (this.#columns === null) yield [{ file: this.#file, row: 1, problem: 'the file is empty' }]
  }

  #rowsOf({ line, fields }: CsvRecord): readonly RowOrFault[] {
    if (this.#columns === null) return this.#readHeader(line, fields)
    const columns = this.#columns
    const format = this.#format
    if (format === null) return []
    return readRows(this.#file, line, () => {
      if (fields.length !== columns.length)
        throw new RowProblem(`has ${fields.length} columns, where the first line names ${columns.length}`)
      return format.read(Object.fromEntries(columns.map((column, place) => [column, fields[place]!])))
    })
  }

  #readHeader(line: number, fields: readonly string[]): readonly RowOrFault[] {
    const columns = fields.map((field) => field.trim().toLowerCase())
    this.#columns = columns
    return readRows(this.#file, line, () => {
      const repeated = columns.find((column, place) => columns.indexOf(column) !== place)
      if (repeated !== undefined) throw new RowProblem(`names the column ${repeated} twice`)
      this.#format = this.#formatOf(columns)
      return []
    })
  }
}

/** Pages of a report in JSON; `resultsOf` returns the rows of an element of `data`. */
export class PageReader implements InvoiceReader {
  readonly layout: InvoiceLayout
  readonly #file: number
  readonly #resultsOf: (element: unknown) => readonly (() => readonly ReadRow[])[]
  readonly #elements = new JsonElements()
  #row = 0

  constructor(
    file: number,
    layout: InvoiceLayout,
    resultsOf: (element: unknown) => readonly (() => readonly ReadRow[])[],
  ) {
    this.#file = file
    this.layout = layout
    this.#resultsOf = resultsOf
  }

  async *read(texts: AsyncIterable<string>): AsyncGenerator<readonly RowOrFault[]> {
    try {
      for await (const text of texts) yield this.#elements.push(text).flatMap((element) => this.#rowsOf(element))
      this.#elements.end()
    } catch (fault) {
      if (!(fault instanceof JsonFault)) throw fault
      yield [{ file: this.#file, row: this.#row + 1, problem: fault.message }]
    }
  }

  /** True if the last page of the file announces more. */
  get hasMore(): boolean {
    return this.#elements.hasMore
  }

  #rowsOf(element: unknown): readonly RowOrFault[] {
    try {
      return this.#resultsOf(element).flatMap((read) => {
        this.#row += 1
        return readRows(this.#file, this.#row, read)
      })
    } catch (fault) {
      if (!(fault instanceof RowProblem)) throw fault
      this.#row += 1
      return [{ file: this.#file, row: this.#row, problem: fault.message }]
    }
  }
}
