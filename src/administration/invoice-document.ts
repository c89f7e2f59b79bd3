import { formatUsd, parseUsd } from '../domain/money.ts'
import type { InvoiceIssued, InvoiceLine, InvoiceParty } from '../events/types.ts'

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Control characters have no place in a document. */
const escapeHtml = (text: string): string =>
  text.replace(/\p{Cc}/gu, ' ').replace(/[&<>"]/g, (character) => escapes[character]!)

/** A4, in the fonts of the reader's machine: no script, and nothing from elsewhere. */
const style = `@page { size: A4; margin: 18mm }
* { box-sizing: border-box }
body { font: 10.5pt/1.4 "Liberation Sans", Arial, Helvetica, sans-serif; color: #111; background: #fff; max-width: 174mm; margin: 0 auto; padding: 8mm 0 }
@media print { body { padding: 0; max-width: none } }
h1 { font-size: 18pt; margin: 0 0 6mm }
h2 { font-size: 11pt; margin: 8mm 0 2mm; break-after: avoid }
.parties { display: flex; gap: 10mm; margin-bottom: 8mm }
.parties > div { flex: 1; overflow-wrap: anywhere }
.label, th { font-size: 9pt; color: #555; font-weight: normal; text-align: left }
table { width: 100%; border-collapse: collapse }
thead { display: table-header-group }
tr { break-inside: avoid }
th, td { padding: 1.2mm 2mm 1.2mm 0; border-bottom: 0.2mm solid #ccc; vertical-align: top; overflow-wrap: anywhere }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-right: 0 }
tfoot td { border: 0 }
tfoot .due td { border-top: 0.4mm solid #111; font-weight: bold }
.proof { margin-top: 10mm; font-size: 8.5pt; color: #555; overflow-wrap: anywhere; break-inside: avoid }`

const cell = (text: string, isNumber = false): string =>
  `<td${isNumber ? ' class="number"' : ''}>${escapeHtml(text)}</td>`

const partyOf = (label: string, { name, address, taxId }: InvoiceParty, more: readonly string[] = []): string => {
  const lines = [...address, ...(taxId === undefined ? [] : [`Tax ID ${taxId}`]), ...more]
  const text = [`<strong>${escapeHtml(name)}</strong>`, ...lines.map(escapeHtml)].join('<br>')
  return `<div><div class="label">${label}</div>${text}</div>`
}

const describeLine = ({ kind, model, amount }: InvoiceLine): string => {
  const ofModel = model === '' ? '' : ` of ${model}`
  const texts = {
    usage: `Usage${ofModel}`,
    fee: 'Fees of plans',
    included: amount.startsWith('-') ? 'Credit included in plans' : 'Included credit that lapsed',
    correction: `Corrections${ofModel}`,
  }
  return texts[kind]
}

const lineRow = (line: InvoiceLine): string =>
  `<tr>${cell(describeLine(line))}${cell(line.requests === 0 ? '' : String(line.requests), true)}${cell(line.amount, true)}</tr>`

const totalRow = (label: string, amount: string, className = ''): string =>
  `<tr${className === '' ? '' : ` class="${className}"`}><td colspan="2">${escapeHtml(label)}</td>${cell(amount, true)}</tr>`

const totalRows = ({
  exact,
  net,
  taxRate,
  tax,
  gross,
}: Pick<InvoiceIssued, 'exact' | 'net' | 'taxRate' | 'tax' | 'gross'>) => {
  const rounding = parseUsd(net) - parseUsd(exact)
  return [
    ...(rounding === 0n ? [] : [totalRow('Rounding to cents', formatUsd(rounding))]),
    totalRow('Net', net),
    totalRow(`Tax, ${taxRate} %`, tax),
    totalRow('Total, USD', gross, 'due'),
  ].join('\n')
}

const tagTable = ({ name, lines }: InvoiceIssued['tags'][number]): string => {
  const rows = lines.map(
    ({ value, amount }) => `<tr>${cell(value === '' ? 'unattributed' : value)}${cell(amount, true)}</tr>`,
  )
  return `<h2>By ${escapeHtml(name)}</h2>
<table><thead><tr><th>${escapeHtml(name)}</th><th class="number">USD, net</th></tr></thead><tbody>
${rows.join('\n')}
</tbody></table>`
}

/** The bytes follow from the event alone. A layout that is changed needs a member of the event that names it: digests are in use. */
export const renderInvoice = (invoice: Omit<InvoiceIssued, 'documentDigest'>): string => {
  const { invoiceId, kind, workspaceId, workspaceName, account, month, covers, corrects } = invoice
  const { seller, buyer, issuedOn, sequence, periodDigest, lines, tags } = invoice
  const title = `${kind === 'invoice' ? 'Invoice' : 'Credit note'} ${escapeHtml(invoiceId)}`
  const late = covers.filter((covered) => covered !== month)
  const customer = [
    `Workspace ${workspaceName} (${workspaceId})`,
    ...(account === undefined ? [] : [`Account ${account}`]),
  ]
  const facts = [
    `Date ${issuedOn}`,
    `Month ${month} (UTC)`,
    ...(late.length === 0 ? [] : [`With late entries of ${late.join(', ')}`]),
    ...(corrects === undefined ? [] : [`Corrects ${corrects}`]),
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
${style}
</style>
</head>
<body>
<h1>${title}</h1>
<div class="parties">${partyOf('From', seller)}${partyOf('To', buyer, customer)}<div><div class="label">Document</div>${facts.map(escapeHtml).join('<br>')}</div></div>
<table><thead><tr><th>What</th><th class="number">Requests</th><th class="number">USD</th></tr></thead><tbody>
${lines.map(lineRow).join('\n')}
</tbody><tfoot>
${totalRows(invoice)}
</tfoot></table>
${tags.map(tagTable).join('\n')}
<p class="proof">The month was closed at frame ${sequence} of the ledger; the SHA-256 of its statements is ${periodDigest}.</p>
</body>
</html>
`
}
