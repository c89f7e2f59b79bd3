import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { ThrottledWarning } from '../../src/runtime/throttled-warning.ts'

t.test('trouble is told when it begins, once in a while, and when it is over', async (t) => {
  const lines: string[] = []
  const say = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const everyMs = 50
  const trouble = new ThrottledWarning(
    { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
    everyMs,
  )
  trouble.clear({}, 'back')
  t.same(lines, [], 'there was none')
  for (let tries = 0; tries < 5; tries += 1) trouble.raise({ tries }, 'away')
  t.same(lines.splice(0), ['warn away {"tries":0}'])
  t.ok(trouble.isOn)
  await pause(everyMs + 10)
  trouble.raise({ tries: 5 }, 'away')
  t.same(lines.splice(0), ['warn away {"tries":5,"untold":4}'])
  trouble.clear({}, 'back')
  trouble.clear({}, 'back')
  t.same(lines.splice(0), ['info back {}'])
  t.notOk(trouble.isOn)
  trouble.raise({}, 'away')
  t.same(lines, ['warn away {}'], 'the next trouble is another')
})
