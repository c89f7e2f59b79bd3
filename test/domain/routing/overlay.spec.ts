import t from 'tap'
import {
  applyToOverlay,
  effectiveCatalog,
  initialOverlay,
  liveCatalog,
  type RoutingFact,
} from '../../../src/domain/routing/overlay.ts'
import { type Catalog, listModelIds } from '../../../src/domain/routing/plan.ts'
import { randomOf } from '../../support/random.ts'

const catalog: Catalog = {
  providers: new Map([['openai', { models: {} }]]),
  aliases: { mini: 'openai/a', large: 'openai/b' },
  routers: { auto: { candidates: ['mini', 'openai/b'] } },
}
const aliasSet = (alias: string, model: string | null): RoutingFact => ({ type: 'AliasSet', data: { alias, model } })
const routerSet = (router: string, models: readonly string[] | null): RoutingFact => ({
  type: 'RouterSet',
  data: { router, candidates: models?.map((model) => ({ model })) ?? null, order: 'listed' },
})
const given = (...facts: readonly RoutingFact[]) =>
  effectiveCatalog(catalog, facts.reduce(applyToOverlay, initialOverlay))

t.test('what is set counts before the configuration, and null gives its word back', async (t) => {
  t.same(given().aliases, catalog.aliases)
  t.same(given(aliasSet('mini', 'openai/c'), aliasSet('new', 'openai/d')).aliases, {
    mini: 'openai/c',
    large: 'openai/b',
    new: 'openai/d',
  })
  t.same(given(aliasSet('mini', 'openai/c'), aliasSet('mini', null)).aliases, catalog.aliases)
  t.same(listModelIds(given(routerSet('auto', ['openai/x', 'large'])), 'gateway/auto', Math.random), [
    'openai/x',
    'openai/b',
  ])
  t.same(given(routerSet('auto', ['openai/x']), routerSet('auto', null)).routers, catalog.routers)
  t.ok(Object.hasOwn(given(aliasSet('__proto__', 'openai/c')).aliases, '__proto__'))
})

t.test('the catalog follows the ledger', async (t) => {
  const ledger = { routing: initialOverlay }
  const live = liveCatalog(() => catalog, ledger)
  t.equal(live(), live(), 'it is made once')
  ledger.routing = applyToOverlay(ledger.routing, aliasSet('mini', 'openai/c'))
  t.equal(live().aliases['mini'], 'openai/c')
})

t.test('a weighted router draws by weight, and the rest follow likewise', async (t) => {
  const candidates = [{ model: 'openai/a', weight: 6 }, { model: 'openai/b', weight: 3 }, 'openai/c']
  const weighted: Catalog = { ...catalog, routers: { auto: { candidates, order: 'weighted' } } }
  const random = randomOf(7)
  const draws = 20_000
  const counts = new Map<string, number>()
  let repeats = 0
  for (let draw = 0; draw < draws; draw += 1) {
    const order = listModelIds(weighted, 'gateway/auto', random)
    repeats += 3 - new Set(order).size
    const [first, second] = order.map((model) => model.at(-1))
    counts.set(`${first}`, (counts.get(`${first}`) ?? 0) + 1)
    counts.set(`${first}${second}`, (counts.get(`${first}${second}`) ?? 0) + 1)
  }
  t.equal(repeats, 0, 'none comes twice')
  const isAbout = (name: string, share: number): void =>
    void t.ok(Math.abs((counts.get(name) ?? 0) / draws - share) < 0.02, `${name}: ${counts.get(name)}`)
  isAbout('a', 0.6)
  isAbout('b', 0.3)
  isAbout('c', 0.1)
  isAbout('ab', 0.6 * (3 / 4))
  isAbout('ba', 0.3 * (6 / 7))
  isAbout('cb', 0.1 * (3 / 9))
  t.same(
    listModelIds({ ...weighted, routers: { auto: { candidates } } }, 'gateway/auto', random),
    ['openai/a', 'openai/b', 'openai/c'],
    'listed is listed',
  )
})
