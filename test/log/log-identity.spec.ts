import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { EventLog } from '../../src/log/event-log.ts'
import { assertSameLog } from '../../src/log/log-identity.ts'

/** A log of one frame that is never delivered; followers of it end as those of a server do. */
const silentLog = (): Pick<EventLog, 'follow' | 'lastSequence'> => ({
  lastSequence: async () => 1,
  follow: () => {
    const ended = Promise.withResolvers<void>()
    return { done: ended.promise, stop: async () => ended.resolve() }
  },
})

const position = { sequence: 1, firstFrame: 'writer:1' }

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
