import { sql } from 'kysely'
import { dayMs, parseMonth, utcDayAt } from '../domain/instant.ts'
import { formatUsd } from '../domain/money.ts'
import { formatCsvLine } from '../encoding/csv.ts'
import { selectWorkspaces } from '../projections/accounts/queries.ts'
import { parsePicos } from '../projections/schema/columns.ts'
import { restoredText } from '../projections/schema/stored-text.ts'
import type { ReadModels } from '../projections/schema/tables.ts'
import { entriesOfRange, type OtherDebit, selectOtherDebits } from '../projections/statements/other-debits.ts'
import { netPicos, ReportFault, readReport, sumRows } from '../projections/statements/report.ts'

/** Of FOCUS 1.0, in its order. */
const columns = [
  ...(['AvailabilityZone', 'BilledCost', 'BillingAccountId', 'BillingAccountName', 'BillingCurrency'] as const),
  ...(['BillingPeriodEnd', 'BillingPeriodStart', 'ChargeCategory', 'ChargeClass', 'ChargeDescription'] as const),
  ...(['ChargeFrequency', 'ChargePeriodEnd', 'ChargePeriodStart', 'CommitmentDiscountCategory'] as const),
  ...([
    'CommitmentDiscountId',
    'CommitmentDiscountName',
    'CommitmentDiscountStatus',
    'CommitmentDiscountType',
  ] as const),
  ...(['ConsumedQuantity', 'ConsumedUnit', 'ContractedCost', 'ContractedUnitPrice', 'EffectiveCost'] as const),
  ...(['InvoiceIssuerName', 'ListCost', 'ListUnitPrice', 'PricingCategory', 'PricingQuantity', 'PricingUnit'] as const),
  ...([
    'ProviderName',
    'PublisherName',
    'RegionId',
    'RegionName',
    'ResourceId',
    'ResourceName',
    'ResourceType',
  ] as const),
  ...(['ServiceCategory', 'ServiceName', 'SkuId', 'SkuPriceId', 'SubAccountId', 'SubAccountName', 'Tags'] as const),
] as const

/** Names that focus-validator 1.0.0 asks for and FOCUS 1.0 has renamed; the same values again. */
const renamed = {
  ...{ InvoiceIssuer: 'InvoiceIssuerName', Provider: 'ProviderName', Publisher: 'PublisherName' },
  ...{ ResourceID: 'ResourceId', ChargeType: 'ChargeCategory' },
} as const satisfies Readonly<Record<string, (typeof columns)[number]>>
const allColumns = [...columns, ...Object.values(renamed)]

type Cells = Partial<Readonly<Record<(typeof columns)[number], string>>>

const instantOf = (ms: number): string => new Date(ms).toISOString().replace('.000', '')

interface UsageRow {
  readonly workspace_id: string
  readonly day: string
  readonly model: string
  readonly key_id: string
  readonly price_version: string
  readonly item: string
  readonly unit_price: string
  readonly quantity: string
  readonly amount: string
}

/** The lines of bills, summed by day, key and price. */
const selectLines = async (
  db: ReadModels,
  range: { readonly from: Date; readonly to: Date },
): Promise<readonly UsageRow[]> => {
  const { rows } = await sql<UsageRow>`
    select e.workspace_id, to_char(e.time at time zone 'UTC', 'YYYY-MM-DD') as day, b.model, b.key_id, b.price_version,
      l.item, l."unitPrice" as unit_price, sum(l.quantity) as quantity, sum(l.amount)::numeric(38, 12) as amount
    from (${entriesOfRange(range)}) e
    join (
      select workspace_id, sequence, event_index, model, key_id, price_version, lines from usage_entries
      union all
      select c.workspace_id, c.sequence, c.event_index, t.model, t.key_id, t.price_version, t.lines
      from task_charges c join tasks t on t.task_id = c.task_id
    ) b on b.workspace_id = e.workspace_id and b.sequence = e.sequence and b.event_index = e.event_index
    cross join lateral json_to_recordset(b.lines) as l(item text, quantity numeric, "unitPrice" text, amount numeric)
    where e.kind = 'charge'
    group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7`.execute(db)
  return rows
}

const unitOf = (item: string): string => (/output|input|reasoning|cache/.test(item) ? 'Tokens' : 'Units')

