import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { entryRecord } from '../../../src/audit/entry-record.ts'
import { readStatementFromLog } from '../../../src/audit/statement.ts'
import { parseUsd } from '../../../src/domain/money.ts'
import { creditKey } from '../../../src/domain/wallet/evolve.ts'
import { wrapEvent } from '../../../src/events/envelope.ts'
import type { Attempt } from '../../../src/events/types.ts'
import { atCheckpoint } from '../../../src/projections/checkpoint/queries.ts'
import { findCorrected } from '../../../src/projections/statements/allocations.ts'
import {
  findSpan,
  positionAfter,
  readStatement,
  type StatementEntry,
  type StatementQuery,
  type StatementRange,
  selectEntries,
} from '../../../src/projections/statements/queries.ts'
import { adjusted, credited, holdPlaced, holdReleased, opened, routed, used } from '../../roles/projector/facts.ts'
import { histories, historyWorkspaces, logOfOwnTasks } from '../../roles/projector/history.ts'
import { ledgerOf, openProjected, project } from '../../roles/projector/projecting.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { startPostgres } from '../../support/postgres.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const postgres = await startPostgres(t)
const projected = await openProjected(t, postgres)
const { db } = projected.database

const startMs = Date.parse('2026-03-01T00:00:00.000Z')
const at = (ms: number): Date => new Date(startMs + ms)

/** A log of credits of 1 whose times are these; every fifth is another workspace's. */
const logAt = async (times: readonly number[]): Promise<MemoryLog> => {
  const log = new MemoryLog({ timeOf: (sequence) => at(times[sequence - 1] ?? 0).toISOString() })
  for (const place of times.keys()) {
    const workspaceId = place % 5 === 4 ? 'beta' : 'acme'
    await log.postToWallet(workspaceId, [credited(`credit-${place}`, '1', workspaceId)])
  }
  return log
}

const read = (range: StatementRange, wanted: Partial<StatementQuery> = {}) =>
  atCheckpoint(db, (trx, sequence) => readStatement(trx, 'acme', { ...range, limit: 1_000, ...wanted }, sequence))

const everything = { from: null, to: null }
const sequences = (entries: readonly StatementEntry[]): readonly number[] => entries.map(({ sequence }) => sequence)

t.test('a range is cut where the log first tells its instant, whatever comes behind', async (t) => {
  await projected.empty()
  await project(await logAt([0, 10_000, 70_000, 60_000, 0, 65_000, 200_000, 90_000]), projected.store, 3)
  const cases: readonly (readonly [
    from: number | null,
    to: number | null,
    entries: readonly number[],
    final: boolean,
  ])[] = [
    [null, null, [1, 2, 3, 4, 6, 7, 8], false],
    [0, 10_000, [1], true],
    [10_000, 60_000, [2], true],
    [60_000, 70_001, [3, 4, 6], true],
    [70_001, null, [7, 8], false],
    [90_000, 200_001, [7, 8], false],
    [200_001, null, [], false],
    [-1, 0, [], true],
  ]
  for (const [from, to, entries, final] of cases) {
    const { sequence, value } = await read({ from: from === null ? null : at(from), to: to === null ? null : at(to) })
    t.same([sequences(value.entries), value.isFinal], [entries, final], `${from} to ${to}`)
    t.equal(value.closing.balancePicos - value.opening.balancePicos, BigInt(entries.length) * parseUsd('1'))
    t.equal(sequence, 8)
  }
})

