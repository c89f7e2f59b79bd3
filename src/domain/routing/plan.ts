import { GatewayError } from '../../errors/gateway-error.ts'
import type { PriceSheet, RequestRouted } from '../../events/types.ts'
import { isEmbeddingSheet, type PriceBook, type PublishedPrice, priceAt } from '../pricing/price-book.ts'

/** The API of a client that a request came in by. */
export type Surface = RequestRouted['surface']

export interface CallableModel {
  readonly model: string
  readonly provider: string
  readonly upstreamModel: string
  readonly priceVersion: string
  readonly sheet: PriceSheet
}

export interface Candidate extends CallableModel {
  /** Its place in the chain the caller named, where names that do not resolve count too; 0 without a chain. */
  readonly level: number
  /** The router that led to it, without `gateway/`; absent where its model was named. */
  readonly router?: string
  /** The only deployment of the provider that can serve the request, since it stores what that continues. */
  readonly deployment?: string
}

export interface CatalogProvider {
  readonly models: Readonly<Record<string, string>>
  /** Public names of all that its deployments list; absent where one of them lists none, and so serves all. */
  readonly served?: ReadonlySet<string>
  /** Their names; absent: it has one, without a name. */
  readonly deployments?: readonly string[]
  readonly surfaces?: readonly (Surface | 'video')[]
  readonly profile?: 'openai' | 'xai' | 'gemini'
}

/** One model of a router: a name, or one with its share of the sum of all weights, 1 where absent. */
export type RouterCandidate = string | { readonly model: string; readonly weight?: number }

export interface RouterRule {
  readonly candidates: readonly RouterCandidate[]
  /** `listed`, or absent: in this order. `weighted`: the order is drawn by weight. */
  readonly order?: 'listed' | 'weighted'
}

/** A number from 0 up to, but not including, 1. */
export type Random = () => number

export interface Catalog {
  readonly providers: ReadonlyMap<string, CatalogProvider>
  readonly aliases: Readonly<Record<string, string>>
  readonly routers: Readonly<Record<string, RouterRule>>
  /** True: every dated name of a model is its snapshot. Absent: only those that its price lists. */
  readonly acceptSnapshots?: boolean
}

export interface RoutingRequest {
  readonly model: string
  readonly chain: readonly string[] | null
  /** True for embeddings, absent for answers: each has models of its own. */
  readonly embeds?: true
}

export interface RoutePlan {
  readonly candidates: readonly Candidate[]
  /** The router the caller named, without `gateway/`. */
  readonly router: string | null
  readonly chain: boolean
}

const routerPrefix = 'gateway/'

const routerOf = (name: string): string | null =>
  name.startsWith(routerPrefix) ? name.slice(routerPrefix.length) : null

/** Whether the caller may use a model, by its `<provider>/<model>`. */
export type ModelPermission = (model: string) => boolean

export const allowAllModels: ModelPermission = () => true

/** A suffix that makes a model's name one of its snapshots; never a mere prefix: `gpt-5` is no `gpt-5-mini`. */
const snapshotPattern = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/

export const withoutSnapshot = (name: string): string => name.replace(snapshotPattern, '')

const resolveAlias = ({ aliases }: Catalog, name: string): string => {
  if (Object.hasOwn(aliases, name)) return aliases[name]!
  const [snapshot = ''] = snapshotPattern.exec(name) ?? []
  const model = name.slice(0, name.length - snapshot.length)
  return snapshot !== '' && Object.hasOwn(aliases, model) ? `${aliases[model]!}${snapshot}` : name
}

export const candidateName = (candidate: RouterCandidate): string =>
  typeof candidate === 'string' ? candidate : candidate.model

/** Drawn by weight without replacement: each waits for an exponential time, the shorter the heavier it is. */
const shuffleByWeight = (candidates: readonly RouterCandidate[], random: Random): readonly RouterCandidate[] =>
  candidates
    .map((candidate) => {
      const { weight = 1 } = typeof candidate === 'string' ? {} : candidate
      return { candidate, waits: -Math.log(1 - random()) / weight }
    })
    .sort((one, other) => one.waits - other.waits)
    .map(({ candidate }) => candidate)

