import { formatUsd } from '../../src/domain/money.ts'
import { amountOf, type Style, type Told, type ToldRow } from './invoices.ts'
import { days } from './ledger.ts'

/** With so many decimals, zeros too. */
const decimalText = (picos: bigint, decimals: number): string => {
  const [whole = '0', fraction = ''] = formatUsd(picos).split('.')
  return `${whole}.${fraction.padEnd(decimals, '0')}`
}

const secondsOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1_000
const daySeconds = 86_400

const nothing: Told = { quantity: 0n, amountPicos: 0n }
const quantityOf = ({ items }: ToldRow, item: string): string => (items.get(item) ?? nothing).quantity.toString()

const sumOf = (row: ToldRow, ...items: readonly string[]): string =>
  items.reduce((sum, item) => sum + (row.items.get(item) ?? nothing).quantity, 0n).toString()

const snapshots: Readonly<Record<string, string>> = { a: 'a-2026-02-01', b: 'b-20260201' }
/** As an invoice calls it: now and then by a snapshot. */
const nameOf = (model: string): string => snapshots[model] ?? model

const openaiUsageOf = (row: ToldRow) => ({
  object: 'organization.usage.completions.result',
  input_tokens: Number(sumOf(row, 'input', 'cached_input')),
  output_tokens: Number(quantityOf(row, 'output')),
  input_cached_tokens: Number(quantityOf(row, 'cached_input')),
  num_model_requests: 1,
  project_id: null,
  model: nameOf(row.model),
  batch: false,
})

const anthropicUsageOf = (row: ToldRow) => ({
  uncached_input_tokens: Number(quantityOf(row, 'input')),
  cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
  cache_read_input_tokens: Number(quantityOf(row, 'cached_input')),
  output_tokens: Number(quantityOf(row, 'output')),
  server_tool_use: { web_search_requests: 0 },
  model: nameOf(row.model),
  workspace_id: null,
})

const lineItems: Readonly<Record<string, string>> = { input: 'input', cached_input: 'cached input', output: 'output' }
const tokenTypes: Readonly<Record<string, string>> = {
  input: 'uncached_input_tokens',
  cached_input: 'cache_read_input_tokens',
  output: 'output_tokens',
}

const costsOf = (row: ToldRow) =>
  [...row.items].map(([item, { quantity, amountPicos }]) => ({
    object: 'organization.costs.result',
    amount: { value: `${decimalText(amountPicos, 12)}000000000000`, currency: 'usd' },
    line_item: `${nameOf(row.model)}, ${lineItems[item]}`,
    quantity: Number(quantity),
    quantity_unit: 'tokens',
  }))

const costReportOf = (row: ToldRow) =>
  [...row.items].map(([item, { amountPicos }]) => ({
    currency: 'USD',
    amount: decimalText(amountPicos * 100n, 12),
    cost_type: 'tokens',
    token_type: tokenTypes[item],
    description: 'Usage',
    model: nameOf(row.model),
  }))

const periodOf = (style: Style, day: string) =>
  style.format.startsWith('openai')
    ? { object: 'bucket', start_time: secondsOf(day), end_time: secondsOf(day) + daySeconds }
    : { starting_at: `${day}T00:00:00Z`, ending_at: new Date((secondsOf(day) + daySeconds) * 1_000).toISOString() }

const resultsOf: Readonly<Record<string, (row: ToldRow) => readonly object[]>> = {
  'openai-usage': (row) => [openaiUsageOf(row)],
  'openai-costs': costsOf,
  'anthropic-usage': (row) => [anthropicUsageOf(row)],
  'anthropic-cost': costReportOf,
}

const pages = (style: Style, rows: readonly ToldRow[]): string =>
  days
    .map((day, place) => {
      const results = rows.filter((row) => row.day === day).flatMap(resultsOf[style.format]!)
      const hasMore = place < days.length - 1
      return JSON.stringify({ object: 'page', data: [{ ...periodOf(style, day), results }], has_more: hasMore })
    })
    .join('\n')

const csv = (columns: readonly string[], lines: readonly (readonly string[])[]): string =>
  [columns, ...lines]
    .map((fields) => fields.map((field) => (field.includes(',') ? `"${field}"` : field)).join(','))
    .join('\r\n')

const periodColumns = ['start_time', 'end_time', 'start_time_iso', 'end_time_iso']
const periodFields = (day: string): readonly string[] => [
  String(secondsOf(day)),
  String(secondsOf(day) + daySeconds),
  `${day}T00:00:00+00:00`,
  '',
]

const usageCsv = (rows: readonly ToldRow[]): string =>
  csv(
    [...periodColumns, 'num_model_requests', 'model', 'input_tokens', 'output_tokens', 'input_cached_tokens'],
    rows.map((row) => {
      const { input_tokens, output_tokens, input_cached_tokens, model } = openaiUsageOf(row)
      return [
        ...periodFields(row.day),
        '1.0',
        model,
        `${input_tokens}.0`,
        `${output_tokens}.0`,
        `${input_cached_tokens}.0`,
      ]
    }),
  )

const costsCsv = (rows: readonly ToldRow[]): string =>
  csv(
    [...periodColumns, 'amount_value', 'amount_currency', 'quantity', 'quantity_unit', 'line_item'],
    rows.flatMap((row) =>
      costsOf(row).map(({ amount, quantity, line_item }) => [
        ...[...periodFields(row.day), amount.value, 'usd', String(quantity), 'tokens', line_item],
      ]),
    ),
  )

const ownCsv = (style: Style, provider: string, rows: readonly ToldRow[]): string => {
  const items = style.quantities ? ['input', 'cached_input', 'output'] : []
  const amounts = style.amounts ? ['amount'] : []
  const ids = style.subject === 'request' ? ['request_id'] : []
  return csv(
    ['provider', 'day', 'model', ...ids, ...items, ...amounts],
    rows.map((row) => [
      ...[provider, row.day, nameOf(row.model), ...(row.id === null ? [] : [row.id])],
      ...items.map((item) => quantityOf(row, item)),
      ...amounts.map(() => decimalText(amountOf(row), row.decimals)),
    ]),
  )
}

const taskPages = (rows: readonly ToldRow[]): string => {
  const data = rows.map(({ id, units, day }) => ({
    task_id: `vendor-${id}`,
    task_status: 'succeed',
    task_info: { external_task_id: id },
    updated_at: secondsOf(day) * 1_000 + 3_600_000,
    final_unit_deduction: units,
  }))
  return JSON.stringify({ code: 0, message: 'SUCCEED', data })
}

const taskCsv = (rows: readonly ToldRow[]): string =>
  csv(
    ['external_task_id', 'final_unit_deduction', 'day'],
    rows.map(({ id, units, day }) => [id!, units!, day]),
  )

/** The text of an invoice's file. */
export const written = (style: Style, provider: string, rows: readonly ToldRow[]): string => {
  if (style.format === 'csv') return ownCsv(style, provider, rows)
  if (style.format === 'vv-deductions') return style.form === 'json' ? taskPages(rows) : taskCsv(rows)
  if (style.form === 'json') return pages(style, rows)
  return style.format === 'openai-usage' ? usageCsv(rows) : costsCsv(rows)
}
