import t from 'tap'
import { LogWatch } from '../../src/log/log-watch.ts'
import { sharedLimits } from '../../src/runtime/limits.ts'
import { until } from '../support/clients.ts'
import { silentLogger } from '../support/log-lines.ts'

const everyMs = 5
const system = { clock: Date.now, logger: silentLogger }

t.test('how far a follower is behind, in frames and since when', async (t) => {
  let last = 5
  let position = 5
  const log = { readEnd: async () => ({ sequence: last, serverTimeMs: null }), oldestUnacknowledgedMs: () => 0 }
  const watch = new LogWatch(log, system, everyMs)
  t.teardown(() => watch.stop())
  watch.follow('ledger', () => position)
  const read = (name: string): number | undefined => watch.readings().find((reading) => reading.name === name)?.value
  const frames = (): number | undefined => read('gateway_follower_lag_frames')
  const seconds = (): number => read('gateway_follower_lag_seconds')!
  await until(() => read('gateway_log_last_sequence') === 5)
  t.same([frames(), seconds()], [0, 0])
  last = 12
  await until(() => frames() === 7 && seconds() > 0.02)
  t.notOk(watch.inStep('ledger', 20).ok)
  t.ok(watch.inStep('ledger', 60_000).ok)
  last = 20
  await until(() => frames() === 15)
  const before = seconds()
  position = 12
  t.ok(seconds() < before, 'it is behind only since there was a frame that it does not have yet')
  position = 20
  t.same([frames(), seconds()], [0, 0])
  t.same(watch.inStep('ledger', 0), { ok: true })
})

t.test('a log that fails, is silent, or does not acknowledge', async (t) => {
  let answer: () => Promise<number> = async () => 1
  let waitsMs = 0
  const log = {
    readEnd: async () => ({ sequence: await answer(), serverTimeMs: null }),
    oldestUnacknowledgedMs: () => waitsMs,
  }
  const watch = new LogWatch(log, system, everyMs)
  t.teardown(() => watch.stop())
  await until(() => watch.check.ok)
  waitsMs = sharedLimits.logStalledMs + 1
  t.match(watch.check, { ok: false, reason: /not been acknowledged/ })
  waitsMs = 0
  answer = () => Promise.reject(new Error('no connection'))
  await until(() => !watch.check.ok)
  t.match(watch.check, { reason: 'no connection' })
  answer = async () => 2
  await until(() => watch.check.ok)
  answer = () => new Promise(() => undefined)
  await until(() => !watch.check.ok)
  t.match(watch.check, { reason: 'no answer' })
})
