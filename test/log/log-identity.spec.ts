import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { EventLog } from '../../src/log/event-log.ts'
import { assertSameLog, createTablesCheck } from '../../src/log/log-identity.ts'
import { opened } from '../roles/projector/facts.ts'
import { MemoryLog } from '../support/memory-log.ts'

/** A log of one frame that is never delivered; followers of it end as those of a server do. */
const silentLog = (): Pick<EventLog, 'follow' | 'lastSequence'> => ({
  lastSequence: async () => 1,
  follow: () => {
    const ended = Promise.withResolvers<void>()
    return { done: ended.promise, behindSinceMs: null, stop: async () => ended.resolve() }
  },
})

const position = { sequence: 1, firstFrame: 'writer:1', lastFrame: null }

t.test('a start that is stopped while the log is compared rejects, and leaves no other rejection behind', async (t) => {
  const rejections: unknown[] = []
  const note = (fault: unknown): unknown => rejections.push(fault)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const stopped = new Error('stopped')
  await t.rejects(assertSameLog(silentLog(), position, AbortSignal.abort(stopped)), stopped)

  const controller = new AbortController()
  const comparing = assertSameLog(silentLog(), position, controller.signal)
  const aborted = once(controller.signal, 'abort')
  controller.abort(stopped)
  await aborted
  await t.rejects(comparing, stopped)
  await turn()
  t.same(rejections, [])
})

const logOf = async (writer: string, frames: number): Promise<MemoryLog> => {
  const log = new MemoryLog({ writer })
  for (let each = 0; each < frames; each += 1) await log.append([opened()])
  return log
}

const at = (sequence: number, last: number, writer = 'w') => ({
  sequence,
  firstFrame: `${writer}:1`,
  lastFrame: { sequence: last, id: `${writer}:${last}` },
})

t.test('tables are of the log whose frames they name', async (t) => {
  const log = await logOf('w', 9)
  const { signal } = new AbortController()
  const cases = [
    [at(9, 9), null],
    [at(9, 4), null],
    [{ ...at(9, 9), lastFrame: null }, null],
    [{ sequence: 0, firstFrame: null, lastFrame: null }, null],
    [at(10, 10), /at sequence 10, but the log ends at 9/],
    [at(4, 4, 'other'), /begins with frame other:1, this one with w:1/],
    [{ ...at(4, 4), lastFrame: { sequence: 4, id: 'other:2' } }, /have frame other:2 at 4, the log has w:4 there/],
    [at(4, 9), /at sequence 4, but name frame 9 as applied/],
    [at(4, 0), /name frame 0 as applied/],
  ] as const
  for (const [position, refused] of cases) {
    const check = createTablesCheck(log, () => 9)
    for (const checking of [assertSameLog(log, position, signal), check(position)])
      await (refused === null ? t.resolves(checking) : t.rejects(checking, { name: 'ForeignTables', message: refused }))
  }
})

t.test('once checked, tables that move on are read without asking the log; others are refused', async (t) => {
  const log = await logOf('w', 9)
  let asked = 0
  const counted = {
    follow: log.follow.bind(log),
    lastSequence: () => {
      asked += 1
      return log.lastSequence()
    },
  }
  const check = createTablesCheck(counted, () => 9)
  for (const sequence of [3, 5, 9]) await check(at(sequence, sequence))
  t.equal(asked, 1)
  await t.rejects(check(at(5, 5, 'other')), /begins with frame other:1/)
  await t.rejects(check(at(100, 100)), /the log ends at 9/)
  await check(at(2, 2))
  t.equal(asked, 3, 'a position that went back is checked anew')
})

t.test('a log that does not answer keeps no tables from being read', async () => {
  const away = { follow: silentLog().follow, lastSequence: () => Promise.reject(new Error('no server')) }
  await createTablesCheck(away, () => 0)(at(5, 5))
})
