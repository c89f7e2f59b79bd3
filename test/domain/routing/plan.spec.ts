import t from 'tap'
import { type PriceBook, publishPrice } from '../../../src/domain/pricing/price-book.ts'
import {
  type Catalog,
  callableModels,
  planRequest,
  type RoutingRequest,
  unresolvedNames,
} from '../../../src/domain/routing/plan.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import type { PriceSheet } from '../../../src/events/types.ts'

const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '1', output: '2' },
  max_output_tokens: 1_000,
}
const nowMs = Date.parse('2026-06-01T00:00:00Z')

const pricesOf = (
  ...rows: readonly (readonly [model: string, version: string, effectiveFrom: string])[]
): PriceBook => {
  const book: PriceBook = new Map()
  for (const [model, version, effectiveFrom] of rows)
    publishPrice(book, { model, version, effectiveFrom, source: 'a test', sheet })
  return book
}

const prices = pricesOf(
  ['openai/a', 'old', '2026-01-01T00:00:00Z'],
  ['openai/a', 'new', '2026-05-01T00:00:00Z'],
  ['openai/a', 'next', '2026-07-01T00:00:00Z'],
  ['openai/b', 'v1', '2026-01-01T00:00:00Z'],
  ['openai/later', 'v1', '2026-07-01T00:00:00Z'],
  ['vv/c', 'v1', '2026-01-01T00:00:00Z'],
  ['nobody/d', 'v1', '2026-01-01T00:00:00Z'],
)
const catalog: Catalog = {
  providers: new Map([
    ['openai', { models: {} }],
    ['vv', { models: { c: 'vendor-c' } }],
  ]),
  aliases: { short: 'openai/a', toString: 'openai/b' },
  routers: { auto: { candidates: ['openai/absent', 'short', 'openai/b'] }, broken: { candidates: ['openai/absent'] } },
}

const plan = (ask: RoutingRequest) => planRequest(catalog, prices, ask, nowMs, Math.random)
const modelsOf = (ask: RoutingRequest): readonly string[] => plan(ask).candidates.map(({ model }) => model)

t.test('names', async (t) => {
  const rows: readonly (readonly [model: string, models: readonly string[], router: string | null])[] = [
    ['openai/a', ['openai/a'], null],
    ['short', ['openai/a'], null],
    ['toString', ['openai/b'], null],
    ['gateway/auto', ['openai/a', 'openai/b'], 'auto'],
  ]
  for (const [model, models, router] of rows) {
    t.same(modelsOf({ model, chain: null }), models, model)
    t.match(plan({ model, chain: null }), { router, chain: false })
    for (const candidate of plan({ model, chain: null }).candidates) t.equal(candidate.router ?? null, router, model)
  }
})

t.test('a candidate of a router in a chain has its router', async (t) => {
  const { candidates, router } = plan({ model: 'openai/b', chain: ['openai/b', 'gateway/auto'] })
  t.equal(router, null)
  t.strictSame(
    candidates.map((each) => [each.level, each.model, each.router]),
    [
      [0, 'openai/b', undefined],
      [1, 'openai/a', 'auto'],
      [1, 'openai/b', 'auto'],
    ],
  )
})

t.test('a candidate carries all that a proxy needs, at the price in force', async (t) => {
  t.match(plan({ model: 'openai/a', chain: null }).candidates[0], {
    provider: 'openai',
    upstreamModel: 'a',
    priceVersion: 'new',
    sheet,
  })
  t.match(plan({ model: 'vv/c', chain: null }).candidates[0], {
    model: 'vv/c',
    provider: 'vv',
    upstreamModel: 'vendor-c',
  })
})

t.test('a chain replaces the model; a level is the place in what was named', async (t) => {
  const rows: readonly (readonly [chain: readonly string[], models: readonly string[], levels: readonly number[]])[] = [
    [
      ['openai/b', 'openai/a'],
      ['openai/b', 'openai/a'],
      [0, 1],
    ],
    [['openai/absent', 'openai/a'], ['openai/a'], [1]],
    [
      ['gateway/auto', 'vv/c'],
      ['openai/a', 'openai/b', 'vv/c'],
      [0, 0, 1],
    ],
    [['short'], ['openai/a'], [0]],
  ]
  for (const [chain, models, levels] of rows) {
    t.same(modelsOf({ model: 'openai/a', chain }), models, chain.join())
    t.match(plan({ model: 'gateway/auto', chain }), {
      router: null,
      chain: true,
      candidates: levels.map((level) => ({ level })),
    })
  }
})

