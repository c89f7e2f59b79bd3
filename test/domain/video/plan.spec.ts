import t from 'tap'
import { type PriceBook, publishPrice } from '../../../src/domain/pricing/price-book.ts'
import { type Catalog, callableModels, planRequest } from '../../../src/domain/routing/plan.ts'
import { planVideo } from '../../../src/domain/video/plan.ts'
import type { PriceSheet, VideoSheet } from '../../../src/events/types.ts'

const nowMs = Date.parse('2026-11-21T00:00:00Z')
const video: VideoSheet = { currency: 'USD', unit_price: '0.14', units_per_second: { std: '0.6' } }
const sheet: PriceSheet = { currency: 'USD', per_million_tokens: { input: '1', output: '2' }, max_output_tokens: 1_000 }

const prices: PriceBook = new Map()
for (const [model, version, effectiveFrom, priced] of [
  ['vv/v3', 'old', '2026-01-01T00:00:00Z', { video }],
  ['vv/v3', 'new', '2026-10-01T00:00:00Z', { video: { ...video, unit_price: '0.15' } }],
  ['vv/v2-6', 'v1', '2026-10-01T00:00:00Z', { video }],
  ['vv/v3-omni', 'v1', '2027-01-01T00:00:00Z', { video }],
  ['openai/a', 'v1', '2026-01-01T00:00:00Z', { sheet }],
  ['openai/later', 'v1', '2027-01-01T00:00:00Z', { sheet }],
  ['nobody/v3', 'v1', '2026-01-01T00:00:00Z', { video }],
] as const)
  publishPrice(prices, { model, version, effectiveFrom, source: 'a test', ...priced })

const catalog: Catalog = {
  providers: new Map([
    ['openai', { models: {} }],
    ['vv', { models: { v3: 'vendor-v3' } }],
  ]),
  aliases: { clip: 'vv/v3', chat: 'openai/a' },
  routers: {
    auto: { candidates: ['chat'] },
    film: { candidates: ['vv/absent', 'chat', 'clip', 'vv/v2-6'] },
  },
}

const v3 = {
  model: 'vv/v3',
  modelName: 'v3',
  provider: 'vv',
  upstreamModel: 'vendor-v3',
  priceVersion: 'new',
  sheet: { ...video, unit_price: '0.15' },
}

t.test('a name leads to a model, its name upstream and the price in force', async (t) => {
  for (const name of ['vv/v3', 'clip', 'gateway/film'])
    t.same(planVideo(catalog, prices, name, nowMs, Math.random), v3, name)
  t.match(planVideo(catalog, prices, 'vv/v2-6', nowMs, Math.random), { modelName: 'v2-6', upstreamModel: 'v2-6' })
  t.match(planVideo(catalog, prices, 'vv/v3', Date.parse('2026-09-30T23:59:59Z'), Math.random), { priceVersion: 'old' })
})

t.test('what makes no videos is not found', async (t) => {
  const absent = { code: 'model_not_found', param: 'model' }
  for (const name of [
    'vv/absent',
    'vv/',
    'v3',
    '',
    'openai/a',
    'chat',
    'nobody/v3',
    'gateway/auto',
    'vv/vendor-v3',
    'constructor',
  ])
    t.throws(() => planVideo(catalog, prices, name, nowMs, Math.random), absent, name)
})

t.test('a price that is not in force yet is distinguished', async (t) => {
  for (const name of ['vv/v3-omni', 'openai/later'])
    t.throws(
      () => planVideo(catalog, prices, name, nowMs, Math.random),
      { code: 'invalid_value', message: /in force yet/ },
      name,
    )
})

t.test('a model that makes videos answers no chat', async (t) => {
  const refusal = { code: 'unsupported_value', param: 'model', message: /`vv\/v3` makes videos/ }
  const ask = (model: string, chain: readonly string[] | null = null) =>
    planRequest(catalog, prices, { model, chain }, nowMs, Math.random)
  t.throws(() => ask('vv/v3'), refusal)
  t.throws(() => ask('clip'), refusal)
  t.throws(() => ask('openai/absent', ['clip', 'vv/v3']), refusal)
  t.throws(() => ask('vv/v3-omni'), { code: 'invalid_value', message: /in force yet/ })
  t.same(
    ask('chat', ['clip', 'chat']).candidates.map(({ model, level }) => [model, level]),
    [['openai/a', 1]],
  )
  t.same(
    callableModels(catalog, prices, nowMs).map(({ model }) => model),
    ['openai/a'],
  )
})

t.test('of a router the first that may be used; where none may be, it is forbidden and not unknown', async (t) => {
  const but = (forbidden: string) => (model: string) => model !== forbidden
  t.match(planVideo(catalog, prices, 'gateway/film', nowMs, Math.random, but('vv/v3')), { model: 'vv/v2-6' })
  t.throws(() => planVideo(catalog, prices, 'clip', nowMs, Math.random, but('vv/v3')), {
    code: 'model_not_allowed',
  })
  t.throws(() => planVideo(catalog, prices, 'vv/absent', nowMs, Math.random, but('vv/v3')), { code: 'model_not_found' })
})
