import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { decideInvoices, type InvoicedEntries } from '../../../src/domain/ledger/invoices.ts'
import { applyFrame, initialLedger, type Ledger } from '../../../src/domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { type Fact, wrapEvent } from '../../../src/events/envelope.ts'
import type { InvoiceIssued } from '../../../src/events/types.ts'
import { propertyRuns } from '../../support/property-runs.ts'

type InvoicedRow = InvoicedEntries['rows'][number]
type Invoices = Ledger['invoices']

const digest = 'ab'.repeat(32)
const totals = {
  ...{ workspaces: 1, requests: 2, opening: '0', credits: '10', charges: '1.5', corrections: '-0.5' },
  ...{ fees: '0', lapsed: '0', closing: '9' },
}
const terms = {
  ...{ prefix: 'INV-', issuedOn: '2026-12-01', linesMax: 3, tagValuesMax: 3 },
  seller: { name: 'Gateway GmbH', address: ['Berlin'] },
  of: (workspaceName: string) => ({ workspaceName, buyer: { name: 'Acme', address: [] }, taxRate: '19' }),
}

/** Appends as a writer does, and says whether each counted. */
const append = (ledger: Ledger, ...facts: readonly Fact[]): readonly boolean[] => {
  const sequence = ledger.sequence + 1
  const events = facts.map((fact) => wrapEvent(fact, 'id', '/gateway/test', '2026-12-01T10:00:00.000Z'))
  return applyFrame(ledger, { sequence, walletSubject: null, writer: 'w', counter: sequence, events }).map(
    ({ isVoid }) => isVoid !== true,
  )
}

const closed = (month: string, sequence: number): readonly Fact[] => [
  { type: 'PeriodCutOff', data: { month } },
  { type: 'PeriodClosed', data: { month, sequence, digest, totals, exceptions: 0 } },
]

const row = (workspaceId: string, refersTo: string, usd: string, changes: Partial<InvoicedRow> = {}): InvoicedRow => ({
  ...{ workspaceId, refersTo, kind: 'usage', model: 'openai/m', requests: 1, picos: parseUsd(usd), ...changes },
})

const decide = (ledger: Pick<Ledger, 'invoices'>, month: string, sequence: number, rows: readonly InvoicedRow[]) =>
  decideInvoices(ledger.invoices, { month, sequence, periodDigest: digest }, { rows, tagged: [] }, terms)

const issued = (data: Omit<InvoiceIssued, 'documentDigest'>): Fact => ({
  type: 'InvoiceIssued',
  data: { ...data, documentDigest: digest },
})

const copy = ({ lastNumber, issued: each }: Invoices): Invoices => ({ lastNumber, issued: new Map(each) })

t.test('numbers have no gap and no double, and each entry is billed once, however many issue at once', async () => {
  const workspace = fc.constantFrom('a', 'b', 'c')
  const row2 = fc
    .record({
      workspace,
      refersTo: fc.constantFrom('2026-10', '2026-11', '2026-12'),
      cents: fc.integer({ min: -9, max: 99 }),
    })
    .map(({ workspace: each, refersTo, cents }) => row(each, refersTo, formatUsd(BigInt(cents) * 10n ** 10n)))
  const turn = fc.record({
    issuer: fc.nat({ max: 3 }),
    month: fc.constantFrom('2026-11', '2026-12'),
    only: fc.option(workspace),
  })
  fc.assert(
    fc.property(fc.array(row2, { maxLength: 12 }), fc.array(turn, { maxLength: 30 }), (rows, turns) => {
      const ledger = initialLedger()
      append(ledger, ...closed('2026-11', 1))
      append(ledger, ...closed('2026-12', 2))
      const rowsOf = (month: string) => rows.filter(({ refersTo }) => refersTo <= month)
      const seen = Array.from({ length: 4 }, () => copy(ledger.invoices)) // What each issuer knows of the log.
      const counted: InvoiceIssued[] = []
      const issue = (invoices: Invoices, month: string, only: string | null): void => {
        const wanted = rowsOf(month).filter(({ workspaceId }) => only === null || workspaceId === only)
        const documents = decide({ invoices }, month, month === '2026-11' ? 1 : 2, wanted)
        const which = append(ledger, ...documents.map(issued))
        counted.push(...documents.flatMap((each, place) => (which[place] ? [{ ...each, documentDigest: digest }] : [])))
      }
      for (const { issuer, month, only } of turns) {
        issue(seen[issuer]!, month, only)
        seen[issuer] = copy(ledger.invoices)
        if (issuer === 0) for (const place of seen.keys()) seen[place] = copy(ledger.invoices)
      }
      for (const month of ['2026-11', '2026-12']) issue(ledger.invoices, month, null)
      assert.deepEqual(
        counted.map(({ number }) => number),
        counted.map((_, place) => place + 1),
      )
      for (const month of ['2026-11', '2026-12']) {
        const billed = counted.filter((each) => each.month === month)
        const keys = billed.flatMap(({ workspaceId, covers }) => covers.map((each) => `${workspaceId} ${each}`))
        assert.equal(new Set(keys).size, keys.length)
        const sum = billed.reduce((picos, { exact }) => picos + parseUsd(exact), 0n)
        assert.equal(
          sum,
          rowsOf(month).reduce((all, { picos }) => all + picos, 0n),
        )
        assert.deepEqual(decide(ledger, month, 1, rowsOf(month)), [], 'nothing is left')
      }
    }),
    propertyRuns(300),
  )
})

