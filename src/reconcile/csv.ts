import { unguardCsvText } from '../encoding/csv.ts'
import { reconcileLimits } from './limits.ts'

export interface CsvRecord {
  /** The line on which it begins, from 1. */
  readonly line: number
  readonly fields: readonly string[]
}

export class CsvFault extends Error {
  override readonly name = 'CsvFault'
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

const quote = '"'

/**
 * Quoted fields may hold commas, line breaks, and doubled quotes (RFC 4180). A file may begin with a byte order mark,
 * and may lack the last line break.
 */
export class CsvReader {
  #rest = ''
  #line = 1
  #started = false

  push(text: string): readonly CsvRecord[] {
    this.#rest += this.#started ? text : text.replace(/^\ufeff/, '')
    this.#started ||= text !== ''
    const records: CsvRecord[] = []
    let from = 0
    for (let end = this.#recordEnd(from); end !== -1; end = this.#recordEnd(from)) {
      this.#add(records, this.#rest.slice(from, end))
      from = end + 1
    }
    this.#rest = this.#rest.slice(from)
    if (this.#rest.length > reconcileLimits.invoiceRecordCharactersMax)
      throw new CsvFault(this.#line, `is longer than ${reconcileLimits.invoiceRecordCharactersMax} characters`)
    return records
  }

  /** Throws CsvFault if the last record ends within quotes. */
  end(): readonly CsvRecord[] {
    const records: CsvRecord[] = []
    if (this.#rest !== '') this.#add(records, this.#rest)
    this.#rest = ''
    return records
  }

  /** -1 if the record's line break is not read yet. One within quotes is part of a field. */
  #recordEnd(from: number): number {
    let quotes = 0
    let counted = from
    for (let end = this.#rest.indexOf('\n', from); end !== -1; end = this.#rest.indexOf('\n', end + 1)) {
      for (let at = this.#rest.indexOf(quote, counted); at !== -1 && at < end; at = this.#rest.indexOf(quote, at + 1))
        quotes += 1
      counted = end
      if (quotes % 2 === 0) return end
    }
    return -1
  }

  #add(records: CsvRecord[], text: string): void {
    const line = this.#line
    this.#line += text.split('\n').length
    const record = text.endsWith('\r') ? text.slice(0, -1) : text
    if (record !== '') records.push({ line, fields: fieldsOf(record, line) })
  }
}

const fieldsOf = (record: string, line: number): readonly string[] =>
  (record.includes(quote) ? quotedFields(record, line) : record.split(',')).map(unguardCsvText)

const quotedField = /"((?:[^"]|"")*)"(,|$)/y
const plainField = /([^",]*)(,|$)/y

const quotedFields = (record: string, line: number): readonly string[] => {
  const fields: string[] = []
  for (let at = 0, separator = ','; separator === ','; ) {
    const pattern = record[at] === quote ? quotedField : plainField
    pattern.lastIndex = at
    const match = pattern.exec(record)
    if (match === null) throw new CsvFault(line, `has quotes that do not match, in column ${fields.length + 1}`)
    fields.push(pattern === quotedField ? match[1]!.replaceAll('""', quote) : match[1]!)
    separator = match[2]!
    at = pattern.lastIndex
  }
  return fields
}
