import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import type { ProjectionStore } from '../../../src/roles/projector/ports.ts'
import { RefusedRows } from '../../../src/roles/projector/ports.ts'
import { ProjectionRun } from '../../../src/roles/projector/projection-run.ts'
import { Projector } from '../../../src/roles/projector/projector.ts'
import { until } from '../../support/clients.ts'
import { recordingLogger, silentLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { startPostgres } from '../../support/postgres.ts'
import { credited, holdPlaced, opened, routed, used, workspaceId } from './facts.ts'
import { openProjected, type Projected, project } from './projecting.ts'

const postgres = await startPostgres(t)

const newProjected = (): Promise<Projected> => openProjected(t, postgres)

const startProjector = (log: MemoryLog, store: ProjectionStore, faults: Error[] = []): Projector => {
  const projector = new Projector({ log, store, logger: silentLogger, onFatal: (fault) => faults.push(fault) })
  t.teardown(() => projector.stop())
  return projector
}

const append = async (log: MemoryLog, from: number, to: number): Promise<number> => {
  for (let number = from; number < to; number += 1)
    await log.append([routed(`request-${number}`, { allowanceId: 'hold-1' }), used(`request-${number}`)])
  return log.lastSequence()
}

const newLog = async (): Promise<MemoryLog> => {
  const log = new MemoryLog()
  await log.append([opened()])
  await log.postToWallet(workspaceId, [credited('first', '100'), holdPlaced('hold-1', '1')])
  return log
}

/** What a fresh database holds after the whole log. */
const expected = async (log: MemoryLog): Promise<readonly string[]> => {
  const other = await newProjected()
  await project(log, other.store, 500)
  return other.texts()
}

t.test('it follows the log, and goes on after a restart where it ended', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  const first = startProjector(log, projected.store)
  await first.waitForSequence(await append(log, 0, 50))
  t.equal(first.projectedSequence(), 52)
  await first.stop()
  await append(log, 50, 60)
  const second = startProjector(log, projected.store)
  await second.waitForSequence(await append(log, 60, 70))
  t.same(await projected.texts(), await expected(log))
  await second.stop()
  await t.rejects(second.waitForSequence(10_000), /stopped/)
})

t.test('what a crash of the server took back is projected again, also where the log stands still', async (t) => {
  const [whole, behind] = [await newProjected(), await newProjected()]
  const log = await newLog()
  await append(log, 0, 10)
  await project(log, behind.store, 500)
  const last = await append(log, 10, 20)
  let crashed = false
  const store = (): ProjectionStore => (crashed ? behind.store : whole.store)
  const projector = startProjector(log, {
    load: () => store().load(),
    apply: (batch) => store().apply(batch),
    checkpoint: () => store().checkpoint(),
    versions: () => store().versions(),
  })
  await projector.waitForSequence(last)
  crashed = true
  await until(async () => (await behind.store.checkpoint()) === last)
  t.same(await behind.texts(), await expected(log))
})

t.test('two at once on one database apply no batch twice', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  const faults: Error[] = []
  const projectors = [startProjector(log, projected.store, faults), startProjector(log, projected.store, faults)]
  for (let round = 0; round < 20; round += 1) {
    const last = await append(log, round * 20, round * 20 + 20)
    await Promise.any(projectors.map((each) => each.waitForSequence(last)))
  }
  await Promise.all(projectors.map(async (each) => each.waitForSequence(await log.lastSequence())))
  t.same(await projected.texts(), await expected(log))
  t.same(faults, [])
})

t.test('when the one that writes is gone, the one that stands by takes over', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  const active = startProjector(log, projected.store)
  const last = await append(log, 0, 10)
  await active.waitForSequence(last)
  // The other loads at the same place, and loses the race for the next batch.
  const gate = Promise.withResolvers<void>()
  const other = startProjector(log, {
    load: () => projected.store.load(),
    checkpoint: () => projected.store.checkpoint(),
    versions: () => projected.store.versions(),
    apply: async (batch) => {
      await gate.promise
      return projected.store.apply(batch)
    },
  })
  await active.waitForSequence(await append(log, 10, 20))
  gate.resolve()
  await other.waitForSequence(await log.lastSequence())
  await active.stop()
  await other.waitForSequence(await append(log, 20, 30))
  t.same(await projected.texts(), await expected(log))
})

t.test('a server that goes away is waited for', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  const faults: Error[] = []
  const projector = startProjector(log, projected.store, faults)
  await projector.waitForSequence(await append(log, 0, 50))
  await postgres.stop()
  await append(log, 50, 100)
  t.ok(projector.projectedSequence() < (await log.lastSequence()))
  await postgres.start()
  await projector.waitForSequence(await append(log, 100, 150))
  t.same(await projected.texts(), await expected(log))
  t.same(faults, [])
})

t.test('a server that goes away again and again leaves the same tables', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  const projector = startProjector(log, projected.store)
  for (let round = 0; round < 4; round += 1) {
    await append(log, round * 200, round * 200 + 200)
    await projector.waitForSequence(round * 200 + 50)
    await postgres.stop()
    await postgres.start()
  }
  // The crash may have taken back what was committed last: a frame that comes after it is not reached before all is there again.
  await projector.waitForSequence(await append(log, 800, 801))
  t.same(await projected.texts(), await expected(log))
})

