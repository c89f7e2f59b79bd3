import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { renderInvoice } from '../../src/administration/invoice-document.ts'
import type { InvoiceIssued } from '../../src/events/types.ts'

const recorded = new URL('../events/recorded/InvoiceIssued.v1.jsonl', import.meta.url)
const { data: invoice } = JSON.parse(readFileSync(recorded, 'utf8')) as { readonly data: InvoiceIssued }

t.test('the bytes of a document never change: their digest is in the events of those that were issued', async (t) => {
  t.equal(hash('sha256', renderInvoice(invoice)), '79b848c6e9d129dea06dae4b195a68275066cfb35e64b0e3f5e45d8f58a3d45f')
})

t.test('it has nothing but itself: no script and no resource', async (t) => {
  const html = renderInvoice(invoice)
  t.notMatch(html, /<script|<link|<img|https?:|url\(|@import| on\w+=/i)
  t.match(html, /@page \{ size: A4/)
  t.match(html, /Rounding to cents<\/td><td class="number">0.005</)
  t.match(html, /Total, USD<\/td><td class="number">19.05</)
  t.match(html, /<h2>By team<\/h2>/)
  t.match(html, new RegExp(invoice.periodDigest))
})

t.test('names are text, whatever they have in them', async (t) => {
  const name = '<script>alert("1")</script>\u0000&'
  const party = { name, address: [name], taxId: name }
  const html = renderInvoice({
    ...invoice,
    ...{ workspaceName: name, account: name, seller: party, buyer: party, invoiceId: name, corrects: name },
    lines: [{ kind: 'usage', model: name, requests: 1, amount: '1' }],
    tags: [{ name, lines: [{ value: name, amount: '1' }] }],
  })
  t.notOk(html.includes('<script') || html.includes('\u0000'))
  t.match(html, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt; &amp;/)
})

t.test('a credit note names the invoice that it corrects, and the month', async (t) => {
  const html = renderInvoice({ ...invoice, kind: 'credit_note', corrects: 'INV-000007', covers: ['2026-10'] })
  t.match(html, /<h1>Credit note INV-000001<\/h1>/)
  t.match(html, /With late entries of 2026-10<br>Corrects INV-000007/)
})
