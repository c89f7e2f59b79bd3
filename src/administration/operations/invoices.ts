import { hash } from 'node:crypto'
import { utcDayAt } from '../../domain/instant.ts'
import { decideInvoices } from '../../domain/ledger/invoices.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { InvoiceIssued, InvoiceParty } from '../../events/types.ts'
import { httpLimits } from '../../http/limits.ts'
import { pageBody, placeCursor } from '../../http/page.ts'
import { limitParameter } from '../../http/parameters.ts'
import type { AdminChange } from '../../projections/admin-changes/queries.ts'
import { fromTables } from '../../read-api/read-tables.ts'
import { appendGlobalFacts, requireWorkspace } from '../admin-context.ts'
import { renderInvoice } from '../invoice-document.ts'
import { administrationLimits } from '../limits.ts'
import { type AdminOperation, defineOperation, type OperationContext, type OperationInput } from '../operation.ts'
import type { IssueInvoicesRequest } from '../requests.types.ts'
import type { InvoiceResponse } from '../responses.types.ts'
import * as parameters from './parameters.ts'

const renderSummary = (invoice: InvoiceIssued): InvoiceResponse => {
  const { invoiceId, number, kind, workspaceId, month, covers, corrects, issuedOn, net, tax, gross } = invoice
  return {
    ...{ object: 'invoice', id: invoiceId, number, kind, workspace: workspaceId, month, covers },
    ...{ corrects: corrects ?? null, issued_on: issuedOn, net, tax, gross, digest: invoice.documentDigest },
  }
}

const renderParty = ({ name, address, taxId }: InvoiceParty) => ({ name, address, tax_id: taxId ?? null })

const renderWhole = (invoice: InvoiceIssued): InvoiceResponse => {
  const { account, seller, buyer, lines, tags, exact, taxRate, sequence, periodDigest } = invoice
  return {
    ...renderSummary(invoice),
    account: account ?? null,
    seller: renderParty(seller),
    buyer: renderParty(buyer),
    ...{ lines, tags, exact, tax_rate: taxRate },
    period: { sequence, digest: periodDigest },
  }
}

const recordOf = ({ object: _, digest: __, covers: ___, ...invoice }: InvoiceResponse) => invoice

/** Throws `conflict` where no seller is configured. */
const termsOf = ({ invoicing, tail, clock }: OperationContext): Parameters<typeof decideInvoices>[3] => {
  const settings = invoicing()
  if (settings === null)
    throw new GatewayError(
      'conflict',
      'No seller is configured: `invoices.seller` of the configuration is the one who invoices.',
    )
  const { seller, number_prefix: prefix = 'INV-', tax_rate: taxRate = '0', buyers = {} } = settings
  const partyOf = ({ name, address, tax_id: taxId }: typeof seller): InvoiceParty => ({
    ...{ name, address: [...address] },
    ...(taxId === undefined ? {} : { taxId }),
  })
  return {
    ...{ prefix, issuedOn: utcDayAt(clock()), seller: partyOf(seller) },
    ...{ linesMax: administrationLimits.invoiceLinesMax, tagValuesMax: administrationLimits.invoiceTagValuesMax },
    of: (workspaceId) => {
      const { name = workspaceId, account } = tail.ledger.accounts.workspaces.get(workspaceId) ?? {}
      const buyer = buyers[workspaceId] ?? buyers[account ?? '']
      return {
        workspaceName: name,
        ...(account === undefined ? {} : { account }),
        buyer: buyer === undefined ? { name, address: [] } : partyOf(buyer),
        taxRate: buyer?.tax_rate ?? taxRate,
      }
    },
  }
}

/** Of a few documents, each in a frame that holds it; they count one by one. */
const appendInvoices = async (context: OperationContext, invoices: readonly InvoiceIssued[]): Promise<void> => {
  let waiting: InvoiceIssued[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    await appendGlobalFacts(
      context,
      waiting.map((data) => ({ type: 'InvoiceIssued', data })),
    )
    waiting = []
    bytes = 0
  }
  for (const invoice of invoices) {
    const size = Buffer.byteLength(JSON.stringify(invoice))
    if (bytes + size > administrationLimits.invoiceBytesPerAppend) await flush()
    waiting.push(invoice)
    bytes += size
  }
  await flush()
}

/** Decides again on what another process has issued meanwhile. Throws `not_found`, or `conflict` for a month that is open. */
const issueInvoices = async (
  context: OperationContext,
  { month, workspace: workspaceId, dry_run: isDryRun = false }: IssueInvoicesRequest,
): Promise<readonly InvoiceIssued[]> => {
  const { readModels, tail, tagNames } = context
  if (workspaceId !== undefined) requireWorkspace(context, workspaceId)
  const terms = termsOf(context)
  const closed = tail.ledger.periods.get(month)?.closed
  if (closed === undefined || closed === null)
    throw new GatewayError('conflict', `${month} is not closed: close it before it is invoiced.`)
  const { sequence, digest: periodDigest } = closed
  const entries = await fromTables(readModels.readInvoiced({ month, workspaceId, tagNames }, sequence))
  const issued: InvoiceIssued[] = []
  for (let tries = 0; tries < administrationLimits.invoiceTries; tries += 1) {
    const left = administrationLimits.invoicesPerCall - issued.length
    const invoices = decideInvoices(tail.ledger.invoices, { month, sequence, periodDigest }, entries, terms)
      .slice(0, left)
      .map((document) => ({ ...document, documentDigest: hash('sha256', renderInvoice(document)) }))
    if (isDryRun) return invoices
    if (invoices.length === 0) return issued
    await appendInvoices(context, invoices)
    const digests = new Set([...tail.ledger.invoices.issued.values()].map(({ documentDigest }) => documentDigest))
    issued.push(...invoices.filter(({ documentDigest }) => digests.has(documentDigest)))
    if (tail.ledger.periods.get(month)?.closed?.digest !== periodDigest)
      throw new GatewayError('conflict', `${month} was reopened meanwhile.`)
  }
  throw new GatewayError('log_unavailable', 'Too many others issue invoices.', { retryAfterSeconds: 1 })
}

