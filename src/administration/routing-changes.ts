import { type Catalog, candidateName, type RouterRule, unresolvedNames } from '../domain/routing/plan.ts'
import { GatewayError, truncateName } from '../errors/gateway-error.ts'
import { type AdminContext, appendGlobalFacts } from './admin-context.ts'
import { administrationLimits } from './limits.ts'

/** Warnings about names that are allowed, since a price may follow, but cannot be served yet. */
export const findWarnings = (
  { tail }: Pick<AdminContext, 'tail'>,
  catalog: Catalog,
  names: readonly string[],
): readonly string[] =>
  unresolvedNames(catalog, tail.ledger.prices, names).map(
    (name) =>
      `\`${truncateName(name)}\` leads to no model yet: its provider is not configured, or no price is published.`,
  )

const aliasPattern = /^[^/\s]{1,200}$/
const routerPattern = /^[a-z0-9][a-z0-9-]{0,62}$/

const invalid = (param: string, message: string): GatewayError => new GatewayError('invalid_value', message, { param })

const namesProvider = ({ providers }: Catalog, model: string): boolean =>
  /^[^/\s]+\/\S+$/.test(model) && providers.has(model.slice(0, model.indexOf('/')))

const requireRoom = (names: ReadonlyMap<string, unknown>, name: string): void => {
  if (names.size >= administrationLimits.routingNamesMax && !names.has(name))
    throw new GatewayError(
      'conflict',
      `No more than ${administrationLimits.routingNamesMax} names of a kind can be set.`,
    )
}

/** Null removes the override. False when unchanged. Throws `invalid_value`. */
export const setAlias = async (
  context: AdminContext,
  catalog: Catalog,
  alias: string,
  model: string | null,
): Promise<boolean> => {
  const { aliases } = context.tail.ledger.routing
  if ((aliases.get(alias) ?? null) === model) return false
  if (!aliasPattern.test(alias))
    throw invalid('alias', 'An alias has 1 to 200 characters, none of which is a slash or a blank.')
  if (model !== null && !namesProvider(catalog, model))
    throw invalid('model', `\`${truncateName(model)}\` names no configured provider: it must be <provider>/<model>.`)
  if (model !== null) requireRoom(aliases, alias)
  await appendGlobalFacts(context, [{ type: 'AliasSet', data: { alias, model } }])
  return true
}

const sameRule = (one: RouterRule | null, other: RouterRule | null): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

const checkRule = (catalog: Catalog, { candidates }: RouterRule): void => {
  for (const [index, candidate] of candidates.entries()) {
    const name = candidateName(candidate)
    if (!namesProvider(catalog, name) && !Object.hasOwn(catalog.aliases, name))
      throw invalid(
        `candidates[${index}]`,
        `\`${truncateName(name)}\` is no alias, and names no configured provider as <provider>/<model>.`,
      )
  }
}

/** Null removes the override. False when unchanged. Throws `invalid_value`. */
export const setRouter = async (
  context: AdminContext,
  catalog: Catalog,
  router: string,
  rule: RouterRule | null,
): Promise<boolean> => {
  const { routers } = context.tail.ledger.routing
  const order = rule?.order ?? 'listed'
  const candidates = rule?.candidates.map((each) => (typeof each === 'string' ? { model: each } : each)) ?? null
  if (sameRule(routers.get(router) ?? null, candidates && { candidates, order })) return false
  if (!routerPattern.test(router))
    throw invalid(
      'router',
      'A router has 1 to 63 lower-case letters, digits and hyphens, and starts with a letter or digit.',
    )
  if (rule !== null) {
    checkRule(catalog, rule)
    requireRoom(routers, router)
  }
  await appendGlobalFacts(context, [{ type: 'RouterSet', data: { router, candidates, order } }])
  return true
}
