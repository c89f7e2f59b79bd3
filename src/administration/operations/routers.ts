import { modelPermissionOf } from '../../domain/accounts/limits.ts'
import { formatUsd } from '../../domain/money.ts'
import { chargeFor } from '../../domain/pricing/charge.ts'
import {
  allowAllModels,
  type Candidate,
  candidateName,
  listModelIds,
  planRequest,
  type RouterCandidate,
  type RouterRule,
} from '../../domain/routing/plan.ts'
import { noUsage } from '../../domain/usage/usage.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { pageOf } from '../../http/page.ts'
import { keyParameter } from '../../http/parameters.ts'
import { type Parameter, readQuery } from '../../http/query.ts'
import { requireKey } from '../account-changes.ts'
import { type AdminOperation, defineOperation, type OperationContext, type OperationInput } from '../operation.ts'
import type { SetRouterRequest } from '../requests.types.ts'
import type { RouteResponse, RouterResponse } from '../responses.types.ts'
import { findWarnings, setRouter } from '../routing-changes.ts'
import { describeLogSource, describeSource, findEntry, noOverride, removalReports } from './overrides.ts'

const page = pageOf('routers')

const renderCandidate = (candidate: RouterCandidate) => {
  const { model, weight = 1 } = typeof candidate === 'string' ? { model: candidate } : candidate
  return { model, weight }
}

const renderRule = (rule: RouterRule | null) =>
  rule === null ? null : { candidates: rule.candidates.map(renderCandidate), order: rule.order ?? 'listed' }

const renderRouter = ({ tail, configured, catalog }: OperationContext, router: string): RouterResponse => ({
  object: 'router',
  router,
  ...(renderRule(findEntry(catalog().routers, router)) ?? { candidates: null, order: null }),
  source: describeSource(tail.ledger.routing.routers.has(router)),
  configured: renderRule(findEntry(configured().routers, router)),
})

const routeRecords = ({ candidates, skipped }: RouteResponse, json: boolean) => {
  if (json) return [...candidates, ...skipped]
  return [
    ...candidates.map(({ first, ...candidate }) => ({
      ...candidate,
      first: `${(100 * first).toFixed(1)} %`,
      skipped: '',
    })),
    ...skipped.map(({ model, message }) => ({ model, skipped: message })),
  ]
}

const formatCandidate = (candidate: RouterCandidate): string =>
  typeof candidate === 'string' || candidate.weight === undefined
    ? candidateName(candidate)
    : `${candidate.model}=${candidate.weight}`

/** `openai/gpt-5-mini` or `openai/gpt-5-mini=3`. */
const parseCandidate = (text: string): RouterCandidate => {
  const [, model, weight] = /^(.+)=(\d{1,5})$/.exec(text) ?? []
  return model === undefined ? text : { model, weight: Number(weight) }
}

const routerRecords = ({ tail, catalog }: OperationContext) => {
  const { routers } = tail.ledger.routing
  return Object.entries(catalog().routers)
    .map(([router, { candidates, order = 'listed' }]) => ({
      router,
      order,
      candidates: candidates.map(formatCandidate).join(' '),
      source: describeLogSource(routers.has(router)),
    }))
    .toSorted((one, other) => (one.router < other.router ? -1 : 1))
}

const tokensMax = 100_000_000

const tokensParameter: Parameter<number> = {
  read: (text) => (/^\d{1,9}$/.test(text) && Number(text) <= tokensMax ? Number(text) : undefined),
  form: `a whole number of tokens, at most ${tokensMax}`,
  schema: { type: 'integer', minimum: 0, maximum: tokensMax },
}

const routeQuery = { key: keyParameter, prompt_tokens: tokensParameter, output_tokens: tokensParameter }

interface RouteAsked {
  readonly key?: string | undefined
  readonly prompt_tokens?: number | undefined
  readonly output_tokens?: number | undefined
}

const costOf = ({ sheet }: Candidate, { prompt_tokens: prompt, output_tokens: output }: RouteAsked): string | null => {
  if (prompt === undefined && output === undefined) return null
  const [promptTotal, outputTotal] = [prompt ?? 0, output ?? 0]
  return formatUsd(chargeFor(sheet, { ...noUsage, promptTotal, inputUncached: promptTotal, outputTotal }).totalPicos)
}

const firstListed = () => 0

const refusalOf = (run: () => unknown): { readonly code: string; readonly message: string } => {
  try {
    run()
    throw new Error('what was skipped can be routed')
  } catch (fault) {
    if (fault instanceof GatewayError) return { code: fault.code, message: fault.message }
    throw fault
  }
}