t.test("a charge has the provider's id of the call that served, whichever side of its request came last", async (t) => {
  const attempt = { model: 'openai/gpt-4o-mini', provider: 'openai', status: 200, reason: null, durationMs: 1 }
  const attempts: Attempt[] = [
    { ...attempt, outcome: 'failed', status: 429, upstreamRequestId: 'req_limited' },
    { ...attempt, outcome: 'served', upstreamRequestId: 'req_served' },
  ]
  const log = new MemoryLog()
  await log.append([opened()])
  await log.postToWallet('acme', [credited('first', '1')])
  await log.append([routed('one', { reserved: '0.0005' }), used('one', { attempts })])
  await log.append([used('two', { attempts }), routed('two')])
  await log.append([routed('three'), used('three', { attempts: [{ ...attempt, outcome: 'served' }] })])
  await projected.empty()
  await project(log, projected.store, 2)
  const { value } = await read(everything)
  t.same(
    value.entries.map(({ kind, reference, upstreamRequestId }) => [kind, reference, upstreamRequestId]),
    [
      ['credit', 'first', ''],
      ['charge', 'one', 'req_served'],
      ['excess', 'one', 'req_served'],
      ['charge', 'two', 'req_served'],
      ['charge', 'three', ''],
    ],
  )
  const folded = await readStatementFromLog({ frames: log, to: log.frames.length }, 'acme', everything)
  const logged: StatementEntry[] = []
  for await (const entry of folded.entries) logged.push(entry)
  t.match(logged, value.entries, 'the log gives the same')
})

const entriesFromLog = async (log: MemoryLog, workspaceId: string): Promise<readonly StatementEntry[]> => {
  const folded = await readStatementFromLog({ frames: log, to: log.frames.length }, workspaceId, everything)
  const entries: StatementEntry[] = []
  for await (const entry of folded.entries) entries.push(entry)
  return entries
}

const correcting = (adjustmentId: string, corrects?: string) => {
  const { corrects: _, ...data } = adjusted(adjustmentId).data
  return {
    ...adjusted(adjustmentId),
    data: { ...data, note: 'a note', ...(corrects === undefined ? {} : { corrects }) },
  }
}

t.test('a correction has the allocation of what it corrects, also where it was stored before it', async (t) => {
  const tags = { team: 'search' }
  const own = { model: 'openai/gpt-4o-mini', keyId: 'key-1', tags }
  const log = new MemoryLog()
  await log.append([opened()])
  await log.postToWallet('acme', [credited('first', '1'), correcting('early', 'one')])
  await log.append([routed('one', { tags }), used('one')])
  await log.postToWallet('acme', [
    correcting('back', 'early'),
    correcting('goodwill'),
    correcting('typo', 'credit:first'),
    correcting('other', 'two'),
    correcting('itself', 'itself'),
  ])
  await log.append([routed('two', { workspaceId: 'beta' }), used('two', { workspaceId: 'beta' })])
  await projected.empty()
  await project(log, projected.store, 2)
  const { entries } = (await read(everything)).value
  const none = { model: '', keyId: '', tags: {}, priceVersion: '' }
  t.match(entries, [
    { kind: 'credit', ...none },
    { reference: 'early', corrects: 'one', note: 'a note', ...own },
    { kind: 'charge', reference: 'one', corrects: '', ...own },
    { reference: 'back', corrects: 'early', ...own },
    { reference: 'goodwill', corrects: '', ...none },
    { reference: 'typo', corrects: 'credit:first', ...none },
    { reference: 'other', corrects: 'two', ...none },
    { reference: 'itself', ...none },
  ])
  t.same((await entriesFromLog(log, 'acme')).map(entryRecord), entries.map(entryRecord))
})

t.test('where what is corrected comes first, the log is scanned and folded once', async (t) => {
  const log = new MemoryLog()
  await log.append([opened(), routed('one'), used('one')])
  await log.postToWallet('acme', [
    credited('first', '1'),
    correcting('back', 'one'),
    correcting('typo', 'credit:first'),
  ])
  let reads = 0
  const read: MemoryLog['read'] = (from, to) => {
    reads += 1
    return log.read(from, to)
  }
  const folded = await readStatementFromLog({ frames: { read }, to: log.frames.length }, 'acme', everything)
  const models: string[] = []
  for await (const { model } of folded.entries) models.push(model)
  t.same(models, ['openai/gpt-4o-mini', '', 'openai/gpt-4o-mini', ''])
  t.equal(reads, 2)
})