const debitCells = ({ kind, time, debitPicos, allocation }: OtherDebit): Cells => {
  const cost = formatUsd(debitPicos)
  const isFee = kind === 'fee'
  const dayStart = Date.parse(utcDayAt(time.getTime()))
  return {
    ...{ BilledCost: cost, ContractedCost: cost, EffectiveCost: cost, ListCost: cost },
    ChargeCategory: isFee ? 'Purchase' : 'Adjustment',
    ChargeDescription: isFee ? 'Fee of a plan' : `Correction of ${allocation.model || 'no charge'}`,
    ChargeFrequency: isFee ? 'Recurring' : 'One-Time',
    ...{ ChargePeriodStart: instantOf(dayStart), ChargePeriodEnd: instantOf(dayStart + dayMs) },
    ...(isFee ? { PricingQuantity: '1', PricingUnit: 'Periods', PricingCategory: 'Standard' } : {}),
    ...(isFee ? { ListUnitPrice: cost, ContractedUnitPrice: cost, SkuId: 'plan', SkuPriceId: 'plan' } : {}),
  }
}

const lineCells = ({ day, ...row }: UsageRow): Cells => {
  const [cost, price] = [formatUsd(parsePicos(row.amount)), row.unit_price]
  const model = restoredText(row.model)
  return {
    ...{ BilledCost: cost, ContractedCost: cost, EffectiveCost: cost, ListCost: cost },
    ...{ ChargeCategory: 'Usage', ChargeFrequency: 'Usage-Based', ChargeDescription: `${model}: ${row.item}` },
    ...{ ChargePeriodStart: instantOf(Date.parse(day)), ChargePeriodEnd: instantOf(Date.parse(day) + dayMs) },
    ...{ ConsumedQuantity: row.quantity, ConsumedUnit: unitOf(row.item) },
    ...{ PricingQuantity: row.quantity, PricingUnit: unitOf(row.item), PricingCategory: 'Standard' },
    ...{ ListUnitPrice: price, ContractedUnitPrice: price },
    ...{ SkuId: `${model}/${row.item}`, SkuPriceId: `${model}/${row.item}/${row.price_version}` },
    ...{ ResourceId: row.key_id, ResourceName: row.key_id, ResourceType: 'API key' },
  }
}

/** A month as FOCUS 1.0. Throws ReportFault where its costs are not those of the report. Must run in one transaction. */
export async function* readFocus(db: ReadModels, month: string): AsyncGenerator<string> {
  const range = parseMonth(month)!
  const workspaces = new Map((await selectWorkspaces(db)).map((each) => [each.workspaceId, each]))
  const render = (workspaceId: string, cells: Cells): string => {
    const { name = workspaceId, account = workspaceId } = workspaces.get(workspaceId) ?? {}
    const all: Cells = {
      ...{ BillingAccountId: account, BillingAccountName: account, BillingCurrency: 'USD', Tags: '{}' },
      ...{ BillingPeriodStart: instantOf(range.from.getTime()), BillingPeriodEnd: instantOf(range.to.getTime()) },
      ...{ InvoiceIssuerName: 'Model Gateway', ProviderName: 'Model Gateway', PublisherName: 'Model Gateway' },
      ...{ ServiceCategory: 'AI and Machine Learning', ServiceName: 'Model Gateway' },
      ...{ SubAccountId: workspaceId, SubAccountName: name },
      ...cells,
    }
    return formatCsvLine(allColumns.map((column) => all[column] ?? ''))
  }
  const lines = await selectLines(db, range)
  const debits = await selectOtherDebits(db, entriesOfRange(range))
  const costs = [...lines.map(({ amount }) => parsePicos(amount)), ...debits.map(({ debitPicos }) => debitPicos)]
  const costPicos = costs.reduce((sum, cost) => sum + cost, 0n)
  const { rows } = await readReport(db, { ...range, groupBy: ['workspace'] })
  const netOfMonth = netPicos(sumRows(rows))
  if (costPicos !== netOfMonth)
    throw new ReportFault(`the rows come to ${costPicos} picos, and the report of the month to ${netOfMonth}`)
  yield formatCsvLine([...columns, ...Object.keys(renamed)])
  for (const line of lines) yield render(line.workspace_id, lineCells(line))
  for (const debit of debits) yield render(debit.workspaceId, debitCells(debit))
}