/** Throws what a request for it would be refused with. */
const planRoute = (context: OperationContext, asked: string, { key }: RouteAsked) => {
  const { prices, accounts } = context.tail.ledger
  const catalog = context.catalog()
  const mayUse = key === undefined ? allowAllModels : modelPermissionOf(accounts, requireKey(context, key))
  const nowMs = context.clock()
  const plan = (model: string) => planRequest(catalog, prices, { model, chain: null }, nowMs, firstListed, mayUse)
  const { candidates, router } = plan(asked)
  const rule = router === null ? null : catalog.routers[router]!
  const weights = rule?.candidates.map((each) => renderCandidate(each).weight) ?? [1]
  const skipped: RouteResponse['skipped'] = []
  const left = listModelIds(catalog, asked, firstListed).flatMap((model, place) => {
    const candidate = candidates.find((each) => each.model === model)
    if (candidate !== undefined) return [{ ...candidate, weight: weights[place]! }]
    skipped.push({ model, ...refusalOf(() => plan(model)) })
    return []
  })
  return { rule, router, candidates: left, skipped }
}

const showRoute = (context: OperationContext, asked: string, query: RouteAsked): RouteResponse => {
  const { rule, router, candidates, skipped } = planRoute(context, asked, query)
  const isWeighted = rule?.order === 'weighted'
  const weights = candidates.map(({ weight }) => weight)
  const sum = weights.reduce((all, weight) => all + weight, 0)
  return {
    object: 'route',
    asked,
    router,
    order: rule === null ? null : (rule.order ?? 'listed'),
    candidates: candidates.map(({ weight, ...candidate }, place) => ({
      model: candidate.model,
      provider: candidate.provider,
      upstream_model: candidate.upstreamModel,
      price_version: candidate.priceVersion,
      first: isWeighted ? weight / sum : Number(place === 0),
      cost: costOf(candidate, query),
    })),
    skipped,
  }
}

export const routerOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'router.list',
    summary: 'Every router and its source',
    query: page.known,
    answer: 'list of router',
    http: { method: 'get', path: '/admin/v1/routers' },
    permission: 'read',
    cli: { arguments: {}, records: routerRecords },
    run: (context, { query }) => {
      const render = (router: string) => renderRouter(context, router)
      return { body: page.show(Object.keys(context.catalog().routers), (router) => router, render, query) }
    },
  }),
  defineOperation({
    name: 'route.show',
    summary: 'Which models a request for a model, an alias or a router would try now, and what it would cost',
    query: routeQuery,
    answer: 'route',
    http: { method: 'get', path: '/admin/v1/routes/*id' },
    permission: 'read',
    cli: {
      summary: 'which models a request would try now, in which order, and what it would cost; nothing is called',
      arguments: { id: '<model>' },
      queryOptions: {
        key: ['<key>', 'With the models that this key may use.'],
        prompt_tokens: ['<n>', 'With the cost of so many uncached tokens of a prompt.'],
        output_tokens: ['<n>', 'With the cost of so many tokens of output.'],
      },
      records: (context, { id, querystring }, _body, { json }) =>
        routeRecords(showRoute(context, id, readQuery({ querystring }, routeQuery)), json),
    },
    run: (context, { id, query }) => ({ body: { ...showRoute(context, id, query) } }),
  }),
  defineOperation({
    name: 'router.set',
    summary: "Set a router over the configuration's",
    request: 'requests/admin/set-router.json',
    answer: 'router',
    http: { method: 'put', path: '/admin/v1/routers/:id' },
    permission: 'configure',
    cli: {
      arguments: { id: '<router>', candidates: '<candidates...>' },
      members: {
        candidates: {
          description:
            '<provider>/<model> or aliases, tried in this order; with --weighted also <candidate>=<weight>; the default weight is 1',
          parse: parseCandidate,
        },
        order: {
          flags: '--weighted',
          value: 'weighted',
          description: 'Draw the first by weight; the others follow likewise.',
        },
      },
      reports: { changed: 'set', unchanged: 'unchanged' },
    },
    run: async (context, { id, body }: OperationInput<SetRouterRequest>) => {
      const changed = await setRouter(context, context.catalog(), id, body)
      const warnings = findWarnings(context, context.catalog(), body.candidates.map(candidateName))
      return { changed, warnings, body: renderRouter(context, id) }
    },
  }),
  defineOperation({
    name: 'router.unset',
    summary: 'Remove the override, so that the configuration applies',
    answer: 'router',
    http: { method: 'delete', path: '/admin/v1/routers/:id' },
    permission: 'configure',
    cli: { arguments: { id: '<router>' }, reports: removalReports },
    run: async (context, { id }) => {
      if (!(await setRouter(context, context.catalog(), id, null))) throw noOverride('router')
      return { changed: true, body: renderRouter(context, id) }
    },
  }),
]
