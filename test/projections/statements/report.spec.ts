import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { parseRangeEnd } from '../../../src/domain/instant.ts'
import { creditKey } from '../../../src/domain/wallet/evolve.ts'
import type { FactOf } from '../../../src/events/envelope.ts'
import { selectWorkspaces } from '../../../src/projections/accounts/queries.ts'
import { atCheckpoint } from '../../../src/projections/checkpoint/queries.ts'
import { showGroup } from '../../../src/projections/statements/other-debits.ts'
import { readStatement, type StatementEntry } from '../../../src/projections/statements/queries.ts'
import {
  netPicos,
  parseReportGroup,
  type ReportGroup,
  type ReportQuery,
  readReport,
  sumRows,
} from '../../../src/projections/statements/report.ts'
import {
  selectUsage,
  type UsageGroup,
  type UsageQuery,
  type UsageSums,
} from '../../../src/projections/usage/queries.ts'
import { findBilling } from '../../../src/projections/wallets/queries.ts'
import { adjusted, credited, opened, planSubscribed, routed, used } from '../../roles/projector/facts.ts'
import { histories, historyWorkspaces, isPayment, logOfOwnTasks } from '../../roles/projector/history.ts'
import { openProjected, project } from '../../roles/projector/projecting.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { startPostgres } from '../../support/postgres.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const postgres = await startPostgres(t)
const projected = await openProjected(t, postgres)
const { db } = projected.database

const report = (wanted: ReportQuery) => atCheckpoint(db, (trx) => readReport(trx, wanted)).then(({ value }) => value)

const statementOf = async (workspaceId: string, { from, to }: ReportQuery): Promise<readonly StatementEntry[]> => {
  const page = await atCheckpoint(db, (trx, sequence) =>
    readStatement(trx, workspaceId, { from, to, limit: 10_000 }, sequence),
  )
  return page.value.entries
}

/** By a line of the statement alone. */
const groupOf = (
  workspaceId: string,
  entry: StatementEntry,
  groupBy: readonly ReportGroup[],
  accounts: ReadonlyMap<string, string> = new Map(),
): string =>
  JSON.stringify(
    groupBy.map((group) => {
      if (group === 'workspace') return workspaceId
      if (group === 'account') return accounts.get(workspaceId) ?? ''
      if (group === 'model') return entry.model
      if (group === 'key') return entry.keyId
      if (group === 'surface') return entry.surface
      if (group === 'day') return entry.time.toISOString().slice(0, 10)
      if (group === 'hour') return `${entry.time.toISOString().slice(0, 13)}:00Z`
      if (group === 'week') return isoWeek(entry.time)
      if (group === 'end_user') return entry.endUser
      if (group === 'month') return entry.time.toISOString().slice(0, 7)
      return entry.tags[group.slice('tag:'.length)] ?? ''
    }),
  )

/** Of the first days of March 2026. */
const isoWeek = (time: Date): string => (time < new Date('2026-03-02') ? '2026-W09' : '2026-W10')

/** Writers disagree about the time, and what they write is stored in another order. */
const withSkewedClocks = (log: MemoryLog, skews: readonly number[]): MemoryLog => {
  const skewed = new MemoryLog()
  for (const { walletSubject, writer, counter, events } of log.frames) {
    const skewMs = (skews[skewed.frames.length % skews.length] ?? 0) * 60_000
    const moved = events.map((event) => ({ ...event, time: new Date(Date.parse(event.time) + skewMs).toISOString() }))
    skewed.store({ walletSubject, writer, counter, events: moved })
  }
  return skewed
}

const skews = fc.array(fc.integer({ min: -40, max: 40 }), { maxLength: 5 })

const usageNet = ({ totalPicos, correctionsPicos, feesPicos }: UsageSums): bigint =>
  totalPicos + correctionsPicos + feesPicos

const pagedUsage = async (workspaceId: string, wanted: Omit<UsageQuery, 'limit'>): Promise<readonly UsageSums[]> => {
  const read: UsageSums[] = []
  for (;;) {
    const page = await selectUsage(db, workspaceId, { ...wanted, after: read.at(-1)?.group, limit: 2 })
    if (page.length === 0) return read
    read.push(...page)
  }
}

const always: ReportQuery = { from: new Date(0), to: new Date('2100-01-01'), groupBy: [] }
const debits = new Set(['charge', 'excess', 'fee', 'adjustment'])

/** By the lines of the statement alone: what is debited, without corrections of credits, which undo a receipt. */
const costsOf = (entries: readonly StatementEntry[], all: readonly StatementEntry[]): readonly StatementEntry[] =>
  entries.filter((entry) => debits.has(entry.kind) && !isPayment(entry, all))

const groups = fc.uniqueArray(
  fc.constantFrom<ReportGroup>(
    ...(['workspace', 'account', 'model', 'key', 'surface', 'end_user', 'tag:team', 'tag:env'] as const),
    ...(['hour', 'day', 'week', 'month'] as const),
  ),
  { minLength: 1, maxLength: 3 },
)
const days = fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: 5 })).map(([one, other]) => {
  const dayOf = (place: number) => `2026-03-0${1 + place}`
  return { from: dayOf(Math.min(one, other)), to: dayOf(Math.max(one, other)) }
})
const usageGroups = fc.uniqueArray(fc.constantFrom<UsageGroup>('day', 'model', 'key', 'surface', 'label'), {
  minLength: 1,
  maxLength: 3,
})
const labels = fc.constantFrom('tag:team', 'tag:env', 'end_user')
const midnights = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-04-01'].map((day) => new Date(day))
const instant = fc.oneof(
  fc.constantFrom(...midnights),
  fc.integer({ min: 0, max: 700 }).map((minutes) => new Date(Date.parse('2026-03-01T22:00:00Z') + minutes * 60_000)),
)

