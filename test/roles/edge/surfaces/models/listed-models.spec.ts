import t from 'tap'
import { type PriceBook, publishPrice } from '../../../../../src/domain/pricing/price-book.ts'
import type { Catalog } from '../../../../../src/domain/routing/plan.ts'
import { keepListedModels } from '../../../../../src/roles/edge/surfaces/models/listed-models.ts'
import { sheetOf } from '../../edge-fixture.ts'

const start = Date.parse('2026-06-01T00:00:00Z')
const catalogOf = (...names: readonly string[]): Catalog => ({
  providers: new Map(names.map((name) => [name, { models: {} }])),
  aliases: {},
  routers: {},
})

t.test('models are listed anew where the catalogue, a price or its time has changed, and only then', async (t) => {
  let [nowMs, catalog] = [start, catalogOf('openai')]
  const prices: PriceBook = new Map()
  const publish = (model: string, effectiveFrom: string): void =>
    publishPrice(prices, { model, version: effectiveFrom, effectiveFrom, source: 'a test', sheet: sheetOf() })
  publish('openai/a', '2026-01-01T00:00:00Z')
  publish('openai/later', '2026-06-02T00:00:00Z')
  const listed = keepListedModels({ catalog: () => catalog, prices, clock: () => nowMs })
  const names = () => [...listed().keys()]

  const first = listed()
  nowMs = Date.parse('2026-06-02T00:00:00Z') - 1
  t.equal(listed(), first)
  t.same(names(), ['openai/a'])
  nowMs += 1
  t.same(names(), ['openai/a', 'openai/later'])
  nowMs -= 1
  t.same(names(), ['openai/a'], 'a clock that was set back')
  publish('openai/0', '2026-03-01T00:00:00Z')
  t.same(names(), ['openai/0', 'openai/a'])
  publish('mine/a', '2026-03-01T00:00:00Z')
  t.same(names(), ['openai/0', 'openai/a'])
  catalog = catalogOf('openai', 'mine')
  t.same(names(), ['mine/a', 'openai/0', 'openai/a'])
  const last = listed()
  t.equal(listed(), last)
})
