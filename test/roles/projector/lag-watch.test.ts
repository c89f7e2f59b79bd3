import t from 'tap'
import { LagWatch } from '../../../src/roles/projector/lag-watch.ts'
import { until } from '../../support/clients.ts'

t.test('tables that are behind are told of, and so is that they have caught up', async (t) => {
  const told: { readonly level: string; readonly fields: object }[] = []
  const keep = (level: string) => (fields: object) => void told.push({ level, fields })
  const logger = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') }
  let last = 5
  let projected = 5
  const watch = new LagWatch(
    { log: { lastSequence: async () => last }, projectedSequence: () => projected, logger },
    10,
  )
  t.teardown(() => watch.stop())
  last = 12
  await until(() => told.length > 0)
  t.same(told[0], { level: 'warn', fields: { sequence: 5, frames: 7, forMs: 10 } })
  projected = 12
  await until(() => told.at(-1)?.level === 'info')
  t.match(told.at(-1), { fields: { sequence: 12 } })
})
