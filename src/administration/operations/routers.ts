import { candidateName, type RouterCandidate, type RouterRule } from '../../domain/routing/plan.ts'
import { pageOf } from '../../http/page.ts'
import { type AdminOperation, defineOperation, type OperationContext, type OperationInput } from '../operation.ts'
import type { SetRouterRequest } from '../requests.types.ts'
import type { RouterResponse } from '../responses.types.ts'
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