const orderCandidates = ({ candidates, order }: RouterRule, random: Random): readonly RouterCandidate[] =>
  order === 'weighted' ? shuffleByWeight(candidates, random) : candidates

const expandRouter = (catalog: Catalog, name: string, random: Random): readonly string[] => {
  const router = routerOf(name)
  if (router === null) return [name]
  return Object.hasOwn(catalog.routers, router)
    ? orderCandidates(catalog.routers[router]!, random).map(candidateName)
    : []
}

/** As `<provider>/<model>`: aliases resolved, routers expanded to their candidates in the order of a draw. */
export const listModelIds = (catalog: Catalog, name: string, random: Random): readonly string[] =>
  expandRouter(catalog, name, random).map((each) => resolveAlias(catalog, each))

const firstInLine: Random = () => 0

const everyModelId = (catalog: Catalog, names: readonly string[]): readonly string[] =>
  names.flatMap((name) => listModelIds(catalog, name, firstInLine))

/** Undefined where no such provider is configured. */
export const locateModel = (
  catalog: Catalog,
  model: string,
): { provider: string; upstreamModel: string } | undefined => {
  const slash = model.indexOf('/')
  const provider = model.slice(0, Math.max(0, slash))
  const name = model.slice(slash + 1)
  const { models, served } = catalog.providers.get(provider) ?? {}
  if (models === undefined || name === '' || served?.has(name) === false) return undefined
  return { provider, upstreamModel: Object.hasOwn(models, name) ? models[name]! : name }
}

/** A renamed model has no snapshots: their upstream names are unknown. */
const isRenamed = (catalog: Catalog, model: string): boolean => {
  const located = locateModel(catalog, model)
  return located !== undefined && model !== `${located.provider}/${located.upstreamModel}`
}

/** An unknown snapshot may cost anything: it is another model, unless the operator decided otherwise. */
const isSoldAt = ({ model, snapshots = [] }: PublishedPrice, name: string, { acceptSnapshots }: Catalog): boolean =>
  name === model || acceptSnapshots === true || snapshots.includes(name.slice(name.indexOf('/') + 1))

/** A snapshot has the price of its model, unless it has one of its own. */
const priceOf = (catalog: Catalog, prices: PriceBook, name: string, atMs: number): PublishedPrice | undefined => {
  const own = priceAt(prices, name, atMs)
  const model = withoutSnapshot(name)
  if (own !== undefined || isRenamed(catalog, model)) return own
  const price = priceAt(prices, model, atMs)
  return price !== undefined && isSoldAt(price, name, catalog) ? price : undefined
}

const everyOfProvider = /^[^/]+\/\*$/

const canBeCalled = (catalog: Catalog, prices: PriceBook, name: string): boolean => {
  if (locateModel(catalog, name) === undefined) return false
  if (everyOfProvider.test(name)) return [...prices.keys()].some((model) => model.startsWith(name.slice(0, -1)))
  const model = withoutSnapshot(name)
  if (prices.has(name)) return true
  return !isRenamed(catalog, model) && (prices.get(model) ?? []).some((price) => isSoldAt(price, name, catalog))
}

/** Names, of models and aliases, that lead to no model of a configured provider with a price, in force or future. */
export const unresolvedNames = (catalog: Catalog, prices: PriceBook, names: readonly string[]): readonly string[] =>
  names.filter((name) => !everyModelId(catalog, [name]).some((model) => canBeCalled(catalog, prices, model)))

const callableOf = (catalog: Catalog, prices: PriceBook, model: string, atMs: number): CallableModel | undefined => {
  const located = locateModel(catalog, model)
  const price = priceOf(catalog, prices, model, atMs)
  if (located === undefined || price?.sheet === undefined) return undefined
  return { model, ...located, priceVersion: price.version, sheet: price.sheet }
}

/** Throws for a model whose first price takes effect after `atMs`. */
export const refuseUnpriced = (catalog: Catalog, prices: PriceBook, names: readonly string[], atMs: number): void => {
  const awaited = everyModelId(catalog, names).find(
    (model) => prices.has(model) && priceAt(prices, model, atMs) === undefined && locateModel(catalog, model),
  )
  if (awaited !== undefined)
    throw new GatewayError('invalid_value', `No price of the model \`${awaited}\` is in force yet.`, { param: 'model' })
}

