import t from 'tap'
import { confirmReported, summarizeCharge } from '../../src/audit/confirm.ts'
import type { Evidence, EvidenceEvent } from '../../src/audit/evidence.ts'
import { parseUsd } from '../../src/domain/money.ts'
import { usageOf } from '../../src/domain/usage/usage.ts'

const evidenceOf = (type: string, data: object): Evidence => ({
  id: 'x',
  events: [{ sequence: 1, index: 0, event: { type, data }, movements: [], seal: null } as unknown as EvidenceEvent],
  sheet: {
    sequence: 1,
    published: {
      sheet: { currency: 'USD', per_million_tokens: { input: '1', output: '2' }, max_output_tokens: 100 },
    } as NonNullable<Evidence['sheet']>['published'],
  },
  key: null,
  sequence: 2,
  isComplete: true,
})

t.test('the rest of a usage that cannot be, and of a deduction, is debited once an operator confirms it', async (t) => {
  const usage = usageOf({ total: 1_000_000 }, { total: 1e9 })
  const bill = { workspaceId: 'acme', total: '0.5', usage, plausible: false }
  t.match(confirmReported(evidenceOf('UsageRecorded', bill), 'operator:ana'), {
    data: { adjustmentId: 'confirmed:x', amount: '-2000.5', reason: 'correction', by: 'operator:ana' },
  })
  const { plausible: _plausible, ...plain } = bill
  t.equal(confirmReported(evidenceOf('UsageRecorded', plain), 'operator:ana'), null)

  const negative = { ...bill, usage: { ...usageOf({ total: 0 }, { total: 5 }), negative: { prompt_tokens: -5 } } }
  t.match(confirmReported(evidenceOf('UsageRecorded', negative), 'operator:ana'), {
    data: { amount: '0.49999', note: /0 tokens in, 5 out; prompt_tokens -5, counted as 0/ },
  })

  const lines = [{ item: 'video', quantity: '45', unitPrice: '0.14', amount: '6.3' }]
  const deduction = '999999999'
  const settled = { workspaceId: 'acme', total: '6.3', lines, source: 'estimated', deduction, plausible: false }
  t.match(confirmReported(evidenceOf('TaskSettled', settled), 'operator:ana'), {
    data: { amount: '-139999993.56', note: /999999999 units/ },
  })
  const reported = { ...settled, source: 'reported', plausible: undefined }
  t.equal(confirmReported(evidenceOf('TaskSettled', reported), 'operator:ana'), null)
  t.equal(confirmReported(evidenceOf('TaskSettled', settled), 'operator:ana', '9'), null, 'it can be read')
})

t.test(
  'a deduction that is missing or no number is confirmed as estimated, or at the units of the operator',
  async (t) => {
    const lines = [{ item: 'video', quantity: '4.5', unitPrice: '0.14', amount: '0.63' }]
    const settled = { workspaceId: 'acme', total: '0.63', lines, source: 'estimated' }
    for (const [deduction, word] of [
      [undefined, /the vendor reported none/],
      ['three', /"three" is no number/],
    ] as const) {
      const evidence = evidenceOf('TaskSettled', { ...settled, deduction })
      t.match(confirmReported(evidence, 'operator:ana'), { data: { amount: '0', note: word } })
      t.match(confirmReported(evidence, 'operator:ana', '4'), { data: { amount: '0.07', note: /4 units/ } })
      t.match(confirmReported(evidence, 'operator:ana', '5.5'), { data: { amount: '-0.14', note: word } })
    }
  },
)

const posted = (adjustmentId: string, corrects: string, amount: string): EvidenceEvent =>
  ({
    ...{ sequence: 2, index: 0, movements: [{}], seal: null },
    event: { type: 'AdjustmentPosted', data: { adjustmentId, corrects, amount } },
  }) as unknown as EvidenceEvent

t.test('a charge is what it was, without reversals of its corrections', async (t) => {
  const evidence = evidenceOf('TaskSettled', { total: '0.63' })
  const events = [...evidence.events, posted('operator:1', 'x', '0.2'), posted('operator:2', 'operator:1', '-0.2')]
  t.equal(
    summarizeCharge({ ...evidence, events }).chargedPicos,
    parseUsd('0.83'),
    'of which the wallet has 0.2 as given back',
  )
  t.equal(summarizeCharge(evidenceOf('UsageRecorded', { total: '0.5' })).chargedPicos, parseUsd('0.5'))
})
