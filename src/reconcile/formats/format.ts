import { CsvFault, CsvReader, type CsvRecord } from '../csv.ts'
import type { DayFormatter } from '../days.ts'
import type { GroupOf } from '../items.ts'
import { JsonElements, JsonFault, parseExactly } from '../json-elements.ts'
import type { InvoiceRow, RowOrFault } from '../row.ts'
import { type Fields, RowProblem } from './record.ts'

export interface InvoiceLayout {
  /** True if each item has its own amount and quantity; false if a row has one amount for several. */
  readonly byItem: boolean
  readonly hasAmounts: boolean
  readonly hasQuantities: boolean
  readonly groupOf: GroupOf
  /** True if pages may overlap: a repeated row with the same figures counts once. */
  readonly mayRepeat: boolean
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
  push(text: string): readonly RowOrFault[]
  end(): readonly RowOrFault[]
  readonly layout: InvoiceLayout | null
}

export interface LineFormat {
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
  readonly #csv = new CsvReader()
  #columns: readonly string[] | null = null
  #format: LineFormat | null = null
  #broken = false

  constructor(file: number, formatOf: (columns: readonly string[]) => LineFormat) {
    this.#file = file
    this.#formatOf = formatOf
  }

  get layout(): InvoiceLayout | null {
    return this.#format?.layout ?? null
  }

  push(text: string): readonly RowOrFault[] {
    return this.#readUnlessBroken(() => this.#csv.push(text))
  }

  end(): readonly RowOrFault[] {
    const rows = this.#readUnlessBroken(() => this.#csv.end())
    return this.#columns === null && !this.#broken
      ? [...rows, { file: this.#file, row: 1, problem: 'the file is empty' }]
      : rows
  }

  #readUnlessBroken(records: () => readonly CsvRecord[]): readonly RowOrFault[] {
    if (this.#broken) return []
    try {
      return records().flatMap((record) => this.#rowsOf(record))
    } catch (fault) {
      if (!(fault instanceof CsvFault)) throw fault
      this.#broken = true
      return [{ file: this.#file, row: fault.line, problem: fault.message }]
    }
  }

  #rowsOf({ line, fields }: CsvRecord): readonly RowOrFault[] {
    if (this.#broken) return []
    if (this.#columns === null) return this.#readHeader(line, fields)
    const columns = this.#columns
    return readRows(this.#file, line, () => {
      if (fields.length !== columns.length)
        throw new RowProblem(`has ${fields.length} columns, where the first line names ${columns.length}`)
      return this.#format!.read(Object.fromEntries(columns.map((column, place) => [column, fields[place]!])))
    })
  }

  #readHeader(line: number, fields: readonly string[]): readonly RowOrFault[] {
    const columns = fields.map((field) => field.trim().toLowerCase())
    this.#columns = columns
    const faults = readRows(this.#file, line, () => {
      const repeated = columns.find((column, place) => columns.indexOf(column) !== place)
      if (repeated !== undefined) throw new RowProblem(`names the column ${repeated} twice`)
      this.#format = this.#formatOf(columns)
      return []
    })
    this.#broken = faults.length > 0
    return faults
  }
}

/** Pages of a report in JSON; `resultsOf` returns the rows of an element of `data`. */
export class PageReader implements InvoiceReader {
  readonly layout: InvoiceLayout
  readonly #file: number
  readonly #resultsOf: (element: unknown) => readonly (() => readonly ReadRow[])[]
  readonly #elements = new JsonElements()
  #row = 0
  #broken = false

  constructor(
    file: number,
    layout: InvoiceLayout,
    resultsOf: (element: unknown) => readonly (() => readonly ReadRow[])[],
  ) {
    this.#file = file
    this.layout = layout
    this.#resultsOf = resultsOf
  }

  push(text: string): readonly RowOrFault[] {
    return this.#readUnlessBroken(() => this.#elements.push(text).flatMap((element) => this.#rowsOf(element)))
  }

  end(): readonly RowOrFault[] {
    return this.#readUnlessBroken(() => {
      this.#elements.end()
      return []
    })
  }

  /** True if the last page of the file announces more. */
  get hasMore(): boolean {
    return this.#elements.hasMore
  }

  #readUnlessBroken(read: () => readonly RowOrFault[]): readonly RowOrFault[] {
    if (this.#broken) return []
    try {
      return read()
    } catch (fault) {
      if (!(fault instanceof JsonFault)) throw fault
      this.#broken = true
      return [{ file: this.#file, row: this.#row + 1, problem: fault.message }]
    }
  }

  #rowsOf(text: string): readonly RowOrFault[] {
    try {
      return this.#resultsOf(parseExactly(text)).flatMap((read) => {
        this.#row += 1
        return readRows(this.#file, this.#row, read)
      })
    } catch (fault) {
      if (!(fault instanceof SyntaxError) && !(fault instanceof RowProblem)) throw fault
      this.#row += 1
      const problem = fault instanceof SyntaxError ? 'is no JSON' : fault.message
      return [{ file: this.#file, row: this.#row, problem }]
    }
  }
}