const refuseVideoModels = (catalog: Catalog, prices: PriceBook, names: readonly string[], atMs: number): void => {
  const video = everyModelId(catalog, names).find(
    (model) => priceAt(prices, model, atMs)?.video !== undefined && locateModel(catalog, model),
  )
  if (video !== undefined)
    throw new GatewayError(
      'unsupported_value',
      `The model \`${video}\` makes videos: it is asked at \`/v1/video/generations\`.`,
      { param: 'model' },
    )
}

export const modelNotFound = (name: string): GatewayError =>
  new GatewayError('model_not_found', `The model \`${name}\` does not exist or is not available here.`, {
    param: 'model',
  })

export const modelNotAllowed = (name: string): GatewayError =>
  new GatewayError('model_not_allowed', `This key may not use the model \`${name}\`.`, { param: 'model' })

const noneAllowed = (request: RoutingRequest): GatewayError =>
  request.chain !== null && request.chain.length > 1
    ? new GatewayError('model_not_allowed', 'This key may use none of the models in the fallback chain.', {
        param: 'extra_body.models',
      })
    : modelNotAllowed(request.chain?.[0] ?? request.model)

const noCandidate = (request: RoutingRequest): GatewayError =>
  request.chain !== null && request.chain.length > 1
    ? new GatewayError('invalid_value', 'None of the models in the fallback chain is available.', {
        param: 'extra_body.models',
      })
    : modelNotFound(request.chain?.[0] ?? request.model)

const servesOtherwise = ({ model, sheet }: CallableModel): GatewayError =>
  new GatewayError(
    'unsupported_value',
    isEmbeddingSheet(sheet)
      ? `The model \`${model}\` makes embeddings: it is asked at \`/v1/embeddings\`.`
      : `The model \`${model}\` makes no embeddings.`,
    { param: 'model' },
  )

/** The bound of RequestRouted; a chain of routers can name more. */
const candidatesMax = 16

const tooManyCandidates = (count: number): GatewayError =>
  new GatewayError(
    'invalid_value',
    `The fallback chain leads to ${count} models; at most ${candidatesMax} are tried.`,
    {
      param: 'extra_body.models',
    },
  )

/**
 * Skips names that do not resolve, models of the other kind, and models that are not allowed. Throws `model_not_found`, `invalid_value` or
 * `unsupported_value` when none is left, and `model_not_allowed` when the only ones left are not allowed.
 */
export const planRequest = (
  catalog: Catalog,
  prices: PriceBook,
  request: RoutingRequest,
  atMs: number,
  random: Random,
  mayUse: ModelPermission = allowAllModels,
): RoutePlan => {
  const names = request.chain ?? [request.model]
  const callable = names.flatMap((name, level) => {
    const router = routerOf(name)
    const place = router === null ? { level } : { level, router }
    return listModelIds(catalog, name, random)
      .map((model) => callableOf(catalog, prices, model, atMs))
      .filter((each) => each !== undefined)
      .map((each): Candidate => ({ ...each, ...place }))
  })
  if (callable.length === 0) {
    refuseVideoModels(catalog, prices, names, atMs)
    refuseUnpriced(catalog, prices, names, atMs)
    throw noCandidate(request)
  }
  const serving = callable.filter(({ sheet }) => isEmbeddingSheet(sheet) === (request.embeds ?? false))
  if (serving.length === 0) throw servesOtherwise(callable[0]!)
  const candidates = serving.filter(({ model }) => mayUse(model))
  if (candidates.length === 0) throw noneAllowed(request)
  if (candidates.length > candidatesMax) throw tooManyCandidates(candidates.length)
  return { candidates, router: request.chain === null ? routerOf(request.model) : null, chain: request.chain !== null }
}

export const callableModels = (catalog: Catalog, prices: PriceBook, atMs: number): readonly CallableModel[] =>
  [...prices.keys()]
    .sort()
    .map((model) => callableOf(catalog, prices, model, atMs))
    .filter((callable) => callable !== undefined)
