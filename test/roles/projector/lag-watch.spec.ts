import t from 'tap'
import { LagWatch } from '../../../src/roles/projector/lag-watch.ts'
import { until } from '../../support/clients.ts'
import { recordingLogger } from '../../support/log-lines.ts'

t.test('lag of the tables is logged, and so is its end', async (t) => {
  const { lines, ...logger } = recordingLogger()
  let last = 5
  let projected = 5
  const watch = new LagWatch(
    { log: { lastSequence: async () => last }, projectedSequence: () => projected, logger },
    10,
  )
  t.teardown(() => watch.stop())
  last = 12
  await until(() => lines.length > 0)
  t.same(lines[0], { level: 'warn', event: 'projection.lagging', fields: { sequence: 5, frames: 7, forMs: 10 } })
  projected = 12
  await until(() => lines.at(-1)?.event === 'projection.caught_up')
  t.match(lines.at(-1), { fields: { sequence: 12 } })
})
