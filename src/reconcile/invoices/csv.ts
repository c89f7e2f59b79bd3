import { finished } from 'node:stream/promises'
import { CsvError, type Parser, parse } from 'csv-parse'
import { unguardCsvText } from '../../encoding/csv.ts'
import { reconcileLimits } from './limits.ts'

export interface CsvRecord {
  /** The line on which it begins, from 1. */
  readonly line: number
  readonly fields: readonly string[]
}

export class CsvFault extends Error {
  override readonly name = 'CsvFault'
  readonly line: number

  constructor(line: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.line = line
  }
}

const quoteFaults = ['CSV_INVALID_CLOSING_QUOTE', 'INVALID_OPENING_QUOTE', 'CSV_QUOTE_NOT_CLOSED']

const describeFault = ({ code, column, message }: CsvError): string =>
  quoteFaults.includes(code) ? `has quotes that do not match, in column ${Number(column) + 1}` : `is no CSV: ${message}`

const countLineBreaks = (field: string): number => (field.includes('\n') ? field.split('\n').length - 1 : 0)

/** Lines are counted here: the parser counts a CRLF within quotes twice. */
class RecordCollector {
  #records: CsvRecord[] = []
  #line = 1

  get line(): number {
    return this.#line
  }

  add(fields: readonly string[]): void {
    const isBlankLine = fields.length === 1 && fields[0] === ''
    if (!isBlankLine) this.#records.push({ line: this.#line, fields: fields.map(unguardCsvText) })
    this.#line += fields.reduce((sum, field) => sum + countLineBreaks(field), 1)
  }

  take(): readonly CsvRecord[] {
    const records = this.#records
    this.#records = []
    return records
  }
}

const write = (parser: Parser, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    parser.write(text, (fault) => (fault ? reject(fault) : resolve()))
  })

const end = (parser: Parser): Promise<void> => finished(parser.end(), { readable: false })

/** The records of a file (RFC 4180) as it is read; blank lines are left out. Throws CsvFault. */
export async function* readCsv(texts: AsyncIterable<string>): AsyncGenerator<readonly CsvRecord[]> {
  const collector = new RecordCollector()
  const parser = parse({
    bom: true,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    on_record: (fields: readonly string[]) => {
      collector.add(fields)
      return null
    },
  })
  parser.on('error', () => {}) // `write` and `end` reject with it.
  let pendingCharacters = 0
  try {
    for await (const text of texts) {
      const { line } = collector
      await write(parser, text)
      yield collector.take()
      // Not `max_record_size`: it does not count commas.
      pendingCharacters = collector.line === line ? pendingCharacters + text.length : 0
      if (pendingCharacters > reconcileLimits.invoiceRecordCharactersMax)
        throw new CsvFault(line, `is longer than ${reconcileLimits.invoiceRecordCharactersMax} characters`)
    }
    await end(parser)
    yield collector.take()
  } catch (fault) {
    if (!(fault instanceof CsvError)) throw fault
    yield collector.take()
    throw new CsvFault(collector.line, describeFault(fault), { cause: fault })
  }
}