t.test('of any history: the tables and the log give the same lines, with the same allocations', async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.integer({ min: 1, max: 9 }), async (history, batch) => {
      const log = logOfOwnTasks(history)
      await projected.empty()
      await project(log, projected.store, batch)
      for (const workspaceId of historyWorkspaces) {
        const { value } = await atCheckpoint(db, (trx, sequence) =>
          readStatement(trx, workspaceId, { ...everything, limit: 1_000 }, sequence),
        )
        if (value.entries.length > 0)
          assert.deepEqual((await entriesFromLog(log, workspaceId)).map(entryRecord), value.entries.map(entryRecord))
      }
    }),
    propertyRuns(12),
  )
})

t.test('holds and releases are hidden where that is asked, unless they are the kind', async (t) => {
  const log = new MemoryLog()
  await log.append([opened()])
  await log.postToWallet('acme', [credited('first', '1'), holdPlaced('hold-1', '0.5'), holdReleased('hold-1')])
  await projected.empty()
  await project(log, projected.store, 2)
  const kinds = async (wanted: Partial<StatementQuery>) =>
    (await read(everything, wanted)).value.entries.map(({ kind }) => kind)
  t.same(await kinds({}), ['credit', 'hold', 'release'])
  t.same(await kinds({ hidesHolds: true }), ['credit'])
  t.same(await kinds({ hidesHolds: true, kind: 'hold' }), ['hold'])
})

/** By the definition alone: the first entry whose time is the instant or later. */
const cutOf = (entries: readonly StatementEntry[], instant: Date): number => {
  const place = entries.findIndex(({ time }) => time >= instant)
  return place < 0 ? entries.length : place
}

t.test('of any times: consecutive statements have every movement once', async () => {
  const ms = fc.nat({ max: 400_000 })
  const times = fc.array(ms, { minLength: 1, maxLength: 40, size: 'max' })
  await fc.assert(
    fc.asyncProperty(
      times,
      fc.array(ms, { maxLength: 4 }),
      fc.integer({ min: 1, max: 9 }),
      async (told, cuts, batch) => {
        await projected.empty()
        await project(await logAt(told), projected.store, batch)
        const { entries } = (await read(everything)).value
        const edges = [null, ...cuts.toSorted((one, other) => one - other).map(at), null]
        const parts = []
        for (const [place, from] of edges.slice(0, -1).entries())
          parts.push((await read({ from, to: edges[place + 1] ?? null })).value)
        assert.deepEqual(
          parts.flatMap((part) => part.entries),
          entries,
        )
        for (const [place, part] of parts.entries()) {
          const [from, to] = [edges[place], edges[place + 1]]
          const first = from ? cutOf(entries, from) : 0
          assert.deepEqual(part.entries, entries.slice(first, to ? cutOf(entries, to) : undefined))
          if (place > 0) assert.deepEqual(part.opening, parts[place - 1]?.closing)
        }
      },
    ),
    propertyRuns(8),
  )
})

t.test('minutes are the same whatever the batches, and as the migration makes them', async (t) => {
  const log = await logAt([0, 130_000, 61_000, 59_000, 125_000, 300_000, 299_000, 301_000])
  const minutes = 'select minute::text from movement_minutes order by 1'
  for (const batch of [1, 3, 100]) {
    await projected.empty()
    await project(log, projected.store, batch)
    t.same(await projected.values(minutes), [
      '2026-03-01 00:00:00+00',
      '2026-03-01 00:02:00+00',
      '2026-03-01 00:05:00+00',
    ])
  }
  const made = await projected.texts()
  await projected.query(`
    delete from movement_minutes;
    insert into movement_minutes (minute, sequence)
    select latest, min(sequence)
    from (
      select date_trunc('minute', max(time) over (order by sequence, event_index, line)) as latest, sequence
      from wallet_entries
    ) as running
    group by latest`)
  t.same(await projected.texts(), made)
})

