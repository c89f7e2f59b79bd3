import { readdirSync } from 'node:fs'
import t from 'tap'
import { PostgresReconcileRepository } from '../../../src/adapters/postgres/reconcile-repository.ts'
import { openInvoiceFile } from '../../../src/cli/reconcile-command.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import { createDayFormatter } from '../../../src/reconcile/invoices/days.ts'
import { type FormatName, formatNames, Invoice } from '../../../src/reconcile/invoices/invoice.ts'
import { computeUnitPicos } from '../../../src/reconcile/invoices/items.ts'
import { type InvoiceRow, isRowFault, unitParts } from '../../../src/reconcile/invoices/row.ts'
import { createModelNames } from '../../../src/reconcile/models.ts'
import { reconcileInvoice } from '../../../src/reconcile/reconcile.ts'
import { opened, routed, taskPlaced, taskSettled, taskSubmitted, used } from '../../roles/projector/facts.ts'
import { openProjected, project } from '../../roles/projector/projecting.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { startPostgres } from '../../support/postgres.ts'

const folder = new URL('../../../docs/examples/', import.meta.url)
/** The others are loaded by the commands of docs/examples.md, or printed by them. */
const names = readdirSync(folder).filter((name) => !['limits.json', 'month', 'prices.json'].includes(name))
const projected = await openProjected(t, await startPostgres(t))

const providerOf = (format: FormatName): string =>
  format.startsWith('anthropic') ? 'anthropic' : format === 'vv-deductions' ? 'vv' : 'openai'

const invoiceOf = async (format: FormatName): Promise<Invoice> => {
  const name = names.find((each) => each.startsWith(`${format}.`))!
  const options = { provider: providerOf(format), dayOf: createDayFormatter('UTC'), roundingPicos: null }
  return new Invoice([await openInvoiceFile(new URL(name, folder).pathname)], format, options)
}

const rowsOf = async (format: FormatName): Promise<readonly InvoiceRow[]> => {
  const invoice = await invoiceOf(format)
  const rows: InvoiceRow[] = []
  for await (const some of invoice.rows())
    for (const row of some) {
      if (isRowFault(row)) throw new Error(`${format}, row ${row.row}: ${row.problem}`)
      rows.push(row)
    }
  return rows
}

const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '0.15', cached_input: '0.075', cache_write_5m: '0.2', output: '0.6' },
  max_output_tokens: 4096,
}
const unitPicos = 140_000_000_000n

/** What the rows say, item by item: of several rows of a day and model together. */
const linesOf = (rows: readonly InvoiceRow[]) =>
  rows.flatMap(({ quantities, amountPicos, item }) => {
    if (quantities === null) return [{ item: item ?? 'input', quantity: 1, picos: amountPicos ?? 0n }]
    return quantities.map(([name, quantity], place) => {
      const pricedPicos = quantity * computeUnitPicos(sheet, name)
      return {
        item: name,
        quantity: Number(quantity),
        picos: amountPicos === null ? pricedPicos : place === 0 ? amountPicos : 0n,
      }
    })
  })

/** The facts of a ledger that was charged what a row, or those of a day and model, say. */
const factsOf = (provider: string, id: string, rows: readonly InvoiceRow[]): readonly Fact[] => {
  const [{ subject, model, quantities }] = rows as [InvoiceRow]
  if (subject?.kind === 'task') {
    const units = formatUsd(quantities?.[0]?.[1] ?? 0n)
    const amount = formatUsd(((quantities?.[0]?.[1] ?? 0n) * unitPicos) / unitParts)
    const line = { item: 'video', quantity: units, unitPrice: formatUsd(unitPicos), amount }
    return [
      taskPlaced(subject.id),
      taskSubmitted(subject.id),
      taskSettled(subject.id, { deduction: units, lines: [line], total: amount }),
    ]
  }
  const lines = linesOf(rows).map(({ picos, ...line }) => ({ ...line, unitPrice: '0', amount: formatUsd(picos) }))
  const total = formatUsd(linesOf(rows).reduce((sum, { picos }) => sum + picos, 0n))
  const named = { model: `${provider}/${model}`, provider }
  const served = { ...named, outcome: 'served', status: 200, reason: null, durationMs: 9 } as const
  const upstream = subject?.isUpstreamId === true ? { upstreamRequestId: subject.id } : {}
  return [routed(id), used(id, { ...named, lines, total, attempts: [{ ...served, ...upstream }] })]
}

const makeLog = async (format: FormatName, rows: readonly InvoiceRow[]): Promise<MemoryLog> => {
  const bills = Map.groupBy(rows, ({ subject, day, model }) => subject?.id ?? `${day} ${model}`)
  const days = [...bills.values()].map(([row]) => row!.day)
  const log = new MemoryLog({ timeOf: (sequence) => `${days[sequence - 2] ?? '2026-11-01'}T12:00:00.000Z` })
  await log.append([opened()])
  for (const [id, some] of bills) await log.append([...factsOf(providerOf(format), id, some)])
  return log
}

t.test('docs/examples has an invoice of each format', async (t) => {
  t.same(names.map((name) => name.slice(0, name.indexOf('.'))).toSorted(), [...formatNames].toSorted())
})

for (const format of formatNames)
  t.test(`the ${format} of docs/examples is reconciled with the ledger of a gateway that was charged so`, async (t) => {
    const rows = await rowsOf(format)
    t.ok(rows.length > 0 && rows.every(({ day }) => day?.startsWith('2026-11-')), 'it has rows of November')
    const log = await makeLog(format, rows)
    await projected.empty()
    await project(log, projected.store, 5)
    const provider = providerOf(format)
    const findings: unknown[] = []
    const models = new Set(rows.map(({ model }) => `${provider}/${model}`))
    const price = { version: 'v1', effectiveFrom: '2026-01-01T00:00:00Z', effectiveFromMs: 0, source: 'a test', sheet }
    const result = await PostgresReconcileRepository.run(projected.place, provider, async (repository) =>
      reconcileInvoice({
        ...{ invoice: await invoiceOf(format), repository, timezone: 'UTC', from: null, to: null },
        names: createModelNames({
          provider,
          catalog: { providers: new Map() },
          prices: new Map([...models].map((model) => [model, [{ ...price, model }]])),
        }),
        unitPrice: { picos: unitPicos, per: unitParts },
        noteOf: () => '',
        onFinding: (finding) => findings.push(finding),
        onCorrection: () => {},
      }),
    )
    t.same(findings, [])
    if ('faults' in result) throw new Error(JSON.stringify(result.faults))
    t.equal(result.totals.invoicedPicos, result.totals.ledgerPicos)
    t.not(result.totals.ledgerPicos, 0n)
  })