t.test('a commit whose outcome is unknown is looked up, not repeated', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  let doubts = 0
  const projector = startProjector(log, {
    load: () => projected.store.load(),
    checkpoint: () => projected.store.checkpoint(),
    versions: () => projected.store.versions(),
    apply: async (batch) => {
      const applied = await projected.store.apply(batch)
      doubts += 1
      if (doubts % 2 === 1) throw new Error('connection reset')
      return applied
    },
  })
  for (let round = 0; round < 3; round += 1)
    await projector.waitForSequence(await append(log, round * 10, round * 10 + 10))
  t.same(await projected.texts(), await expected(log))
})

t.test('it stops, and says so, at an event that cannot be projected', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  const faults: Error[] = []
  const projector = startProjector(log, projected.store, faults)
  await projector.waitForSequence(2)
  await log.append([routed('request-1'), used('request-1', { total: 'much' })])
  await t.rejects(projector.done, RangeError)
  t.match(faults, [{ name: 'RangeError' }])
  await t.rejects(projector.waitForSequence(3), RangeError)
  t.equal(await projected.store.checkpoint(), 2)
})

t.test('it stops, and says so, at state that cannot be made a row', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  const { data } = holdPlaced('hold-2')
  const projector = startProjector(log, projected.store)
  await projector.waitForSequence(2)
  await log.postToWallet(workspaceId, [{ type: 'HoldPlaced', data: { ...data, deadline: 'never' } }])
  await t.rejects(projector.done, RangeError)
  t.equal(await projected.store.checkpoint(), 2)
})

t.test('it stops, and says so, at rows that the tables refuse', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  const faults: Error[] = []
  const projector = startProjector(log, projected.store, faults)
  await log.append([routed('request-1'), used('request-1')])
  await projector.waitForSequence(3)
  await log.append([routed('request-1'), used('request-1')])
  await t.rejects(projector.done, RefusedRows)
  t.match(faults, [{ name: 'RefusedRows', message: /frames 4 to 4/ }])
  t.equal(await projected.store.checkpoint(), 3)
})

t.test('it stops at a frame that is missing', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  log.frames[1] = { ...log.frames[1]!, sequence: 3 }
  await t.rejects(startProjector(log, projected.store).done, /next frame is 3/)
})

t.test('tables of another log are never continued, and end no process', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  await append(log, 0, 10)
  await project(log, projected.store, 500)
  const before = await projected.texts()

  const other = new MemoryLog({ writer: 'another-writer' })
  await append(other, 0, 30)
  const regrown = await newLog()
  await append(regrown, 0, 30)
  regrown.frames[11] = { ...regrown.frames[11]!, counter: 99 }
  for (const [foreign, reason] of [
    [other, /begins with frame test-writer:1/],
    [await newLog(), /the log ends at 2/],
    [regrown, /the tables have frame test-writer:\d+ at 12, the log has test-writer:\d+ there/],
  ] as const) {
    const [logger, faults] = [recordingLogger(), [] as Error[]]
    const { store } = projected
    const projector = new Projector({ log: foreign, store, logger, onFatal: (fault) => faults.push(fault) })
    await until(() => logger.lines.length > 0)
    t.match(logger.lines, [{ event: 'projection.other_log', fields: { fault: { message: reason } } }])
    t.match(projector.checks()['projecting'], { ok: false, reason })
    await projector.stop()
    t.same(faults, [])
  }
  t.same(await projected.texts(), before, 'nothing was written')
})

t.test('a forged position ends no process; once it is mended, the projector goes on', async (t) => {
  const projected = await newProjected()
  const log = await newLog()
  await append(log, 0, 10)
  await project(log, projected.store, 500)
  await projected.query('update checkpoint set sequence = 3')
  const [logger, faults] = [recordingLogger(), [] as Error[]]
  const projector = new Projector({
    ...{ log, store: projected.store, logger },
    onFatal: (fault) => faults.push(fault),
  })
  t.teardown(() => projector.stop())
  await until(() => logger.lines.some(({ event }) => event === 'projection.other_log'))
  await projected.query('update checkpoint set sequence = 12')
  await append(log, 10, 20)
  await projector.waitForSequence(await log.lastSequence())
  t.same(await projected.texts(), await expected(log))
  t.same(faults, [])
  t.ok(logger.lines.some(({ event }) => event === 'projection.available'))
})

t.test('a slow database holds the log back: one batch commits, one gathers', async (t) => {
  const batchEventsMax = 500
  const { store } = await newProjected()
  const log = await newLog()
  const last = await append(log, 0, 800)
  const full = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  let handed = 0
  await store.load()
  const stretch = new ProjectionRun({
    ledger: initialLedger(),
    log: {
      follow: (from, onFrame) =>
        log.follow(from, (frame) => {
          handed += frame.events.length
          if (handed >= batchEventsMax) full.resolve()
          return onFrame(frame)
        }),
    },
    store: {
      apply: async (batch) => {
        await gate.promise
        return store.apply(batch)
      },
    },
    batchEventsMax,
    onProjected: (sequence) => sequence === last && reached.resolve(),
  })
  await full.promise
  for (let turns = 0; turns < 100; turns += 1) await turn()
  t.ok(handed <= batchEventsMax + 4, `${handed} events were handed over`)
  gate.resolve()
  await reached.promise
  stretch.stop()
  t.match(await stretch.ended, { reason: 'stopped' })
})
