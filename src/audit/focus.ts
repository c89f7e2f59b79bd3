import { sql } from 'kysely'
import { dayMs, parseMonth, utcDayAt } from '../domain/instant.ts'
import { findClosing } from '../domain/ledger/periods.ts'
import { formatUsd } from '../domain/money.ts'
import { formatCsvLine } from '../encoding/csv.ts'
import type { WorkspaceOpened } from '../events/types.ts'
import { selectWorkspaces } from '../projections/accounts/queries.ts'
import { selectPeriods } from '../projections/admin-changes/queries.ts'
import { parsePicos } from '../projections/schema/columns.ts'
import { restoredTags, restoredText } from '../projections/schema/stored-text.ts'
import type { ReadModels } from '../projections/schema/tables.ts'
import { entriesOfRange, type OtherDebit, selectOtherDebits } from '../projections/statements/other-debits.ts'
import { netPicos, ReportFault, readReport, sumRows } from '../projections/statements/report.ts'

/** Of FOCUS 1.2, in its order: those of 1.0, and what it added. */
const columns = [
  ...(['AvailabilityZone', 'BilledCost', 'BillingAccountId', 'BillingAccountName', 'BillingAccountType'] as const),
  ...(['BillingCurrency', 'BillingPeriodEnd', 'BillingPeriodStart', 'CapacityReservationId'] as const),
  ...(['CapacityReservationStatus', 'ChargeCategory', 'ChargeClass', 'ChargeDescription', 'ChargeFrequency'] as const),
  ...(['ChargePeriodEnd', 'ChargePeriodStart', 'CommitmentDiscountCategory', 'CommitmentDiscountId'] as const),
  ...(['CommitmentDiscountName', 'CommitmentDiscountQuantity', 'CommitmentDiscountStatus'] as const),
  ...(['CommitmentDiscountType', 'CommitmentDiscountUnit', 'ConsumedQuantity', 'ConsumedUnit'] as const),
  ...([
    'ContractedCost',
    'ContractedUnitPrice',
    'EffectiveCost',
    'InvoiceId',
    'InvoiceIssuerName',
    'ListCost',
  ] as const),
  ...(['ListUnitPrice', 'PricingCategory', 'PricingCurrency', 'PricingCurrencyContractedUnitPrice'] as const),
  ...(['PricingCurrencyEffectiveCost', 'PricingCurrencyListUnitPrice', 'PricingQuantity', 'PricingUnit'] as const),
  ...(['ProviderName', 'PublisherName', 'RegionId', 'RegionName', 'ResourceId', 'ResourceName'] as const),
  ...(['ResourceType', 'ServiceCategory', 'ServiceName', 'ServiceSubcategory', 'SkuId', 'SkuMeter'] as const),
  ...(['SkuPriceDetails', 'SkuPriceId', 'SubAccountId', 'SubAccountName', 'SubAccountType', 'Tags'] as const),
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
  readonly tags: Readonly<Record<string, string>> | null
  readonly quantity: string
  readonly amount: string
}

const rowsPerFetch = 2_000
const sortMemory = '64MB' // Of the server, for each of a few steps.

/**
 * The lines of bills, summed by day, key, price and tags. There are few sums of many lines: they are hashed, since sorting the lines took
 * most of the time, and the tags are compared as they were written before they are parsed.
 */
async function* readLines(
  db: ReadModels,
  range: { readonly from: Date; readonly to: Date },
): AsyncGenerator<readonly UsageRow[]> {
  await sql`select set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true),
    set_config('work_mem', ${sortMemory}, true), set_config('cursor_tuple_fraction', '1', true)`.execute(db)
  await sql`declare focus_lines no scroll cursor for
    select workspace_id, to_char(day, 'YYYY-MM-DD') as day, model, key_id, price_version, item, unit_price,
      tags::jsonb as tags, sum(quantity) as quantity, sum(amount)::numeric(38, 12) as amount
    from (
      select e.workspace_id, (e.time at time zone 'UTC')::date as day, b.model, b.key_id, b.price_version,
        l.item, l."unitPrice" as unit_price, b.tags, sum(l.quantity) as quantity, sum(l.amount) as amount
      from (${entriesOfRange(range)}) e
      join (
        select workspace_id, sequence, event_index, model, key_id, price_version, tags::text, lines from usage_entries
        union all
        select c.workspace_id, c.sequence, c.event_index, t.model, t.key_id, t.price_version, null, t.lines
        from task_charges c join tasks t on t.task_id = c.task_id
      ) b on b.workspace_id = e.workspace_id and b.sequence = e.sequence and b.event_index = e.event_index
      cross join lateral json_to_recordset(b.lines) as l(item text, quantity numeric, "unitPrice" text, amount numeric)
      where e.kind = 'charge'
      group by 1, 2, 3, 4, 5, 6, 7, 8
    ) lines
    group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8`.execute(db)
  for (;;) {
    const { rows } = await sql<UsageRow>`fetch ${sql.lit(rowsPerFetch)} from focus_lines`.execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < rowsPerFetch) break
  }
  await sql`close focus_lines`.execute(db)
}

const unitOf = (item: string): string => (/output|input|reasoning|cache/.test(item) ? 'Tokens' : 'Units')

const costCells = (picos: bigint): Cells => {
  const cost = formatUsd(picos)
  return {
    BilledCost: cost,
    ContractedCost: cost,
    EffectiveCost: cost,
    ListCost: cost,
    PricingCurrencyEffectiveCost: cost,
  }
}

const priceCells = (price: string): Cells => ({
  ...{ ListUnitPrice: price, ContractedUnitPrice: price },
  ...{ PricingCurrencyListUnitPrice: price, PricingCurrencyContractedUnitPrice: price },
})

