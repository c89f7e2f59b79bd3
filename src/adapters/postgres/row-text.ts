import type { Row, Value } from '../../projections/schema/read-model.ts'

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

const copyValue = (value: Value): string => (value === null ? nullMarker : escaped(textOfValue(value)))

export const copyLine = (columns: readonly string[], row: Row): string =>
  `${columns.map((column) => copyValue(row[column]!)).join('\t')}\n`
