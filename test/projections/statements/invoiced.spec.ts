import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { parseMonth } from '../../../src/domain/instant.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import { atCheckpoint } from '../../../src/projections/checkpoint/queries.ts'
import { readInvoiced } from '../../../src/projections/statements/invoiced.ts'
import { readStatement, type StatementEntry } from '../../../src/projections/statements/queries.ts'
import { adjusted, creditExpired, credited, opened, planSubscribed, routed, used } from '../../roles/projector/facts.ts'
import { histories, historyWorkspaces, isPayment, logOfOwnTasks } from '../../roles/projector/history.ts'
import { openProjected, project } from '../../roles/projector/projecting.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { startPostgres } from '../../support/postgres.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const projected = await openProjected(t, await startPostgres(t))
const { db } = projected.database

type Query = Parameters<typeof readInvoiced>[1]
const invoiced = async (query: Query) => (await atCheckpoint(db, (trx) => readInvoiced(trx, query))).value

const entriesOf = async (workspaceId: string): Promise<readonly StatementEntry[]> => {
  const range = { from: null, to: null, limit: 10_000 }
  return (await atCheckpoint(db, (trx, sequence) => readStatement(trx, workspaceId, range, sequence))).value.entries
}

/** By the lines of the statement alone. */
const isBilled = (entry: StatementEntry, all: readonly StatementEntry[]): boolean => {
  switch (entry.kind) {
    case 'charge':
    case 'excess':
    case 'fee':
      return true
    case 'credit':
    case 'lapse':
      return all.some(({ kind, reference }) => kind === 'fee' && reference === entry.reference)
    case 'adjustment':
      return !isPayment(entry, all)
    default:
      return false
  }
}

t.test('of any history: what is billed is what the statements debit, without payments', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      await projected.empty()
      await project(logOfOwnTasks(history), projected.store, 7)
      const { from, to } = parseMonth('2026-03')!
      const { rows, tagged } = await invoiced({ month: '2026-03', tagNames: ['team', 'none'] })
      for (const workspaceId of historyWorkspaces) {
        const all = await entriesOf(workspaceId)
        const expected = all
          .filter((entry) => entry.time >= from && entry.time < to && isBilled(entry, all))
          .reduce((sum, { amountPicos }) => sum - amountPicos, 0n)
        const own = rows.filter((row) => row.workspaceId === workspaceId)
        assert.equal(
          own.reduce((sum, { picos }) => sum + picos, 0n),
          expected,
        )
        for (const name of ['team', 'none']) {
          const ofTag = tagged.filter((row) => row.workspaceId === workspaceId && row.name === name)
          assert.equal(
            ofTag.reduce((sum, { picos }) => sum + picos, 0n),
            expected,
          )
        }
        const alone = await invoiced({ month: '2026-03', workspaceId, tagNames: [] })
        assert.equal(
          alone.rows.reduce((sum, { picos }) => sum + picos, 0n),
          expected,
        )
      }
    }),
    propertyRuns(20),
  )
})

const adjustment = (id: string, amount: string, changes: object): ReturnType<typeof adjusted> => {
  const { type, data } = adjusted(id, amount)
  return { type, data: { ...data, ...changes } }
}

t.test('each amount has its kind, its model and the month to which it refers; payments are none of them', async (t) => {
  const days = ['2026-02-10', '2026-02-10', '2026-02-20', '2026-02-28', '2026-03-01', '2026-03-01', '2026-02-25']
  const log = new MemoryLog({ timeOf: (sequence) => `${days[sequence - 1] ?? '2026-03-10'}T12:00:00.000Z` })
  const totals = { workspaces: 1, requests: 0, opening: '0', credits: '0', charges: '0', corrections: '0', fees: '0' }
  const { data: refund } = adjusted('refund')
  const { corrects: _, ...goodwill } = refund
  await log.append([opened()])
  await log.postToWallet('acme', [
    credited('paid', '100'),
    planSubscribed('sub-1', ['2026-02-10', '2026-04-10'], { price: '20', includedCredit: '5' }),
  ])
  await log.append([routed('february', { tags: { team: 'search' } }), used('february', { total: '1' })])
  await log.append([routed('late', { tags: { team: 'search' } })])
  await log.append([{ type: 'PeriodCutOff', data: { month: '2026-02' } }])
  await log.append([
    {
      type: 'PeriodClosed',
      data: {
        ...{ month: '2026-02', sequence: 5, digest: 'ab'.repeat(32), exceptions: 1 },
        totals: { ...totals, lapsed: '0', closing: '0' },
      },
    },
  ])
  await log.append([used('late', { total: '0.25' })])
  await log.append([routed('march'), used('march', { total: '3' })])
  await log.postToWallet('acme', [
    adjustment('refund-1', '0.5', { corrects: 'february', reason: 'refund' }),
    adjustment('refund-2', '-0.1', { corrects: 'refund-1', reason: 'correction' }),
    adjustment('typo', '-10', { corrects: 'credit:paid', reason: 'correction' }),
    adjustment('typo-2', '1', { corrects: 'typo', reason: 'correction' }),
    { type: 'AdjustmentPosted', data: { ...goodwill, adjustmentId: 'nice', amount: '2', reason: 'goodwill' } },
    { type: 'AdjustmentPosted', data: { ...goodwill, adjustmentId: 'back', amount: '-4', reason: 'chargeback' } },
    creditExpired('sub-1@2026-02-10T12:00:00.000Z', '0.75'),
  ])
  await projected.empty()
  await project(log, projected.store, 3)
  const shown = async (month: string) =>
    (await invoiced({ month, tagNames: ['team'] })).rows.map(({ refersTo, kind, model, picos }) => [
      ...[refersTo, kind, model, formatUsd(picos)],
    ])
  t.same(await shown('2026-02'), [
    ['2026-02', 'usage', 'openai/gpt-4o-mini', '1'],
    ['2026-02', 'included', '', '-5'],
    ['2026-02', 'fee', '', '20'],
  ])
  t.same(
    (await shown('2026-03')).map((row) => row.join(' ')).sort(),
    [
      '2026-02 usage openai/gpt-4o-mini 0.25',
      '2026-03 usage openai/gpt-4o-mini 3',
      '2026-02 correction openai/gpt-4o-mini -0.5',
      '2026-03 correction openai/gpt-4o-mini 0.1',
      '2026-03 correction  -2',
      '2026-03 included  0.75',
    ].sort(),
  )
  const { tagged } = await invoiced({ month: '2026-03', tagNames: ['team'] })
  const search = tagged
    .filter(({ value }) => value === 'search')
    .map(({ refersTo, picos }) => [refersTo, formatUsd(picos)])
  t.same(
    search.sort(),
    [
      ['2026-02', '-0.5'],
      ['2026-02', '0.25'],
      ['2026-03', '0.1'],
    ].sort(),
  )
  t.same(await invoiced({ month: '2026-03', workspaceId: 'globex', tagNames: ['team'] }), { rows: [], tagged: [] })
})
