import { picosRoundingHalfUp } from './decimal.ts'
import {
  type FormatOptions,
  type InvoiceLayout,
  type InvoiceReader,
  LineReader,
  PageReader,
  type Quantities,
  type ReadRow,
  toUsageRows,
} from './format.ts'
import { openaiGroups } from './items.ts'
import { reconcileLimits } from './limits.ts'
import { createPeriodReader, readDayFromSeconds } from './period.ts'
import { assertUsd, countAt, decimalAt, type Fields, objectAt, RowProblem, requiredCountAt, textAt } from './record.ts'
import { wildcard } from './row.ts'

const usageLayout: InvoiceLayout = {
  byItem: true,
  hasAmounts: false,
  hasQuantities: true,
  groupOf: openaiGroups,
  mayRepeat: false,
  name: 'openai-usage',
}

/** The totals include their parts; cached and cache write tokens count as such whatever their modality. */
const tokensOf = (fields: Fields): Quantities => {
  const at = (name: string): bigint => countAt(fields, name) ?? 0n
  const parts = {
    cached_input: at('input_cached_tokens'),
    cache_write: at('input_cache_write_tokens'),
    audio_input: at('input_audio_tokens'),
    image_input: at('input_image_tokens'),
  }
  const outputs = { audio_output: at('output_audio_tokens'), image_output: at('output_image_tokens') }
  const rest = (total: bigint, of: Readonly<Record<string, bigint>>, name: string): bigint => {
    const left = Object.values(of).reduce((sum, each) => sum - each, total)
    if (left < 0n) throw new RowProblem(`${name} is less than the sum of its parts`)
    return left
  }
  const input = rest(requiredCountAt(fields, 'input_tokens'), parts, 'input_tokens')
  const output = rest(countAt(fields, 'output_tokens') ?? 0n, outputs, 'output_tokens')
  return [['input', input], ...Object.entries(parts), ['output', output], ...Object.entries(outputs)]
}

const counting =
  (item: string, name: string) =>
  (fields: Fields): Quantities => [[item, requiredCountAt(fields, name)]]

/** By the kind of a result. For products that the gateway does not sell, the count is taken as it is. */
const quantitiesOf: Readonly<Record<string, (fields: Fields) => Quantities>> = {
  completions: tokensOf,
  embeddings: tokensOf,
  moderations: tokensOf,
  web_searches: counting('web_search', 'num_requests'),
  file_searches: counting('file_search', 'num_requests'),
  code_interpreter_sessions: counting('code_interpreter', 'num_sessions'),
  images: counting('images', 'images'),
  audio_speeches: counting('characters', 'characters'),
  audio_transcriptions: counting('seconds', 'seconds'),
  vector_stores: counting('bytes', 'usage_bytes'),
}

const objectPattern = /^organization\.usage\.(\w+)\.result$/

const kindOf = (fields: Fields): string => {
  const object = textAt(fields, 'object')
  const kind = object === null ? undefined : objectPattern.exec(object)?.[1]
  if (kind !== undefined && Object.hasOwn(quantitiesOf, kind)) return kind
  if (object === null && 'input_tokens' in fields) return 'completions'
  if (object === null && 'num_sessions' in fields) return 'code_interpreter_sessions'
  throw new RowProblem(`is not a known result of a usage report: ${object ?? 'it has no object'}`)
}

const usageRows = (fields: Fields, day: string): readonly ReadRow[] =>
  toUsageRows(quantitiesOf[kindOf(fields)]!(fields), day, textAt(fields, 'model'))

const isBlank = (fields: Fields, names: readonly string[]): boolean =>
  names.every((name) => textAt(fields, name) === null)

/** A period without usage has a line of its own, with these columns alone. */
const periodColumns = ['start_time', 'end_time', 'start_time_iso', 'end_time_iso']
const isEmptyPeriod = (fields: Fields): boolean =>
  isBlank(
    fields,
    Object.keys(fields).filter((name) => !periodColumns.includes(name)),
  )

const costsLayout: InvoiceLayout = {
  byItem: true,
  hasAmounts: true,
  hasQuantities: true,
  groupOf: openaiGroups,
  mayRepeat: false,
  name: 'openai-costs',
}

const modalities = ['text', 'audio', 'image']
const lineItemPattern = /^(\S+?)(?: (text|audio|image))?, ([a-z_ ]+)$/i

interface LineItem {
  readonly model: string | null
  readonly item: string
}

const itemOfWords = (words: readonly string[]): string | null => {
  const rest = words.filter((word) => word !== 'tokens' && word !== 'text')
  const modality = rest.find((word) => modalities.includes(word))
  const [what, ...more] = rest.filter((word) => word !== modality)
  const name = [what, ...more].join(' ')
  if (name === 'cached input') return 'cached_input'
  if (name === 'cache write' || name === 'cache writes') return 'cache_write'
  if (name !== 'input' && name !== 'output') return null
  return modality === undefined ? name : `${modality}_${name}`
}

