import t from 'tap'
import { ClockWatch } from '../../src/log/clock-watch.ts'
import { recordingLogger } from '../support/log-lines.ts'

const serverMs = Date.parse('2026-01-01T00:00:00Z')

/** The process's clock is ahead by `askedMs` when it asks and by `answeredMs` when it has the answer. */
const createCompared = () => {
  const logger = recordingLogger()
  let aheadMs = 0
  const watch = new ClockWatch({ clock: () => serverMs + aheadMs, logger })
  const compare = async (askedMs: number, answeredMs: number, answer: number | null = serverMs): Promise<boolean> => {
    aheadMs = askedMs
    await watch.compare(async () => {
      aheadMs = answeredMs
      return answer
    })
    return watch.check.ok
  }
  return { watch, compare, logger }
}

const cases: readonly (readonly [what: string, askedMs: number, answeredMs: number, isReady: boolean])[] = [
  ['the clocks agree', -2, 3, true],
  ['5 s ahead', 5_000, 5_002, true],
  ['more than 5 s ahead', 5_001, 5_003, false],
  ['more than 5 s behind', -5_020, -5_001, false],
  ['perhaps 5 s behind', -5_020, -5_000, true],
  ['an answer that took 60 s proves nothing', -30_000, 30_000, true],
  ['nor one that reached a stalled process late', -1, 20_000, true],
  ['a clock that is set back while the server is asked', 20_000, -20_000, true],
]

for (const [what, askedMs, answeredMs, isReady] of cases)
  t.test(what, async (t) => {
    const { compare, logger } = createCompared()
    t.equal(await compare(askedMs, answeredMs), isReady)
    t.equal(logger.lines.length, isReady ? 0 : 1)
  })

t.test('it is over once the difference is surely below 4 s', async (t) => {
  const { watch, compare, logger } = createCompared()
  t.notOk(await compare(9_000, 9_100))
  t.match(watch.check, { reason: "is 9.1 s ahead of the log server's" })
  t.equal(watch.skewSeconds, 9.05)
  t.notOk(await compare(4_500, 4_510), 'within the bound, and not yet below that of the end')
  t.notOk(await compare(-10, 4_010), 'perhaps')
  t.notOk(await compare(0, 0, null), 'a server that does not tell proves nothing')
  t.ok(await compare(3_990, 4_000))
  t.same(
    logger.lines.map(({ event, level }) => [event, level]),
    [
      ['clock.skewed', 'error'],
      ['clock.corrected', 'info'],
    ],
  )
})

t.test('a clock is trusted once it was compared, and while it is not known to be wrong', async (t) => {
  const { watch, compare } = createCompared()
  t.notOk(watch.isTrusted)
  await t.rejects(watch.compare(() => Promise.reject(new Error('no connection'))))
  t.notOk(watch.isTrusted, 'the server has not answered')
  await compare(0, 0, null)
  t.ok(watch.isTrusted, 'a server that names no time')
  await compare(9_000, 9_100)
  t.notOk(watch.isTrusted)
  await compare(0, 0)
  t.ok(watch.isTrusted)
})
