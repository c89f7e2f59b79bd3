import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { defaultSchema } from '../../src/adapters/postgres/connection.ts'
import { type ReplayParts, type ReplayReport, rebuildReadModels } from '../../src/cli/replay.ts'
import { findWalletFigures } from '../../src/projections/wallets/queries.ts'
import { Projector } from '../../src/roles/projector/projector.ts'
import { logEvents } from '../../src/runtime/log-events.ts'
import type { Logger } from '../../src/runtime/logger.ts'
import { credited, failed, holdPlaced, opened, routed, used, workspaceId } from '../roles/projector/facts.ts'
import { histories, logOf } from '../roles/projector/history.ts'
import { openProjected, type Projected, project, tables } from '../roles/projector/projecting.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'
import { propertyRuns } from '../support/property-runs.ts'

const postgres = await startPostgres(t)

const newProjected = (): Promise<Projected> => openProjected(t, postgres)

const append = async (log: MemoryLog, from: number, to: number): Promise<number> => {
  for (let number = from; number < to; number += 1)
    await log.append([
      routed(`request-${number}`, { allowanceId: 'hold-1' }),
      number % 10 === 0 ? failed(`request-${number}`) : used(`request-${number}`),
    ])
  return log.lastSequence()
}

const newLog = async (requests: number): Promise<MemoryLog> => {
  const log = new MemoryLog()
  await log.append([opened()])
  await log.postToWallet(workspaceId, [credited('first', '100'), holdPlaced('hold-1', '1')])
  await append(log, 0, requests)
  return log
}

const differing = ({ comparisons }: ReplayReport) => comparisons.filter(({ differences }) => differences > 0)

const schemasOf = (projected: Projected) =>
  projected.values(`select nspname from pg_namespace where nspname like '${defaultSchema}%' order by 1`)

t.test('what was rebuilt equals what is live', async (t) => {
  const projected = await newProjected()
  const log = await newLog(1_000)
  await project(log, projected.store, 300)
  const compared: string[] = []
  const report = await rebuildReadModels({
    log,
    place: projected.place,
    swap: false,
    onProgress: (progress) => {
      if (progress.step === 'compared') compared.push(progress.comparison.table)
    },
  })
  t.match(report, { sequence: 1_002, equal: true, swapped: false })
  t.same(
    compared,
    report.comparisons.map(({ table }) => table),
  )
  t.match(Object.fromEntries(report.comparisons.map(({ table, rows }) => [table, rows])), {
    checkpoint: 1,
    requests: 1_000,
    usage_entries: 900,
    wallet_entries: 902,
    usage_by_day: 1,
    holds: 1,
  })
  t.equal(report.comparisons.length, tables.length)
  t.same(await schemasOf(projected), ['ledger'])
})

t.test('of any history', async () => {
  const projected = await newProjected()
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      await projected.empty()
      const log = logOf(history)
      await project(log, projected.store, 7)
      const report = await rebuildReadModels({ log, place: projected.place, swap: false })
      assert.deepEqual(differing(report), [])
    }),
    propertyRuns(2),
  )
})