t.test('pages of one kind or all, read on while the log goes on', async (t) => {
  await projected.empty()
  const log = new MemoryLog()
  await log.append([opened()])
  await log.postToWallet('acme', [credited('first', '100'), holdPlaced('hold-1', '2')])
  for (let each = 0; each < 5; each += 1)
    await log.append([
      routed(`request-${each}`, { allowanceId: 'hold-1', reserved: '0.1' }),
      used(`request-${each}`, { total: '0.25' }),
    ])
  await project(log, projected.store, 500)
  const seen: StatementEntry[] = []
  let readOn: StatementQuery['readOn']
  for (let page = 0; page < 20; page += 1) {
    const { entries, next } = (await read(everything, { limit: 2, readOn })).value
    seen.push(...entries)
    if (next === null) break
    readOn = next
    if (page === 1) {
      await log.postToWallet('acme', [adjusted('adjustment-1', '0.25'), holdReleased('hold-1')])
      await project(log, projected.store, 500)
    }
  }
  t.same(seen, (await read(everything)).value.entries)
  t.same(
    seen.map(({ kind }) => kind),
    [
      ...['credit', 'hold'],
      ...Array.from({ length: 5 }, () => ['charge', 'excess']).flat(),
      ...['adjustment', 'release'],
    ],
  )
  for (const kind of ['credit', 'charge', 'excess', 'adjustment', 'hold', 'release'] as const)
    t.same(
      (await read(everything, { kind })).value.entries,
      seen.filter((entry) => entry.kind === kind),
      kind,
    )
  const { value: excesses } = await read(everything, { kind: 'excess', limit: 2 })
  t.match(excesses, { entries: { length: 2 }, next: { line: 1 } })
  const readOnAfter = await read(everything, { kind: 'excess', readOn: excesses.next ?? undefined })
  t.equal(readOnAfter.value.entries.length, 3)
  const wallet = ledgerOf(log).wallets.get('acme')
  t.equal((await read(everything)).value.closing.heldPicos, wallet?.heldPicos)
})

t.test('a statement is read on from any entry', async (t) => {
  const { value } = await read(everything)
  const span = await findSpan(db, 'acme', everything, 1_000)
  for (const [place, entry] of value.entries.entries())
    t.same(
      await selectEntries(db, 'acme', { ...span, from: positionAfter(entry), limit: 50 }),
      value.entries.slice(place + 1),
    )
  t.match(
    (await atCheckpoint(db, (trx, sequence) => readStatement(trx, 'nobody', { ...everything, limit: 5 }, sequence)))
      .value,
    {
      entries: { length: 0 },
      opening: { balancePicos: 0n },
      closing: { balancePicos: 0n },
    },
  )
})

t.test('a charge has the time of its bill, and never one before the movement above it', async (t) => {
  const log = new MemoryLog()
  const store = (seconds: number, fact: Parameters<typeof wrapEvent>[0]): void => {
    const counter = log.frames.length + 1
    const event = wrapEvent(fact, `event-${counter}`, '/gateway/test', at(seconds * 1_000).toISOString())
    log.store({ walletSubject: null, writer: 'writer-1', counter, events: [event] })
  }
  store(10, used('stored-first'))
  store(9, routed('stored-first'))
  store(1, routed('late'))
  store(5, used('late'))
  await projected.empty()
  await project(log, projected.store, 2)
  const { value } = await read(everything)
  const times = value.entries.map(({ reference, time, eventTime }) => [reference, time, eventTime] as const)
  t.same(times, [
    ['stored-first', at(10_000), at(10_000)],
    ['late', at(10_000), at(5_000)],
  ])
  const fromLog = await readStatementFromLog({ frames: log, to: log.frames.length }, 'acme', everything)
  const folded: StatementEntry[] = []
  for await (const entry of fromLog.entries) folded.push(entry)
  t.same(folded.map(entryRecord), value.entries.map(entryRecord))
})

t.test('what is corrected is looked up only where it can be', async (t) => {
  await projected.empty()
  const log = new MemoryLog()
  await log.append([routed('request-1'), used('request-1')])
  await log.postToWallet('acme', [adjusted('adjustment-1')])
  await project(log, projected.store, 500)
  const queries = async (...ids: readonly string[]): Promise<number> => {
    let count = 0
    const counting = db.withPlugin({
      transformQuery: ({ node }) => {
        count += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    await findCorrected(counting, 'acme', new Set(ids))
    return count
  }
  t.equal(await queries('request-1'), 2, 'no adjustment is looked for')
  t.equal(await queries(creditKey('first')), 0)
  t.equal(await queries('adjustment-1'), 5, 'itself, then the request that it corrects')
})
