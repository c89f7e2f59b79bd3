import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { ThrottledWarning } from '../../src/runtime/throttled-warning.ts'
import { type LogLine, recordingLogger } from '../support/log-lines.ts'

t.test('a recurring fault is logged when it begins, once in a while, and when it is over', async (t) => {
  const lines: LogLine[] = []
  const everyMs = 1_000
  const warning = new ThrottledWarning(recordingLogger(lines), everyMs)
  const raise = (reason: string): void => warning.raise('queue.unavailable', { stream: 'Q', reason })
  const clear = (): void => warning.clear('queue.available', { stream: 'Q' })
  const logged = (): readonly unknown[] => lines.splice(0).map(({ event, fields }) => ({ event, ...fields }))
  clear()
  t.same(logged(), [], 'there was none')
  for (let tries = 0; tries < 5; tries += 1) raise(`try ${tries}`)
  t.same(logged(), [{ event: 'queue.unavailable', stream: 'Q', reason: 'try 0' }])
  t.ok(warning.isOn)
  await pause(everyMs + 10)
  raise('try 5')
  t.same(logged(), [{ event: 'queue.unavailable', stream: 'Q', reason: 'try 5', unlogged: 4 }])
  clear()
  clear()
  t.same(logged(), [{ event: 'queue.available', stream: 'Q' }])
  t.notOk(warning.isOn)
  raise('again')
  t.same(logged(), [{ event: 'queue.unavailable', stream: 'Q', reason: 'again' }], 'the next fault is another')
})