t.test('of any history, period and grouping: the report is what the lines of the statements come to', async () => {
  await fc.assert(
    fc.asyncProperty(histories, skews, instant, instant, groups, async (history, moved, one, other, groupBy) => {
      await projected.empty()
      await project(withSkewedClocks(logOfOwnTasks(history), moved), projected.store, 7)
      const [from, to] = one <= other ? [one, other] : [other, one]
      const wanted = { from, to, groupBy }
      const expected = new Map<string, bigint>()
      const workspaces = await selectWorkspaces(db)
      const accounts = new Map(workspaces.map(({ workspaceId, account = '' }) => [workspaceId, account]))
      for (const workspaceId of historyWorkspaces)
        for (const entry of costsOf(await statementOf(workspaceId, wanted), await statementOf(workspaceId, always))) {
          const group = groupOf(workspaceId, entry, groupBy, accounts)
          expected.set(group, (expected.get(group) ?? 0n) - entry.amountPicos)
        }
      const { rows } = await report(wanted)
      assert.deepEqual(new Map(rows.map((row) => [JSON.stringify(row.group), netPicos(row)])), expected)
    }),
    propertyRuns(50),
  )
})

const usageGroupOf = (entry: StatementEntry, groupBy: readonly UsageGroup[], label: string): string =>
  groupOf(
    '',
    entry,
    groupBy.map((group) => (group === 'label' ? (label as ReportGroup) : group)),
  )

t.test(
  'of any history, days and grouping: usage and fees net of corrections are the debits of the statement',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        histories,
        skews,
        days,
        usageGroups,
        labels,
        async (history, moved, { from, to }, groupBy, name) => {
          await projected.empty()
          await project(withSkewedClocks(logOfOwnTasks(history), moved), projected.store, 7)
          const label = groupBy.includes('label') ? { name, value: null } : undefined
          const wanted = { from, to, groupBy, label }
          for (const workspaceId of historyWorkspaces) {
            const expected = new Map<string, bigint>()
            const range = { from: new Date(from), to: parseRangeEnd(to)!, groupBy: [] }
            for (const entry of costsOf(
              await statementOf(workspaceId, range),
              await statementOf(workspaceId, always),
            )) {
              const group = usageGroupOf(entry, groupBy, name)
              expected.set(group, (expected.get(group) ?? 0n) - entry.amountPicos)
            }
            const sums = await selectUsage(db, workspaceId, { ...wanted, limit: 1_000 })
            const found = sums.map((each) => [JSON.stringify(each.group), usageNet(each)] as const)
            assert.deepEqual(new Map(found), expected)
            assert.deepEqual(await pagedUsage(workspaceId, wanted), sums)
          }
        },
      ),
      propertyRuns(25),
    )
  },
)

const correcting = (id: string, amount: string, corrects: string): FactOf<'AdjustmentPosted'> => {
  const { type, data } = adjusted(id, amount)
  return { type, data: { ...data, corrects } }
}

t.test(
  'charges, corrections and fees are apart, without corrections of payments; what cannot be attributed is in a row of its own',
  async (t) => {
    const log = new MemoryLog()
    await log.append([opened()])
    const goodwill = adjusted('goodwill', '0.5')
    const { corrects: _, ...unrelated } = goodwill.data
    await log.postToWallet('acme', [
      credited('first', '10'),
      planSubscribed('sub-1', ['2026-03-01', '2026-04-01'], { price: '5' }),
    ])
    await log.append([routed('one', { tags: { team: 'search' } }), used('one')])
    await log.append([routed('two'), used('two')])
    await log.postToWallet('acme', [
      correcting('refund', '0.0003', 'one'),
      correcting('refund-2', '-0.0003', 'refund'),
      correcting('refund-3', '0.0001', 'refund-2'),
      { ...goodwill, data: unrelated },
      correcting('typo', '-9', creditKey('first')),
      correcting('typo-2', '1', 'typo'),
      correcting('typo-3', '-0.5', 'typo-2'),
      { ...goodwill, data: { ...unrelated, adjustmentId: 'returned', amount: '-3', reason: 'chargeback' } },
      correcting('returned-2', '0.25', 'returned'),
    ])
    await projected.empty()
    await project(log, projected.store, 3)
    const { rows, workspaces } = await report({ ...always, groupBy: ['tag:team'] })
    t.equal(workspaces, 1)
    const [none, search] = rows
    t.match(none, { group: [''], requests: 1, correctionsPicos: -500_000_000_000n })
    t.ok(none!.feesPicos > 0n)
    t.match(search, { group: ['search'], requests: 1, feesPicos: 0n, correctionsPicos: -100_000_000n })
    t.match(await findBilling(db, 'acme'), { usageAdjustmentsPicos: 100_000_000n }, 'those that a request is behind')
    const weeks = await report({ ...always, groupBy: ['week'] })
    t.match(weeks.rows, [{ group: ['2026-W09'], requests: 2 }])
    t.equal(netPicos(sumRows(weeks.rows)), netPicos(sumRows(rows)))
  },
)

t.test('a period without movements, and names of groups', async (t) => {
  await projected.empty()
  t.same(await report({ from: new Date(0), to: new Date(1), groupBy: ['workspace'] }), { rows: [], workspaces: 0 })
  t.same(['model', 'tag:team', 'tag:', 'region', ''].map(parseReportGroup), ['model', 'tag:team', null, null, null])
})

t.test('a value that is the word for none is shown apart from it', async (t) => {
  const values = ['', 'unattributed', '"unattributed"', '"unattributed', 'search', '"search"']
  t.same(values.map(showGroup), [
    'unattributed',
    '"unattributed"',
    '""unattributed""',
    '""unattributed"',
    ...['search', '"search"'],
  ])
})
