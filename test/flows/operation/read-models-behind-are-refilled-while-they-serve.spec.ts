import t from 'tap'
import { rebuildReadModels, refillReadModels } from '../../../src/cli/replay.ts'
import { readModels } from '../../../src/projections/read-models.ts'
import type { ReadModel, RowAccumulator } from '../../../src/projections/schema/read-model.ts'
import type { RefillReadModels } from '../../../src/roles/projector/ports.ts'
import { Projector } from '../../../src/roles/projector/projector.ts'
import type { LogEvent } from '../../../src/runtime/log-events.ts'
import type { Logger } from '../../../src/runtime/logger.ts'
import { failed, opened, routed, used } from '../../roles/projector/facts.ts'
import { openProjected, type Projected, project } from '../../roles/projector/projecting.ts'
import { until } from '../../support/clients.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { startPostgres } from '../../support/postgres.ts'

const postgres = await startPostgres(t)
const requestsAtFirst = 3_000

const append = async (log: MemoryLog, from: number, to: number): Promise<number> => {
  for (let number = from; number < to; number += 1)
    await log.append([
      routed(`request-${number}`),
      number % 10 === 0 ? failed(`request-${number}`) : used(`request-${number}`),
    ])
  return log.lastSequence()
}

/** A read model of a later release: every request failed, as far as it can be seen. */
const failing = (model: ReadModel): ReadModel => ({
  ...model,
  version: model.version + 1,
  startBatch: (): RowAccumulator => {
    const rows = model.startBatch()
    return {
      addEvent: (applied) => rows.addEvent(applied),
      finish: (ledger) => {
        const { written, deleted } = rows.finish(ledger)
        const requests = written['requests']?.map((row) => ({ ...row, status: 'newer' })) ?? []
        return { written: { ...written, requests }, ...(deleted === undefined ? {} : { deleted }) }
      },
    }
  },
})

const newer = readModels.map((model) => (model.name === 'requests' ? failing(model) : model))
const newerVersion = newer.find(({ name }) => name === 'requests')!.version

interface World {
  readonly log: MemoryLog
  readonly projected: Projected
  readonly events: LogEvent[]
  start(models: readonly ReadModel[], refill?: RefillReadModels): Projector
}

const openWorld = async (t: Tap): Promise<World> => {
  const projected = await openProjected(t, postgres)
  const log = new MemoryLog()
  await log.append([opened()])
  await append(log, 0, requestsAtFirst)
  await project(log, projected.store, 1_000)
  const events: LogEvent[] = []
  const logger: Logger = { log: (event) => void events.push(event) }
  return {
    log,
    projected,
    events,
    start: (models, refill = refillReadModels({ log, place: projected.place })) => {
      const store = projected.database.projectionStore(models)
      const projector = new Projector({ log, store, models, refill, logger, onFatal: (fault) => t.fail(fault.message) })
      t.teardown(() => projector.stop())
      return projector
    },
  }
}

type Tap = Parameters<typeof openProjected>[0] & { fail(message: string): unknown }

const countByStatus = (projected: Projected) =>
  projected.values("select status || ' ' || count(*) from requests group by status order by 1")

const isRefilled = (projected: Projected) => async (): Promise<boolean> =>
  (await projected.store.versions()).get('requests') === newerVersion

t.test('the tables before serve and follow the log until the refilled ones replace them', async (t) => {
  const { log, projected, events, start } = await openWorld(t)
  const gate = Promise.withResolvers<void>()
  const refill = refillReadModels({ log, place: projected.place })
  const projector = start(newer, async (models, options) => {
    t.same(
      models.map(({ name }) => name),
      ['requests'],
    )
    await gate.promise
    return refill(models, options)
  })
  await projector.waitForSequence(await append(log, requestsAtFirst, requestsAtFirst + 10))
  t.same(await countByStatus(projected), ['failed 300', 'newer 10', 'ok 2700'])
  const others = await projected.rows('usage_entries', 'sequence')
  gate.resolve()
  const writing = append(log, requestsAtFirst + 10, requestsAtFirst + 500)
  await until(isRefilled(projected))
  await projector.waitForSequence(await writing)
  t.same(await countByStatus(projected), [`newer ${requestsAtFirst + 500}`])
  t.match(await projected.rows('usage_entries', 'sequence'), others, 'the other tables are as they were')
  await until(() => events.includes('projection.refilled'))
  t.same(events, ['projection.refill_started', 'projection.refilled'])
  await projector.stop()

  const report = await rebuildReadModels({ log, place: projected.place, swap: false, models: newer })
  t.match(report, { equal: true })
})

t.test('a refill that was stopped resumes where it was', async (t) => {
  const { log, projected, events, start } = await openWorld(t)
  const started = Promise.withResolvers<void>()
  const refill = refillReadModels({ log, place: projected.place, batchEventsMax: 100 })
  const first = start(newer, (models, options) =>
    refill(models, { ...options, onProgress: (sequence) => sequence > 500 && started.resolve() }),
  )
  await started.promise
  await first.stop()
  const [at] = await projected.values('select sequence::text from ledger_rebuild.checkpoint')
  t.ok(Number(at) > 500 && Number(at) < requestsAtFirst, `stopped at ${at}`)
  t.same(await countByStatus(projected), ['failed 300', 'ok 2700'])
  const progress: number[] = []
  start(newer, (models, options) =>
    refill(models, { ...options, onProgress: (sequence) => void progress.push(sequence) }),
  )
  await until(() => events.includes('projection.refilled')) // Until then its lock is held.
  t.ok(progress[0]! > Number(at), 'it did not begin anew')
  t.same(await countByStatus(projected), [`newer ${requestsAtFirst}`])
  t.match(await rebuildReadModels({ log, place: projected.place, swap: false, models: newer }), { equal: true })
})

t.test('a program of an older version beside it writes nothing any more, and does not refill downwards', async (t) => {
  const { log, projected, events, start } = await openWorld(t)
  const older = start(readModels)
  await older.waitForSequence(await append(log, requestsAtFirst, requestsAtFirst + 5))
  const younger = start(newer)
  await until(isRefilled(projected))
  const last = await append(log, requestsAtFirst + 5, requestsAtFirst + 20)
  await Promise.all([younger.waitForSequence(last), older.waitForSequence(last)])
  t.same(await countByStatus(projected), [`newer ${requestsAtFirst + 20}`])
  await younger.stop()
  await append(log, requestsAtFirst + 20, requestsAtFirst + 30)
  await until(async () => events.includes('projection.newer_release'))
  t.same(await countByStatus(projected), [`newer ${requestsAtFirst + 20}`])
  t.equal((await projected.store.versions()).get('requests'), newerVersion)
  t.match(older.checks(), { projecting: { ok: true } })
  const again = start(newer)
  await again.waitForSequence(await log.lastSequence())
  t.same(await countByStatus(projected), [`newer ${requestsAtFirst + 30}`])
  t.equal(events.filter((event) => event === 'projection.refilled').length, 1)
  t.equal(events.filter((event) => event === 'projection.newer_release').length, 1)
})
