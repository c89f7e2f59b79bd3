import type { readDoubleEntryJournal } from '../audit/double-entry.ts'
import { utcDayAt } from '../domain/instant.ts'
import { createDayFormatter } from '../reconcile/invoices/days.ts'
import { type FormatName, formatNames, Invoice } from '../reconcile/invoices/invoice.ts'
import { isRowFault } from '../reconcile/invoices/row.ts'
import { openInvoiceFile } from './reconcile-command.ts'
import { UsageError } from './report.ts'

type ProviderCost = NonNullable<Parameters<typeof readDoubleEntryJournal>[3]>[number]

interface InvoiceOption {
  readonly provider: string
  readonly format: FormatName
  readonly file: string
}

const parseInvoiceOption = (text: string): InvoiceOption => {
  const [, provider, name, file] = /^([^:]+):([^:]+):(.+)$/.exec(text) ?? []
  const format = formatNames.find((each) => each === name)
  if (provider === undefined || file === undefined || format === undefined)
    throw new UsageError(
      `--invoice is <provider>:<format>:<file>, with a format of ${formatNames.join(', ')}; got '${text}'`,
    )
  return { provider, format, file }
}

type Range = { readonly from: Date; readonly to: Date }

/** What is invoiced without a date is of the last day of the month. */
const readInvoice = async ({ provider, format, file }: InvoiceOption, { from, to }: Range) => {
  const options = { provider, dayOf: createDayFormatter('UTC'), roundingPicos: null }
  const invoice = new Invoice([await openInvoiceFile(file)], format, options)
  const [first, last] = [utcDayAt(from.getTime()), utcDayAt(to.getTime() - 1)]
  const costs = new Map<string, ProviderCost>()
  for await (const rows of invoice.rows())
    for (const row of rows) {
      if (isRowFault(row)) throw new UsageError(`${file}, row ${row.row}: ${row.problem}`)
      if (row.amountPicos === null)
        throw new UsageError(`${file}, row ${row.row}: has quantities, but no amount to be accrued`)
      const day = row.day ?? last
      if (day < first || day > last) continue
      const model = row.model ?? ''
      const name = `${day}\t${model}`
      const amountPicos = (costs.get(name)?.amountPicos ?? 0n) + row.amountPicos
      costs.set(name, { provider, day, model, amountPicos })
    }
  return [...costs.values()]
}

/** What providers invoiced for the days of a month. Throws UsageError for an invoice that cannot be read. */
export const readProviderCosts = async (texts: readonly string[], range: Range): Promise<readonly ProviderCost[]> => {
  const invoices = await Promise.all(texts.map(parseInvoiceOption).map((option) => readInvoice(option, range)))
  return invoices.flat()
}