t.test('what comes late of an invoiced month is a document that names the invoice', async (t) => {
  const ledger = initialLedger()
  append(ledger, ...closed('2026-11', 1))
  append(ledger, ...decide(ledger, '2026-11', 1, [row('acme', '2026-11', '2')]).map(issued))
  append(ledger, ...closed('2026-12', 3))
  const december = [
    row('acme', '2026-12', '1'),
    row('acme', '2026-11', '-0.5', { kind: 'correction', requests: 0 }),
    row('globex', '2026-11', '0.25'),
  ]
  const documents = decide(ledger, '2026-12', 3, december)
  t.match(documents, [
    { invoiceId: 'INV-000002', kind: 'credit_note', corrects: 'INV-000001', covers: ['2026-11'], gross: '-0.60' },
    { invoiceId: 'INV-000003', kind: 'invoice', covers: ['2026-12'], net: '1.00', tax: '0.19', gross: '1.19' },
    { invoiceId: 'INV-000004', workspaceId: 'globex', covers: ['2026-11', '2026-12'], net: '0.25' },
  ])
  t.same(append(ledger, ...documents.map(issued)), [true, true, true])
})

t.test(
  'nothing is issued for a month that is not closed as it was decided, and an invoiced one stays closed',
  async (t) => {
    const ledger = initialLedger()
    const [document] = decide(ledger, '2026-11', 1, [row('acme', '2026-11', '2')])
    t.same(append(ledger, issued(document!)), [false], 'it is open')
    append(ledger, ...closed('2026-11', 2))
    t.same(append(ledger, issued(document!)), [false], 'cut off by another frame')
    t.same(append(ledger, issued({ ...document!, sequence: 2, periodDigest: 'cd'.repeat(32) })), [false])
    t.same(append(ledger, issued({ ...document!, sequence: 2, number: 2 })), [false], 'a gap')
    t.same(append(ledger, issued({ ...document!, sequence: 2 })), [true])
    t.same(append(ledger, issued({ ...document!, sequence: 2, number: 2 })), [false], 'billed before')
    const reopened: Fact = { type: 'PeriodReopened', data: { month: '2026-11', reason: 'late' } }
    t.same(append(ledger, reopened), [false])
    t.ok(ledger.periods.has('2026-11'))
  },
)

t.test('the sum is rounded once, to cents, halves away from zero, and so is the tax of that', async (t) => {
  const documents = (usd: string, taxRate: string) =>
    decideInvoices(
      initialLedger().invoices,
      { month: '2026-11', sequence: 1, periodDigest: digest },
      { rows: [row('acme', '2026-11', usd)], tagged: [] },
      { ...terms, of: (name) => ({ ...terms.of(name), taxRate }) },
    )
  for (const [usd, taxRate, net, tax, gross] of [
    ['0.005', '0', '0.01', '0.00', '0.01'],
    ['0.004999999999', '19', '0.00', '0.00', '0.00'],
    ['-0.005', '50', '-0.01', '-0.01', '-0.02'],
    ['16.005', '19', '16.01', '3.04', '19.05'],
    ['1', '7.6', '1.00', '0.08', '1.08'],
    ['1000000000', '99.9999', '1000000000.00', '999999000.00', '1999999000.00'],
    ['12.34', '100', '12.34', '12.34', '24.68'],
  ] as const)
    t.match(documents(usd, taxRate), [{ exact: usd, net, tax, gross }], `${usd} at ${taxRate} %`)
})

t.test('too many models or values are a line of their own, and the amounts stay the same', async (t) => {
  const rows = ['1', '5', '0.5', '-3'].map((usd, place) => row('acme', '2026-11', usd, { model: `m${place}` }))
  const tagged = ['x', '', 'y', 'z'].map((value, place) => {
    const { workspaceId, refersTo, picos } = rows[place]!
    return { workspaceId, refersTo, picos, name: 'team', value }
  })
  const untagged = tagged.map((each) => ({ ...each, name: 'env', value: '' }))
  const entries: InvoicedEntries = { rows, tagged: [...tagged, ...untagged] }
  const period = { month: '2026-11', sequence: 1, periodDigest: digest }
  const [document] = decideInvoices(initialLedger().invoices, period, entries, terms)
  t.same(
    document?.lines.map(({ model, requests, amount }) => [model, requests, amount]),
    [
      ['m1', 1, '5'],
      ['m3', 1, '-3'],
      ['other', 2, '1.5'],
    ],
  )
  t.same(document?.tags, [
    {
      name: 'team',
      lines: [
        { value: '', amount: '5' },
        { value: 'z', amount: '-3' },
        { value: 'other', amount: '1.5' },
      ],
    },
  ])
})