const resourceCells = (keyId: string, tags: Readonly<Record<string, string>>): Cells => ({
  ...(keyId === '' ? {} : { ResourceId: keyId, ResourceName: keyId, ResourceType: 'API key' }),
  Tags: JSON.stringify(tags, Object.keys(tags).toSorted()),
})

const debitCells = ({ kind, time, debitPicos, allocation, reason, adjustmentId }: OtherDebit): Cells => {
  const isFee = kind === 'fee'
  const correction = `Correction of ${allocation.model || 'no charge'}: ${reason}, ${adjustmentId}`
  const dayStart = Date.parse(utcDayAt(time.getTime()))
  return {
    ...costCells(debitPicos),
    ...resourceCells(allocation.keyId, allocation.tags),
    ChargeCategory: isFee ? 'Purchase' : 'Adjustment',
    ChargeDescription: isFee ? 'Fee of a plan' : correction,
    ChargeFrequency: isFee ? 'Recurring' : 'One-Time',
    ...{ ChargePeriodStart: instantOf(dayStart), ChargePeriodEnd: instantOf(dayStart + dayMs) },
    ...(isFee ? { PricingQuantity: '1', PricingUnit: 'Periods', PricingCategory: 'Standard' } : {}),
    ...(isFee ? { ...priceCells(formatUsd(debitPicos)), SkuId: 'plan', SkuMeter: 'Plan', SkuPriceId: 'plan' } : {}),
  }
}

const lineCells = ({ day, ...row }: UsageRow): Cells => {
  const model = restoredText(row.model)
  return {
    ...costCells(parsePicos(row.amount)),
    ...{ ChargeCategory: 'Usage', ChargeFrequency: 'Usage-Based', ChargeDescription: `${model}: ${row.item}` },
    ...{ ChargePeriodStart: instantOf(Date.parse(day)), ChargePeriodEnd: instantOf(Date.parse(day) + dayMs) },
    ...{ ConsumedQuantity: row.quantity, ConsumedUnit: unitOf(row.item) },
    ...{ PricingQuantity: row.quantity, PricingUnit: unitOf(row.item), PricingCategory: 'Standard' },
    ...priceCells(row.unit_price),
    ...{ SkuId: `${model}/${row.item}`, SkuPriceId: `${model}/${row.item}/${row.price_version}` },
    ...{ SkuMeter: row.item, SkuPriceDetails: JSON.stringify({ x_Model: model, x_Item: row.item }) },
    ...resourceCells(row.key_id, restoredTags(row.tags) ?? {}),
  }
}

interface Names {
  readonly name: string
  readonly account?: string | undefined
}

/** Of a closed month as they were when it was cut off, so that its bytes stay the same. */
const selectNames = async (db: ReadModels, to: Date): Promise<ReadonlyMap<string, Names>> => {
  const closing = findClosing(await selectPeriods(db), to)
  if (closing === null) return new Map((await selectWorkspaces(db)).map((each) => [each.workspaceId, each]))
  const changes = await db
    .selectFrom('admin_changes')
    .select(['type', 'detail'])
    .where('type', 'in', ['WorkspaceOpened', 'WorkspaceChanged'])
    .where('sequence', '<=', BigInt(closing.sequence))
    .orderBy('sequence')
    .orderBy('event_index')
    .execute()
  const names = new Map<string, Names>()
  for (const { type, detail } of changes) {
    const { workspaceId, ...named } = detail as unknown as WorkspaceOpened
    if (type === 'WorkspaceChanged' || !names.has(workspaceId)) names.set(workspaceId, named)
  }
  return names
}

const sharedCells = (range: { readonly from: Date; readonly to: Date }): Cells => ({
  ...{ BillingAccountType: 'Account', SubAccountType: 'Workspace', BillingCurrency: 'USD', PricingCurrency: 'USD' },
  ...{ BillingPeriodStart: instantOf(range.from.getTime()), BillingPeriodEnd: instantOf(range.to.getTime()) },
  ...{ InvoiceIssuerName: 'Model Gateway', ProviderName: 'Model Gateway', PublisherName: 'Model Gateway' },
  ...{ ServiceCategory: 'AI and Machine Learning', ServiceSubcategory: 'Generative AI', ServiceName: 'Model Gateway' },
})

/**
 * A month as FOCUS 1.2, which has the columns of 1.0. Throws ReportFault at its end where its costs are not those of the report. Must be
 * read within one transaction.
 */
export async function* readFocus(db: ReadModels, month: string): AsyncGenerator<string> {
  const range = parseMonth(month)!
  const shared = sharedCells(range)
  const workspaces = await selectNames(db, range.to)
  let costPicos = 0n
  const render = (workspaceId: string, picos: bigint, cells: Cells): string => {
    costPicos += picos
    const { name = workspaceId, account = workspaceId } = workspaces.get(workspaceId) ?? {}
    const all: Cells = {
      ...shared,
      ...{ BillingAccountId: account, BillingAccountName: account, SubAccountId: workspaceId, SubAccountName: name },
      ...cells,
    }
    return formatCsvLine(allColumns.map((column) => all[column] ?? ''))
  }
  yield formatCsvLine([...columns, ...Object.keys(renamed)])
  for await (const lines of readLines(db, range))
    yield lines.map((line) => render(line.workspace_id, parsePicos(line.amount), lineCells(line))).join('')
  for (const debit of await selectOtherDebits(db, entriesOfRange(range)))
    if (!debit.isPayment) yield render(debit.workspaceId, debit.debitPicos, debitCells(debit))
  const { rows } = await readReport(db, { ...range, groupBy: ['workspace'] })
  const netOfMonth = netPicos(sumRows(rows))
  if (costPicos !== netOfMonth)
    throw new ReportFault(`the rows come to ${costPicos} picos, and the report of the month to ${netOfMonth}`)
}
