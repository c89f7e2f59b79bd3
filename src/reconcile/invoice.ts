import { type DayFormatter, isInstant } from './days.ts'
import { anthropicCost, anthropicUsage } from './formats/anthropic.ts'
import { vvDeductions } from './formats/deductions.ts'
import { type FormatOptions, type InvoiceLayout, type InvoiceReader, PageReader } from './formats/format.ts'
import { openaiCosts, openaiUsage } from './formats/openai.ts'
import { plainCsv } from './formats/plain-csv.ts'
import { RowProblem } from './formats/record.ts'
import type { RowOrFault } from './row.ts'

type OpenReader = (file: number, isJson: boolean, options: FormatOptions) => InvoiceReader

const readers = {
  'openai-usage': openaiUsage,
  'openai-costs': openaiCosts,
  'anthropic-usage': (file, _, options) => anthropicUsage(file, options),
  'anthropic-cost': (file, _, options) => anthropicCost(file, options),
  'vv-deductions': vvDeductions,
  csv: (file, _, options) => plainCsv(file, options),
} as const satisfies Readonly<Record<string, OpenReader>>

export type FormatName = keyof typeof readers
export const formatNames = Object.keys(readers) as readonly FormatName[]

export interface InvoiceFile {
  readonly name: string
  open(): AsyncIterable<Uint8Array>
}

const isJsonText = (text: string): boolean => /^\ufeff?\s*[[{]/.test(text)

interface InvoiceChunk {
  readonly rows: readonly RowOrFault[]
  readonly reader: InvoiceReader | null
}

const decodedOrNull = (decode: () => string): string | null => {
  try {
    return decode()
  } catch (fault) {
    if (fault instanceof TypeError) return null
    throw fault
  }
}

const createNotTextFault = (file: number): RowOrFault => ({ file, row: 0, problem: 'is no text in UTF-8' })

const dayOrProblem =
  (dayOf: DayFormatter): DayFormatter =>
  (ms) => {
    if (!isInstant(ms)) throw new RowProblem(`tells a time that is none: ${ms} milliseconds since 1970`)
    return dayOf(ms)
  }

export class Invoice {
  readonly #files: readonly InvoiceFile[]
  readonly #open: OpenReader
  readonly #options: FormatOptions
  readonly #differing = new Set<number>()
  #layout: InvoiceLayout | null = null

  constructor(files: readonly InvoiceFile[], format: FormatName, options: FormatOptions) {
    this.#files = files
    this.#open = readers[format]
    this.#options = { ...options, dayOf: dayOrProblem(options.dayOf) }
  }

  get layout(): InvoiceLayout | null {
    return this.#layout
  }

  async *rows(): AsyncGenerator<readonly RowOrFault[]> {
    let last: InvoiceReader | null = null
    for (const [place, file] of this.#files.entries()) {
      for await (const { rows, reader } of this.#rowsOf(file, place)) {
        last = reader
        yield [...this.#sameLayout(reader, place), ...rows]
      }
    }
    const end = this.#files.length - 1
    if (last instanceof PageReader && last.hasMore)
      yield [{ file: end, row: 0, problem: 'its last page says that more follow; give all of them, in their order' }]
  }

  async *#rowsOf(file: InvoiceFile, place: number): AsyncGenerator<InvoiceChunk> {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    let reader: InvoiceReader | null = null
    for await (const bytes of file.open()) {
      const text = decodedOrNull(() => decoder.decode(bytes, { stream: true }))
      if (text === null) return yield { rows: [createNotTextFault(place)], reader: null }
      reader ??= text.trim() === '' ? null : this.#open(place, isJsonText(text), this.#options)
      if (reader !== null) yield { rows: reader.push(text), reader }
    }
    if (decodedOrNull(() => decoder.decode()) === null) yield { rows: [createNotTextFault(place)], reader: null }
    else if (reader === null) yield { rows: [{ file: place, row: 0, problem: 'is empty' }], reader }
    else yield { rows: reader.end(), reader }
  }

  /** Reported once for each file. */
  #sameLayout(reader: InvoiceReader | null, file: number): readonly RowOrFault[] {
    const layout = reader?.layout ?? null
    this.#layout ??= layout
    if (layout === null || layout.name === this.#layout?.name || this.#differing.has(file)) return []
    this.#differing.add(file)
    return [{ file, row: 1, problem: 'tells other columns than the files before it' }]
  }
}
