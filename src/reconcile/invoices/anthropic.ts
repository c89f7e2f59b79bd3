import { hundredth, picosRoundingHalfUp } from './decimal.ts'
import {
  type FormatOptions,
  type InvoiceLayout,
  type InvoiceReader,
  PageReader,
  type Quantities,
  type ReadRow,
  toUsageRows,
} from './format.ts'
import { anthropicGroups } from './items.ts'
import { reconcileLimits } from './limits.ts'
import { createPeriodReader, readDayFromInstants } from './period.ts'
import { assertUsd, countAt, decimalAt, type Fields, objectAt, RowProblem, requiredCountAt, textAt } from './record.ts'
import { wildcard } from './row.ts'

const usageLayout: InvoiceLayout = {
  byItem: true,
  hasAmounts: false,
  hasQuantities: true,
  groupOf: anthropicGroups,
  mayRepeat: false,
  name: 'anthropic-usage',
}

const usageRows = (fields: Fields, day: string): readonly ReadRow[] => {
  const written = objectAt(fields, 'cache_creation')
  const quantities: Quantities = [
    ['input', requiredCountAt(fields, 'uncached_input_tokens')],
    ['cached_input', countAt(fields, 'cache_read_input_tokens') ?? 0n],
    ['cache_write_5m', countAt(written, 'ephemeral_5m_input_tokens') ?? 0n],
    ['cache_write_1h', countAt(written, 'ephemeral_1h_input_tokens') ?? 0n],
    ['output', requiredCountAt(fields, 'output_tokens')],
    ['web_search', countAt(objectAt(fields, 'server_tool_use'), 'web_search_requests') ?? 0n],
  ]
  return toUsageRows(quantities, day, textAt(fields, 'model'))
}

const costLayout: InvoiceLayout = {
  byItem: true,
  hasAmounts: true,
  hasQuantities: false,
  groupOf: anthropicGroups,
  mayRepeat: false,
  name: 'anthropic-cost',
}

const tokenTypes: Readonly<Record<string, string>> = {
  uncached_input_tokens: 'input',
  cache_read_input_tokens: 'cached_input',
  'cache_creation.ephemeral_5m_input_tokens': 'cache_write_5m',
  'cache_creation.ephemeral_1h_input_tokens': 'cache_write_1h',
  output_tokens: 'output',
}

/** Without `group_by[]=description` a report has one amount for everything. */
const itemOf = (fields: Fields): string => {
  const costType = textAt(fields, 'cost_type')
  const tokenType = textAt(fields, 'token_type')
  if (costType === null && tokenType === null) return wildcard
  if (costType !== 'tokens' && costType !== null) return costType
  const item = tokenTypes[tokenType ?? '']
  if (item === undefined) throw new RowProblem(`its token_type is not known: ${tokenType ?? 'none'}`)
  return item
}

/** Amounts are cents with decimals. */
const costRows = (fields: Fields, day: string, { roundingPicos }: FormatOptions): readonly ReadRow[] => {
  assertUsd(textAt(fields, 'currency'))
  const cents = decimalAt(fields, 'amount')
  if (cents === null) throw new RowProblem('its amount is missing')
  return [
    {
      subject: null,
      day,
      model: textAt(fields, 'model'),
      item: itemOf(fields),
      quantities: null,
      amountPicos: picosRoundingHalfUp(hundredth(cents)),
      roundingPicos: roundingPicos ?? BigInt(reconcileLimits.reconcileRoundingAnthropicPicos),
    },
  ]
}

/** Responses of `/v1/organizations/usage_report/messages`. */
export const anthropicUsage = (file: number, { dayOf }: FormatOptions): InvoiceReader =>
  new PageReader(
    file,
    usageLayout,
    createPeriodReader((period) => readDayFromInstants(period, dayOf), usageRows),
  )

/** Responses of `/v1/organizations/cost_report`. */
export const anthropicCost = (file: number, options: FormatOptions): InvoiceReader =>
  new PageReader(
    file,
    costLayout,
    createPeriodReader(
      (period) => readDayFromInstants(period, options.dayOf),
      (fields, day) => costRows(fields, day, options),
    ),
  )
