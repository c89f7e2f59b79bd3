import type { Row, Value } from '../../projections/schema/read-model.ts'
import { postgresLimits } from './limits.ts'

const textOfValue = (value: Exclude<Value, null>): string => {
  if (typeof value === 'string') return value
  return typeof value === 'object' ? `{${value.join(',')}}` : String(value)
}

export const toColumnText = (value: Value): string | null => (value === null ? null : textOfValue(value))

const special = /[\\\t\n\r]/
const everySpecial = /[\\\t\n\r]/g
const escapes: { readonly [character: string]: string } = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
const nullMarker = '\\N'

const escaped = (text: string): string =>
  special.test(text) ? text.replace(everySpecial, (character) => escapes[character]!) : text

const copyValue = (value: Value): string => {
  if (value === null) return nullMarker
  return typeof value === 'string' ? escaped(value) : textOfValue(value)
}

const copyLine = (columns: readonly string[], row: Row): string => {
  let line = ''
  let separator = ''
  for (const column of columns) {
    line += separator + copyValue(row[column]!)
    separator = '\t'
  }
  return `${line}\n`
}

/** In chunks. */
export function* toCopyText(names: readonly string[], rows: readonly Row[]): Generator<Buffer> {
  for (let start = 0; start < rows.length; start += postgresLimits.copyRowsPerChunk) {
    let text = ''
    for (const row of rows.slice(start, start + postgresLimits.copyRowsPerChunk)) text += copyLine(names, row)
    yield Buffer.from(text)
  }
}