t.test('a row that differs, lacks or is too many is found, and a swap mends it', async (t) => {
  const projected = await newProjected()
  const log = await newLog(50)
  await project(log, projected.store, 500)
  const before = await projected.texts()
  await projected.query(`
    update wallet_entries set amount = amount + 0.000000000001 where sequence = 8;
    delete from requests where request_id = 'request-7';
    insert into keys values ('key-9', 'acme', 'planted', 'sha', 'sk', false);
    delete from usage_entries`)
  const report = await rebuildReadModels({ log, place: projected.place, swap: true })

  t.match(report, { equal: false, swapped: true })
  const [keys, requests, usage, entries, ...others] = differing(report)
  t.match(keys, { table: 'keys', differences: 1, shown: [{ key: ['key-9'], live: /planted/, rebuilt: null }] })
  t.match(requests, { table: 'requests', differences: 1, shown: [{ key: ['request-7'], live: null, rebuilt: /^\(/ }] })
  t.same(
    keys?.columns,
    await projected.values(
      "select column_name from information_schema.columns where table_schema = 'ledger' and table_name = 'keys' order by ordinal_position",
    ),
  )
  t.match(usage, { table: 'usage_entries', rows: 0, differences: 45 })
  t.equal(usage?.shown.length, 20)
  t.match(entries, {
    table: 'wallet_entries',
    differences: 1,
    shown: [{ key: ['acme', '8', '1', '0'], live: /-0.000549999999/, rebuilt: /-0.000550000000/ }],
  })
  t.same(others, [])
  t.same(await projected.texts(), before)
  t.match(await rebuildReadModels({ log, place: projected.place, swap: false }), { equal: true })
})

t.test('a swap under a projector that runs, and readers that read', async (t) => {
  const projected = await newProjected()
  const log = await newLog(600)
  const faults: unknown[] = []
  const logger: Logger = { log: (event, fields) => void faults.push({ event, fields }) }
  const projector = new Projector({ log, store: projected.store, logger, onFatal: (fault) => faults.push(fault) })
  t.teardown(() => projector.stop())
  await projector.waitForSequence(await log.lastSequence())
  const [before] = await projected.values("select 'checkpoint'::regclass::oid::text")

  let done = false
  let requests = 600
  const writing = (async () => {
    for (; !done; requests += 5) {
      await projector.waitForSequence(await append(log, requests, requests + 5))
      await pause(5)
    }
  })()
  const reading = (async () => {
    while (!done) {
      const { sequence } = await projected.store.load()
      // Asked for while the swap ends, it may be one of the rebuild: a projector that begins there is told to begin anew.
      assert.ok(sequence <= (await log.lastSequence()), 'the log has the position')
      await pause(2)
    }
  })()
  for (let round = 0; round < 2; round += 1) {
    const report = await rebuildReadModels({ log, place: projected.place, swap: true })
    t.same(differing(report), [])
  }
  done = true
  await Promise.all([writing, reading])
  await projector.waitForSequence(await append(log, requests, requests + 10))

  const [after] = await projected.values("select 'checkpoint'::regclass::oid::text")
  t.not(after, before)
  t.same(faults, [])
  t.same(await schemasOf(projected), ['ledger'])
  t.match(await rebuildReadModels({ log, place: projected.place, swap: false }), { equal: true })
})

t.test('a swap of chosen tables, and a change of one, under a connection whose statements are prepared', async (t) => {
  const projected = await newProjected()
  const log = await newLog(0)
  const logger: Logger = {
    log: (event, fields) => {
      if (logEvents[event].level === 'warn') t.fail(event, fields)
    },
  }
  const projector = new Projector({ log, store: projected.store, logger, onFatal: (fault) => t.fail(fault.message) })
  t.teardown(() => projector.stop())
  let requests = 0
  const projectBatches = async (): Promise<void> => {
    // From the sixth time on a statement keeps its plan.
    for (const end = requests + 8; requests < end; requests += 1)
      await projector.waitForSequence(await append(log, requests, requests + 1))
  }
  await projectBatches()
  const tables = ['wallets', 'holds', 'usage_by_day', 'writers', 'movement_minutes']
  t.match(await rebuildReadModels({ log, place: projected.place, swap: true, tables }), { equal: true, swapped: true })
  await projectBatches()
  await projected.query('alter table ledger.usage_by_day add column planted integer')
  await projectBatches()
  await projected.query('alter table ledger.usage_by_day drop column planted')
  await projectBatches()
  t.match(await rebuildReadModels({ log, place: projected.place, swap: false }), { equal: true })
})

t.test('the position of the tables that is asked for during the swap is read after it', async (t) => {
  const projected = await newProjected()
  const log = await newLog(20)
  await project(log, projected.store, 500, 10)
  const gates = [1, 2, 3, 4].map(() => ({ come: Promise.withResolvers<void>(), go: Promise.withResolvers<void>() }))
  let asked = 0
  const gated = {
    follow: log.follow.bind(log),
    lastSequence: async () => {
      const gate = gates[asked]!
      asked += 1
      gate.come.resolve()
      await gate.go.promise
      return log.lastSequence()
    },
  }
  const [load, compare, beforeLock, underLock] = gates
  load?.go.resolve()
  compare?.go.resolve()
  const replaying = rebuildReadModels({ log: gated, place: projected.place, swap: true })
  await beforeLock?.come.promise
  await project(log, projected.store, 500, 15)
  beforeLock?.go.resolve()
  await underLock?.come.promise
  const loading = projected.store.load()
  const wallet = await findWalletFigures(projected.database.db, workspaceId)
  t.equal(wallet?.workspaceId, workspaceId, 'other reads do not wait')
  underLock?.go.resolve()
  t.match(await loading, { sequence: 15 })
  t.match(await replaying, { equal: true, swapped: true })
  t.equal(await projected.store.checkpoint(), 15)
})

t.test('rebuilt tables have the indexes of the live ones', async (t) => {
  const projected = await newProjected()
  const log = await newLog(10)
  await project(log, projected.store, 500)
  const indexes = "select indexdef from pg_indexes where schemaname = 'ledger' order by 1"
  const before = await projected.values(indexes)
  await rebuildReadModels({ log, place: projected.place, swap: true })
  t.same(await projected.values(indexes), before)
  t.ok(before.some((definition) => definition.includes('requests_by_workspace')))
})

t.test('what an interrupted rebuild left is dropped; two at once are refused', async (t) => {
  const projected = await newProjected()
  const log = await newLog(10)
  await project(log, projected.store, 500)
  await projected.query(
    'create schema ledger_rebuild; create table ledger_rebuild.wallets (); create schema ledger_retired',
  )
  const place = projected.place
  const begun = Promise.withResolvers<void>()
  const refused = Promise.withResolvers<void>()
  const slow: ReplayParts['log'] = {
    lastSequence: () => log.lastSequence(),
    follow: (fromSequence, onFrame) =>
      log.follow(fromSequence, async (frame) => {
        begun.resolve()
        await refused.promise
        await onFrame(frame)
      }),
  }
  const first = rebuildReadModels({ log: slow, place, swap: false })
  await begun.promise
  await t.rejects(rebuildReadModels({ log, place, swap: false }), /being rebuilt by another process/)
  refused.resolve()
  t.match(await first, { equal: true })
  t.match(await rebuildReadModels({ log, place, swap: false }), { equal: true })
})

t.test('a row that the server refuses ends a rebuild, of which nothing remains', async (t) => {
  const projected = await newProjected()
  const log = await newLog(20)
  await project(log, projected.store, 500)
  const before = await projected.texts()
  const frame = log.frames[9]!
  const events = frame.events.map((event) =>
    event.type === 'UsageRecorded' ? { ...event, data: { ...event.data, firstTokenMs: 2 ** 31 } } : event,
  )
  const wrong = log.frames.with(9, { ...frame, events })
  const misread: ReplayParts['log'] = {
    lastSequence: () => log.lastSequence(),
    follow: (fromSequence, onFrame) => log.follow(fromSequence, (each) => onFrame(wrong[each.sequence - 1]!)),
  }
  const fault = await rebuildReadModels({ log: misread, place: projected.place, swap: true }).catch(
    (refused: Error) => refused,
  )
  t.match(fault, { name: 'RefusedRows', message: /out of range/ })
  const [, first, last] =
    /^the rows of frames (\d+) to (\d+) are refused/.exec('message' in fault ? fault.message : '') ?? []
  t.ok(
    Number(first) <= frame.sequence && frame.sequence <= Number(last),
    `${frame.sequence} is among ${first} to ${last}`,
  )
  t.same(await projected.texts(), before)
  t.match(await rebuildReadModels({ log, place: projected.place, swap: false }), { equal: true })
  t.same(await schemasOf(projected), ['ledger'])
})

t.test('tables that stand beyond the end of the log are not compared', async (t) => {
  const projected = await newProjected()
  await project(await newLog(10), projected.store, 500)
  await t.rejects(rebuildReadModels({ log: await newLog(5), place: projected.place, swap: true }), {
    name: 'ForeignTables',
  })
})