const toolLines: Readonly<Record<string, string>> = {
  'web search tool calls': 'web_search',
  'file search tool calls': 'file_search',
  'code interpreter sessions': 'code_interpreter',
}

/** A line that names no chat model is kept under its own text: no model here has such a name. */
const readLineItem = (text: string | null): LineItem => {
  if (text === null) return { model: null, item: wildcard }
  const tool = toolLines[text.toLowerCase()]
  if (tool !== undefined) return { model: null, item: tool }
  const [, model, modality = '', words = ''] = lineItemPattern.exec(text) ?? []
  const item = itemOfWords(`${modality} ${words}`.toLowerCase().split(/[ _]+/).filter(Boolean))
  return model === undefined || item === null ? { model: text, item: 'other' } : { model, item }
}

const tokensPerUnit: Readonly<Record<string, bigint>> = { tokens: 1n, '1000_tokens': 1_000n }
const picosPerWhole = 10n ** 12n

/** Null if the unit is not that of the item, or the quantity is not a whole number. */
const quantityOf = (fields: Fields): bigint | null => {
  const quantity = decimalAt(fields, 'quantity')
  const per = tokensPerUnit[textAt(fields, 'quantity_unit') ?? 'tokens']
  if (quantity === null || per === undefined) return null
  const parts = picosRoundingHalfUp(quantity) * per
  return parts >= 0n && parts % picosPerWhole === 0n ? parts / picosPerWhole : null
}

interface Money {
  readonly value: ReturnType<typeof decimalAt>
  readonly currency: string | null
}

const costRow = (fields: Fields, { value, currency }: Money, day: string, options: FormatOptions): ReadRow => {
  assertUsd(currency)
  if (value === null) throw new RowProblem('its amount is missing')
  const { model, item } = readLineItem(textAt(fields, 'line_item'))
  const quantity = item === wildcard ? null : quantityOf(fields)
  return {
    subject: null,
    day,
    model,
    item,
    quantities: quantity === null ? null : [[item, quantity]],
    amountPicos: picosRoundingHalfUp(value),
    roundingPicos: options.roundingPicos ?? BigInt(reconcileLimits.reconcileRoundingOpenaiPicos),
  }
}

const costRows = (fields: Fields, day: string, options: FormatOptions): readonly ReadRow[] => {
  const amount = objectAt(fields, 'amount')
  const money = { value: decimalAt(amount, 'value'), currency: textAt(amount, 'currency') }
  return [costRow(fields, money, day, options)]
}

const costLine = (fields: Fields, day: string, options: FormatOptions): readonly ReadRow[] => {
  const money = { value: decimalAt(fields, 'amount_value'), currency: textAt(fields, 'amount_currency') }
  return [costRow(fields, money, day, options)]
}

/** Throws RowProblem for a missing column; a file of empty periods has only the period's columns. */
const assertColumns = (columns: readonly string[], needed: readonly string[]): void => {
  const isEmpty = columns.every((column) => periodColumns.includes(column))
  const missing = [...periodColumns.slice(0, 2), ...(isEmpty ? [] : needed)].filter((name) => !columns.includes(name))
  if (missing.length > 0) throw new RowProblem(`the column ${missing.join(' and ')} is missing`)
}

/** Responses of the usage endpoints: pages in JSON, or the CSV file of the dashboard. */
export const openaiUsage = (file: number, isJson: boolean, { dayOf }: FormatOptions): InvoiceReader =>
  isJson
    ? new PageReader(
        file,
        usageLayout,
        createPeriodReader((period) => readDayFromSeconds(period, dayOf), usageRows),
      )
    : new LineReader(file, (columns) => {
        assertColumns(columns, ['input_tokens'])
        return {
          layout: usageLayout,
          read: (fields) => (isEmptyPeriod(fields) ? [] : usageRows(fields, readDayFromSeconds(fields, dayOf))),
        }
      })

/** Responses of the costs endpoint: pages in JSON, or the CSV file of the dashboard. */
export const openaiCosts = (file: number, isJson: boolean, options: FormatOptions): InvoiceReader =>
  isJson
    ? new PageReader(
        file,
        costsLayout,
        createPeriodReader(
          (period) => readDayFromSeconds(period, options.dayOf),
          (fields, day) => costRows(fields, day, options),
        ),
      )
    : new LineReader(file, (columns) => {
        assertColumns(columns, ['amount_value'])
        return {
          layout: costsLayout,
          read: (fields) =>
            isEmptyPeriod(fields) ? [] : costLine(fields, readDayFromSeconds(fields, options.dayOf), options),
        }
      })