const invoiceOf = ({ detail }: AdminChange): InvoiceIssued => detail as unknown as InvoiceIssued

/** Throws `not_found`. */
const findInvoice = async ({ readModels }: OperationContext, id: string) => {
  const { sequence, value } = await fromTables(
    readModels.listAdminChanges({ types: ['InvoiceIssued'], subject: id, limit: 1 }),
  )
  const [change] = value
  if (change === undefined) throw new GatewayError('not_found', 'There is no such invoice.')
  return { sequence, invoice: invoiceOf(change) }
}

const cursor = placeCursor('invoices')

const lineRecords = ({ lines = [], exact, net, tax, tax_rate: rate, gross }: InvoiceResponse) => [
  ...lines.map(({ kind, model, requests, amount }) => ({ line: kind, model, requests: String(requests), usd: amount })),
  ...Object.entries({ exact, net, [`tax ${rate} %`]: tax, gross }).map(([line, usd]) => ({
    line,
    model: '',
    requests: '',
    usd,
  })),
]

export const invoiceOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'invoice.issue',
    permission: 'move_money',
    summary: 'Invoice a closed month, each entry once; what comes late of an invoiced month corrects that invoice',
    request: 'requests/admin/issue-invoices.json',
    answer: 'list of invoice',
    http: { method: 'post', path: '/admin/v1/invoices' },
    cli: {
      arguments: { month: '<month>' },
      records: (_context, _input, { data = [] }) => (data as readonly InvoiceResponse[]).map(recordOf),
      reports: { unchanged: 'nothing was issued' },
    },
    run: async (context, { body }: OperationInput<IssueInvoicesRequest>) => {
      const issued = await issueInvoices(context, body)
      const data = issued.map(renderSummary)
      return { changed: data.length > 0 && body.dry_run !== true, body: { object: 'list', data, next_cursor: null } }
    },
  }),
  defineOperation({
    name: 'invoice.list',
    permission: 'read_money',
    summary: 'Invoices and credit notes, newest first',
    query: {
      ...{ workspace: parameters.workspaceParameter, month: parameters.monthParameter('all') },
      ...{ cursor: cursor.parameter, limit: limitParameter },
    },
    answer: 'list of invoice',
    http: { method: 'get', path: '/admin/v1/invoices' },
    cli: {
      arguments: {},
      queryOptions: {
        workspace: ['<id>', 'Only those of this one.'],
        month: ['<month>', 'Only those that were issued for this month, such as 2026-11.'],
      },
      reports: { absent: 'there are none' },
      records: async (context, { querystring }) => {
        const query = new URLSearchParams(querystring)
        const wanted = { workspaceId: query.get('workspace') ?? undefined, month: query.get('month') ?? undefined }
        if (wanted.workspaceId !== undefined) requireWorkspace(context, wanted.workspaceId)
        const limit = Number.MAX_SAFE_INTEGER
        const { value } = await context.readModels.listAdminChanges({ types: ['InvoiceIssued'], ...wanted, limit })
        return value.map((change) => recordOf(renderSummary(invoiceOf(change))))
      },
    },
    run: async ({ readModels }, { query }) => {
      const { workspace: workspaceId, month, cursor: readOn, limit = httpLimits.pageRows } = query
      const wanted = { types: ['InvoiceIssued'], workspaceId, month, readOn, limit: limit + 1 }
      const { sequence, value } = await fromTables(readModels.listAdminChanges(wanted))
      const page = pageBody(
        value,
        limit,
        (change) => renderSummary(invoiceOf(change)),
        (last) => cursor.text({ ...last, line: 0 }),
      )
      return { sequence, body: { object: 'list', ...page } }
    },
  }),
  defineOperation({
    name: 'invoice.show',
    permission: 'read_money',
    summary: 'One invoice with its lines',
    answer: 'invoice',
    http: { method: 'get', path: '/admin/v1/invoices/:id' },
    cli: {
      arguments: { id: '<invoice>' },
      records: async (context, { id }, _body, { json }) => {
        const { invoice } = await findInvoice(context, id)
        return json ? [renderWhole(invoice)] : lineRecords(renderWhole(invoice))
      },
    },
    run: async (context, { id }) => {
      const { sequence, invoice } = await findInvoice(context, id)
      return { sequence, body: renderWhole(invoice) }
    },
  }),
  defineOperation({
    name: 'invoice.print',
    permission: 'read_money',
    summary: 'The document as HTML for A4, the same bytes whenever it is printed',
    answer: 'html',
    http: { method: 'get', path: '/admin/v1/invoices/:id/document' },
    cli: {
      arguments: { id: '<invoice>' },
      text: async (context, { id }) => renderInvoice((await findInvoice(context, id)).invoice),
    },
    run: async (context, { id }) => {
      const { sequence, invoice } = await findInvoice(context, id)
      return { sequence, body: {}, html: renderInvoice(invoice) }
    },
  }),
]
