import { readdirSync } from 'node:fs'
import t from 'tap'
import { openInvoiceFile } from '../../../src/cli/reconcile-command.ts'
import { createDayFormatter } from '../../../src/reconcile/invoices/days.ts'
import { formatNames, Invoice } from '../../../src/reconcile/invoices/invoice.ts'
import { isRowFault } from '../../../src/reconcile/invoices/row.ts'

const folder = new URL('../../../docs/examples/', import.meta.url)

t.test('docs/examples has an invoice of each format, which is read without a bad row', async (t) => {
  const names = readdirSync(folder)
  t.same(names.map((name) => name.slice(0, name.indexOf('.'))).toSorted(), [...formatNames].toSorted())
  for (const format of formatNames) {
    const name = names.find((each) => each.startsWith(`${format}.`))!
    const provider = format.startsWith('anthropic') ? 'anthropic' : format === 'vv-deductions' ? 'vv' : 'openai'
    const options = { provider, dayOf: createDayFormatter('UTC'), roundingPicos: null }
    const invoice = new Invoice([await openInvoiceFile(new URL(name, folder).pathname)], format, options)
    const rows = []
    for await (const some of invoice.rows()) rows.push(...some)
    t.same(rows.filter(isRowFault), [], name)
    const days = new Set(rows.map((row) => ('day' in row ? row.day : null)))
    t.ok(days.size > 0 && [...days].every((day) => day?.startsWith('2026-11-')), `${name} has rows of November`)
  }
})
