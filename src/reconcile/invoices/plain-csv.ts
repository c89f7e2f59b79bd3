import { isUsd, minOf } from '../../domain/money.ts'
import { type DayFormatter, instantMs, isDay } from './days.ts'
import { type ExactDecimal, picoDecimals, picosRoundingHalfUp } from './decimal.ts'
import { type FormatOptions, type InvoiceLayout, type InvoiceReader, LineReader, type ReadRow } from './format.ts'
import { groupByColumns, tokenItems } from './items.ts'
import { reconcileLimits } from './limits.ts'
import { countAt, decimalAt, type Fields, RowProblem, textAt, unitsAt } from './record.ts'
import { type RowSubject, videoItem } from './row.ts'

const plainColumns = ['provider', 'model', 'day', 'time', 'request_id', 'upstream_request_id', 'task_id', 'amount']
const toolPrefix = 'tool:'
const toolPattern = /^tool:[\w.-]+$/

const isQuantityColumn = (column: string): boolean =>
  (tokenItems as readonly string[]).includes(column) || column === videoItem || toolPattern.test(column)

const itemOf = (column: string): string => (column.startsWith(toolPrefix) ? column.slice(toolPrefix.length) : column)

const layoutOf = (columns: readonly string[], quantityColumns: readonly string[]): InvoiceLayout => ({
  byItem: false,
  hasAmounts: columns.includes('amount'),
  hasQuantities: quantityColumns.length > 0,
  groupOf: groupByColumns(new Set(quantityColumns.map(itemOf))),
  mayRepeat: false,
  hasUpstreamIds: columns.includes('upstream_request_id'),
  name: `csv ${columns.toSorted().join(',')}`,
})

/** Half of the last decimal that is written, but no more than half a cent: `12.5` may be exact, or 12.50. */
const roundingOf = ({ decimals }: ExactDecimal): bigint =>
  decimals >= picoDecimals
    ? 0n
    : minOf(BigInt(reconcileLimits.reconcileRoundingMaxPicos), (5n * 10n ** BigInt(picoDecimals - decimals)) / 10n)

const dayOfLine = (fields: Fields, dayOf: DayFormatter): string | null => {
  const day = textAt(fields, 'day')
  const time = textAt(fields, 'time')
  if (day !== null && !isDay(day)) throw new RowProblem(`day is no day such as 2026-03-31: ${JSON.stringify(day)}`)
  if (day !== null || time === null) return day
  const ms = instantMs(time)
  if (Number.isNaN(ms)) throw new RowProblem(`time is no instant with an offset: ${JSON.stringify(time)}`)
  return dayOf(ms)
}

const subjectOf = (fields: Fields): RowSubject | null => {
  const requestId = textAt(fields, 'request_id')
  const upstreamRequestId = textAt(fields, 'upstream_request_id')
  const taskId = textAt(fields, 'task_id')
  if ((requestId ?? upstreamRequestId) !== null && taskId !== null) throw new RowProblem('names a request and a task')
  if (requestId !== null) return { kind: 'request', id: requestId }
  if (upstreamRequestId !== null) return { kind: 'request', id: upstreamRequestId, isUpstreamId: true }
  return taskId === null ? null : { kind: 'task', id: taskId }
}

const quantityAt = (fields: Fields, column: string): bigint =>
  (column === videoItem ? unitsAt(fields, column) : countAt(fields, column)) ?? 0n

interface Line {
  readonly layout: InvoiceLayout
  readonly quantityColumns: readonly string[]
  readonly options: FormatOptions
}

const amountOf = (fields: Fields, { layout, options }: Line): Pick<ReadRow, 'amountPicos' | 'roundingPicos'> => {
  const amount = decimalAt(fields, 'amount')
  if (layout.hasAmounts && amount === null) throw new RowProblem('amount is missing')
  return amount === null
    ? { amountPicos: null, roundingPicos: 0n }
    : { amountPicos: picosRoundingHalfUp(amount), roundingPicos: options.roundingPicos ?? roundingOf(amount) }
}

/** The cost of one request or task is posted as it is, so it must fit an event. */
const assertPostable = (amountPicos: bigint | null): void => {
  if (amountPicos !== null && amountPicos < 0n) throw new RowProblem('amount is below zero, for one request or task')
  if (amountPicos !== null && !isUsd(amountPicos)) throw new RowProblem('amount has more than 15 whole digits')
}

const readLine = (fields: Fields, line: Line): readonly ReadRow[] => {
  const { quantityColumns, options } = line
  const provider = textAt(fields, 'provider')?.toLowerCase()
  if (provider !== undefined && provider !== options.provider.toLowerCase()) return []
  const subject = subjectOf(fields)
  const day = dayOfLine(fields, options.dayOf)
  const model = textAt(fields, 'model')
  if (subject === null && (day === null || model === null))
    throw new RowProblem(`${day === null ? 'day' : 'model'} is missing, and no request or task is named`)
  const amount = amountOf(fields, line)
  if (subject !== null) assertPostable(amount.amountPicos)
  const quantities = quantityColumns.map((column) => [itemOf(column), quantityAt(fields, column)] as const)
  return [
    {
      subject,
      day,
      model,
      item: null,
      quantities: quantities.length === 0 ? null : quantities.filter(([, quantity]) => quantity > 0n),
      ...amount,
    },
  ]
}

const assertColumns = (columns: readonly string[], layout: InvoiceLayout): void => {
  if (columns.length === 1 && /[;\t]/.test(columns[0]!))
    throw new RowProblem('names one column: separate them by commas')
  const unknown = columns.filter((column) => !plainColumns.includes(column) && !isQuantityColumn(column))
  if (unknown.length > 0) throw new RowProblem(`names columns that are not known: ${unknown.join(', ')}`)
  if (!layout.hasAmounts && !layout.hasQuantities) throw new RowProblem('names neither an amount nor a quantity')
  if (layout.name.split(',').length > reconcileLimits.invoicePartsMax)
    throw new RowProblem(`names more than ${reconcileLimits.invoicePartsMax} columns`)
}

/**
 * Columns: `provider`, `model`, `day` or `time`, `request_id` or `task_id` if the row is of one, or the provider's
 * `upstream_request_id`, which counts where the row has no `request_id`; quantities by the items of a charge (`input`, `cached_input`, `cache_write_5m`, …, `output`, `reasoning`, `video`, `tool:<name>`), and
 * `amount` in USD.
 */
export const plainCsv = (file: number, options: FormatOptions): InvoiceReader =>
  new LineReader(file, (columns) => {
    const quantityColumns = columns.filter(isQuantityColumn)
    const layout = layoutOf(columns, quantityColumns)
    assertColumns(columns, layout)
    const line = { layout, quantityColumns, options }
    return { layout, read: (fields) => readLine(fields, line) }
  })
