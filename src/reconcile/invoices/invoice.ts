import { createHash } from 'node:crypto'
import { anthropicCost, anthropicUsage } from './anthropic.ts'
import { type DayFormatter, isInstant } from './days.ts'
import { vvDeductions } from './deductions.ts'
import { type FormatOptions, type InvoiceLayout, type InvoiceReader, PageReader } from './format.ts'
import { openaiCosts, openaiUsage } from './openai.ts'
import { plainCsv } from './plain-csv.ts'
import { RowProblem } from './record.ts'
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

const isJsonText = (text: string): boolean => /^\s*[[{]/.test(text)

interface InvoiceChunk {
  readonly rows: readonly RowOrFault[]
  readonly reader: InvoiceReader | null
}

class NotTextFault extends Error {
  override readonly name = 'NotTextFault'
}

/** Without a byte order mark. Throws NotTextFault for anything but UTF-8. */
async function* decodeText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (piece?: Uint8Array): string => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined })
    } catch (cause) {
      throw new NotTextFault('is no text in UTF-8', { cause })
    }
  }
  for await (const piece of bytes) yield decode(piece)
  yield decode()
}

/** The first text that is not blank; null if there is none. */
const readHead = async (texts: AsyncIterator<string>): Promise<string | null> => {
  for (let next = await texts.next(); next.done !== true; next = await texts.next())
    if (next.value.trim() !== '') return next.value
  return null
}

async function* prepend(head: string, texts: AsyncIterable<string>): AsyncGenerator<string> {
  yield head
  yield* texts
}

const dayOrProblem =
  (dayOf: DayFormatter): DayFormatter =>
  (ms) => {
    if (!isInstant(ms)) throw new RowProblem(`has an invalid time: ${ms} milliseconds since 1970`)
    return dayOf(ms)
  }

export class Invoice {
  readonly #files: readonly InvoiceFile[]
  readonly #open: OpenReader
  readonly #options: FormatOptions
  readonly #differing = new Set<number>()
  readonly #hash = createHash('sha256')
  #layout: InvoiceLayout | null = null

  constructor(files: readonly InvoiceFile[], format: FormatName, options: FormatOptions) {
    this.#files = files
    this.#open = readers[format]
    this.#options = { ...options, dayOf: dayOrProblem(options.dayOf) }
  }

  get layout(): InvoiceLayout | null {
    return this.#layout
  }

  /** SHA-256 of the bytes whose rows were read, of all files one after the other. */
  get digest(): string {
    return this.#hash.copy().digest('hex')
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
      yield [{ file: end, row: 0, problem: 'its last page announces more pages: give all of them, in their order' }]
  }

  async *#rowsOf(file: InvoiceFile, place: number): AsyncGenerator<InvoiceChunk> {
    try {
      const texts = decodeText(this.#hashed(file))
      const head = await readHead(texts)
      if (head === null) return yield { rows: [{ file: place, row: 0, problem: 'is empty' }], reader: null }
      const reader = this.#open(place, isJsonText(head), this.#options)
      for await (const rows of reader.read(prepend(head, texts))) yield { rows, reader }
    } catch (fault) {
      if (!(fault instanceof NotTextFault)) throw fault
      yield { rows: [{ file: place, row: 0, problem: fault.message }], reader: null }
    }
  }

  async *#hashed(file: InvoiceFile): AsyncGenerator<Uint8Array> {
    for await (const bytes of file.open()) {
      this.#hash.update(bytes)
      yield bytes
    }
  }

  /** Reported once for each file. */
  #sameLayout(reader: InvoiceReader | null, file: number): readonly RowOrFault[] {
    const layout = reader?.layout ?? null
    this.#layout ??= layout
    if (layout === null || layout.name === this.#layout?.name || this.#differing.has(file)) return []
    this.#differing.add(file)
    return [{ file, row: 1, problem: 'has other columns than the files before it' }]
  }
}