t.test('what resolves to nothing', async (t) => {
  const rows: readonly (readonly [ask: RoutingRequest, code: string, param: string])[] = [
    [{ model: 'openai/absent', chain: null }, 'model_not_found', 'model'],
    [{ model: 'nobody/d', chain: null }, 'model_not_found', 'model'],
    [{ model: 'vendor-c', chain: null }, 'model_not_found', 'model'],
    [{ model: 'gateway/absent', chain: null }, 'model_not_found', 'model'],
    [{ model: 'gateway/broken', chain: null }, 'model_not_found', 'model'],
    [{ model: 'constructor', chain: null }, 'model_not_found', 'model'],
    [{ model: 'openai/a', chain: ['openai/absent'] }, 'model_not_found', 'model'],
    [{ model: 'openai/a', chain: ['openai/absent', 'nobody/d'] }, 'invalid_value', 'extra_body.models'],
    [{ model: 'openai/later', chain: null }, 'invalid_value', 'model'],
  ]
  for (const [ask, code, param] of rows) {
    try {
      plan(ask)
      t.fail(`${ask.model} was planned`)
    } catch (fault) {
      t.ok(fault instanceof GatewayError)
      t.match(fault, { code, param }, ask.chain?.join() ?? ask.model)
    }
  }
})

t.test('what can be called', async (t) => {
  t.same(
    callableModels(catalog, prices, nowMs).map(({ model }) => model),
    ['openai/a', 'openai/b', 'vv/c'],
  )
})

t.test('a model that no deployment lists cannot be called, and is not listed', async (t) => {
  const providers = new Map([['openai', { models: {}, served: new Set(['b']) }]])
  const divided: Catalog = { ...catalog, providers }
  t.same(
    callableModels(divided, prices, nowMs).map(({ model }) => model),
    ['openai/b'],
  )
  const planned = (model: string) => planRequest(divided, prices, { model, chain: null }, nowMs, Math.random)
  t.throws(() => planned('openai/a'), { code: 'model_not_found' })
  t.same(
    planned('gateway/auto').candidates.map(({ model }) => model),
    ['openai/b'],
  )
})

t.test('a dated snapshot is sold where the price of its model lists it, or where every one is accepted', async (t) => {
  const planOf = (model: string, chosen: Catalog = catalog) =>
    planRequest(chosen, book, { model, chain: null }, nowMs, Math.random).candidates
  const book: PriceBook = new Map()
  const effectiveFrom = '2026-01-01T00:00:00Z'
  publishPrice(book, {
    model: 'openai/a',
    version: 'v1',
    effectiveFrom,
    source: 'a test',
    snapshots: ['a-20251001'],
    sheet,
  })
  t.match(planOf('openai/a-20251001'), [{ upstreamModel: 'a-20251001', priceVersion: 'v1' }])
  t.match(planOf('short-20251001'), [{ upstreamModel: 'a-20251001' }])
  t.throws(() => planOf('openai/a-20251002'), { code: 'model_not_found' })
  t.match(planOf('openai/a-20251002', { ...catalog, acceptSnapshots: true }), [{ priceVersion: 'v1' }])
  t.same(unresolvedNames(catalog, book, ['openai/a-20251001', 'openai/a-20251002']), ['openai/a-20251002'])
})

t.test('a dated snapshot is its model, at its price; a longer name is another model', async (t) => {
  const accepting = { ...catalog, acceptSnapshots: true }
  const planOf = (model: string) =>
    planRequest(accepting, prices, { model, chain: null }, nowMs, Math.random).candidates
  for (const [asked, model, version] of [
    ['openai/a-20251001', 'openai/a-20251001', 'new'],
    ['openai/a-2025-10-01', 'openai/a-2025-10-01', 'new'],
    ['short-20251001', 'openai/a-20251001', 'new'],
  ] as const)
    t.match(planOf(asked), [{ model, provider: 'openai', upstreamModel: model.slice(7), priceVersion: version }], asked)
  for (const stranger of [
    'openai/a-mini',
    'openai/a-2025',
    'openai/a-20251001-mini',
    'openai/absent-20251001',
    'a-20251001',
  ])
    t.throws(() => planOf(stranger), { code: 'model_not_found' }, stranger)

  const own = pricesOf(['openai/a', 'v1', '2026-01-01T00:00:00Z'], ['openai/a-20251001', 'own', '2026-01-01T00:00:00Z'])
  t.match(planRequest(catalog, own, { model: 'openai/a-20251001', chain: null }, nowMs, Math.random).candidates, [
    { priceVersion: 'own' },
  ])
})

