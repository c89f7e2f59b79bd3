import { findWarnings, setAlias, setRouter } from '../../../../administration/routing-changes.ts'
import { candidateName, type RouterCandidate, type RouterRule } from '../../../../domain/routing/plan.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { readQuery } from '../ledger/query.ts'
import { pageOf } from './page.ts'
import type { SetAliasRequest, SetRouterRequest } from './requests.types.ts'
import { type AdminCall, type AdminParts, type AdminResult, withWarnings } from './route.ts'

export const aliasPage = pageOf('aliases')
export const routerPage = pageOf('routers')

const entryOf = <T>(entries: Readonly<Record<string, T>>, name: string): T | null =>
  Object.hasOwn(entries, name) ? entries[name]! : null

const sourceOf = (isSet: boolean): string => (isSet ? 'administration' : 'configuration')

const nothingSet = (what: string): GatewayError =>
  new GatewayError('not_found', `Nothing was set over the configuration's word of this ${what}.`)

const shownAlias =
  ({ books }: AdminCall<unknown>, { configured, catalog }: AdminParts) =>
  (alias: string) => ({
    object: 'alias',
    alias,
    model: entryOf(catalog().aliases, alias),
    source: sourceOf(books.tail.ledger.routing.aliases.has(alias)),
    configured: entryOf(configured.aliases, alias),
  })

export const listAliases = (call: AdminCall<undefined>, parts: AdminParts): AdminResult => {
  const names = Object.keys(parts.catalog().aliases)
  const wanted = readQuery(call.ctx, aliasPage.known)
  return { body: aliasPage.show(names, (name) => name, shownAlias(call, parts), wanted) }
}

export const putAlias = async (call: AdminCall<SetAliasRequest>, parts: AdminParts): Promise<AdminResult> => {
  await setAlias(call.books, parts.catalog(), call.id, call.body.model)
  const warnings = findWarnings(call.books, parts.catalog(), [call.body.model])
  return { body: { ...shownAlias(call, parts)(call.id), ...withWarnings(warnings) } }
}

/** Removes the override: the configured alias applies again. */
export const removeAlias = async (call: AdminCall<undefined>, parts: AdminParts): Promise<AdminResult> => {
  if (!(await setAlias(call.books, parts.catalog(), call.id, null))) throw nothingSet('alias')
  return { body: shownAlias(call, parts)(call.id) }
}

const shownCandidate = (candidate: RouterCandidate) => {
  const { model, weight = 1 } = typeof candidate === 'string' ? { model: candidate } : candidate
  return { model, weight }
}

const shownRule = (rule: RouterRule | null) =>
  rule === null ? null : { candidates: rule.candidates.map(shownCandidate), order: rule.order ?? 'listed' }

const shownRouter =
  ({ books }: AdminCall<unknown>, { configured, catalog }: AdminParts) =>
  (router: string) => ({
    object: 'router',
    router,
    ...(shownRule(entryOf(catalog().routers, router)) ?? { candidates: null, order: null }),
    source: sourceOf(books.tail.ledger.routing.routers.has(router)),
    configured: shownRule(entryOf(configured.routers, router)),
  })

export const listRouters = (call: AdminCall<undefined>, parts: AdminParts): AdminResult => {
  const names = Object.keys(parts.catalog().routers)
  const wanted = readQuery(call.ctx, routerPage.known)
  return { body: routerPage.show(names, (name) => name, shownRouter(call, parts), wanted) }
}

export const putRouter = async (call: AdminCall<SetRouterRequest>, parts: AdminParts): Promise<AdminResult> => {
  await setRouter(call.books, parts.catalog(), call.id, call.body)
  const warnings = findWarnings(call.books, parts.catalog(), call.body.candidates.map(candidateName))
  return { body: { ...shownRouter(call, parts)(call.id), ...withWarnings(warnings) } }
}

/** Removes the override: the configured router applies again. */
export const removeRouter = async (call: AdminCall<undefined>, parts: AdminParts): Promise<AdminResult> => {
  if (!(await setRouter(call.books, parts.catalog(), call.id, null))) throw nothingSet('router')
  return { body: shownRouter(call, parts)(call.id) }
}