t.test('a date behind the name of a model that the provider calls otherwise means nothing', async (t) => {
  const renaming: Catalog = {
    ...catalog,
    acceptSnapshots: true,
    providers: new Map([['vv', { models: { c: 'vendor-c', same: 'same' } }]]),
    aliases: { nick: 'vv/c' },
  }
  const book = pricesOf(
    ['vv/c', 'v1', '2026-01-01T00:00:00Z'],
    ['vv/same', 'v1', '2026-01-01T00:00:00Z'],
    ['vv/c-20240101', 'own', '2026-01-01T00:00:00Z'],
  )
  const planOf = (model: string, chosen = renaming) =>
    planRequest(chosen, book, { model, chain: null }, nowMs, Math.random).candidates
  for (const dated of ['vv/c-20251001', 'vv/c-2025-10-01', 'nick-20251001'])
    t.throws(() => planOf(dated), { code: 'model_not_found' }, dated)
  t.match(planOf('vv/same-20251001'), [{ upstreamModel: 'same-20251001', priceVersion: 'v1' }], 'no other name')
  t.match(planOf('vv/c-20240101'), [{ upstreamModel: 'c-20240101', priceVersion: 'own' }], 'a price of its own')
  const models = { c: 'vendor-c', 'c-20240101': 'vendor-c-1', 'c-20251001': 'vendor-c-2' }
  const both = { ...renaming, providers: new Map([['vv', { models }]]) }
  t.match(planOf('vv/c-20240101', both), [{ upstreamModel: 'vendor-c-1', priceVersion: 'own' }])
  t.throws(
    () => planOf('vv/c-20251001', both),
    { code: 'model_not_found' },
    'another model, whose price nobody has told',
  )
})

t.test(
  'models that may not be used are passed over like those that resolve to nothing, until none is left',
  async (t) => {
    const onlyB = (model: string): boolean => model === 'openai/b'
    const planned = (ask: RoutingRequest, mayUse = onlyB) =>
      planRequest(catalog, prices, ask, nowMs, Math.random, mayUse).candidates
    t.match(planned({ model: 'openai/a', chain: ['openai/a', 'openai/b'] }), [{ model: 'openai/b', level: 1 }])
    t.match(planned({ model: 'gateway/auto', chain: null }), [{ model: 'openai/b', level: 0 }])
    t.equal(planned({ model: 'gateway/auto', chain: null }).length, 1)
    const refused: readonly (readonly [ask: RoutingRequest, code: string, param: string])[] = [
      [{ model: 'openai/a', chain: null }, 'model_not_allowed', 'model'],
      [{ model: 'short', chain: null }, 'model_not_allowed', 'model'],
      [{ model: 'openai/b', chain: ['short'] }, 'model_not_allowed', 'model'],
      [{ model: 'openai/b', chain: ['openai/a', 'vv/c'] }, 'model_not_allowed', 'extra_body.models'],
      [{ model: 'openai/b', chain: ['openai/a', 'openai/absent'] }, 'model_not_allowed', 'extra_body.models'],
      [{ model: 'openai/absent', chain: null }, 'model_not_found', 'model'],
    ]
    for (const [ask, code, param] of refused) t.throws(() => planned(ask), { code, param })
  },
)

t.test('embeddings and answers have models of their own', async (t) => {
  const book: PriceBook = new Map(prices)
  const embedding = { ...sheet, max_output_tokens: 0 }
  publishPrice(book, {
    model: 'openai/e',
    version: 'v1',
    effectiveFrom: '2026-01-01T00:00:00Z',
    source: 'a test',
    sheet: embedding,
  })
  const planned = (ask: RoutingRequest) =>
    planRequest(catalog, book, ask, nowMs, Math.random).candidates.map(({ model, level }) => [model, level])
  const chain = ['openai/a', 'openai/e']
  t.same(planned({ model: '', chain, embeds: true }), [['openai/e', 1]])
  t.same(planned({ model: '', chain }), [['openai/a', 0]])
  t.throws(() => planned({ model: 'openai/e', chain: null }), {
    code: 'unsupported_value',
    message: /`openai\/e` makes embeddings: it is asked at `\/v1\/embeddings`/,
  })
  t.throws(() => planned({ model: 'openai/a', chain: null, embeds: true }), {
    code: 'unsupported_value',
    message: /`openai\/a` makes no embeddings/,
  })
})
