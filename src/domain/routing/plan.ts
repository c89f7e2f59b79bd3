import { GatewayError } from '../../errors/gateway-error.ts'
import type { PriceSheet } from '../../events/types.ts'
import { type PriceBook, type PublishedPrice, priceAt } from '../pricing/price-book.ts'

/** One provider + model id, with all that a proxy needs to call it: it looks nothing up. */
export interface CallableModel {
  /** Public model id, `<provider>/<model>`. */
  readonly model: string
  readonly provider: string
  readonly upstreamModel: string
  readonly priceVersion: string
  readonly sheet: PriceSheet
}

/** A callable model in its place in a plan. */
export interface Candidate extends CallableModel {
  /** Its place in the chain the caller named, where names that resolve to nothing count too; 0 without a chain. */
  readonly level: number
}

export interface CatalogProvider {
  readonly models: Readonly<Record<string, string>>
  /** On which its models can be asked, where that is told. */
  readonly surfaces?: readonly ('chat' | 'messages' | 'responses' | 'video')[]
  /** Whose habits it has, where that is told. */
  readonly profile?: 'openai' | 'xai' | 'gemini'
}

/** One model of a router: a name, or one with its part of the sum of all weights, 1 where that is not told. */
export type RouterCandidate = string | { readonly model: string; readonly weight?: number }

/** What `gateway/<router>` tries. */
export interface RouterRule {
  readonly candidates: readonly RouterCandidate[]
  /** `listed`, or absent: in this order. `weighted`: the first is drawn by weight, the others follow likewise. */
  readonly order?: 'listed' | 'weighted'
}

/** A number from 0 up to, but not including, 1. */
export type Random = () => number

/** What can be called, by name. */
export interface Catalog {
  /** By provider name: its models that are called otherwise upstream. */
  readonly providers: ReadonlyMap<string, CatalogProvider>
  readonly aliases: Readonly<Record<string, string>>
  readonly routers: Readonly<Record<string, RouterRule>>
}

/** What a caller asked for: one name, or a chain that replaces it. */
export interface RoutingRequest {
  readonly model: string
  readonly chain: readonly string[] | null
}

/** The ordered candidates of a request. */
export interface Plan {
  readonly candidates: readonly Candidate[]
  /** The router the caller named, without `gateway/`. */
  readonly router: string | null
  /** True when the caller named a chain: its answer tells the level. */
  readonly chain: boolean
}

const routerPrefix = 'gateway/'

const routerOf = (name: string): string | null =>
  name.startsWith(routerPrefix) ? name.slice(routerPrefix.length) : null

/** Whether whoever asks may use a model, by its `<provider>/<model>`. */
export type ModelPermission = (model: string) => boolean

export const allowAllModels: ModelPermission = () => true

/** Behind the name of a model it means one snapshot of it; never a mere prefix: `gpt-5` is no `gpt-5-mini`. */
const snapshotPattern = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/

/** The model that a dated name is a snapshot of. */
export const withoutSnapshot = (name: string): string => name.replace(snapshotPattern, '')

const aliased = ({ aliases }: Catalog, name: string): string => {
  if (Object.hasOwn(aliases, name)) return aliases[name]!
  const [snapshot = ''] = snapshotPattern.exec(name) ?? []
  const model = name.slice(0, name.length - snapshot.length)
  return snapshot !== '' && Object.hasOwn(aliases, model) ? `${aliases[model]!}${snapshot}` : name
}

export const candidateName = (candidate: RouterCandidate): string =>
  typeof candidate === 'string' ? candidate : candidate.model

/** Drawn by weight without replacement: each waits for an exponential time, the shorter the heavier it is. */
const drawn = (candidates: readonly RouterCandidate[], random: Random): readonly RouterCandidate[] =>
  candidates
    .map((candidate) => {
      const { weight = 1 } = typeof candidate === 'string' ? {} : candidate
      return { candidate, waits: -Math.log(1 - random()) / weight }
    })
    .sort((one, other) => one.waits - other.waits)
    .map(({ candidate }) => candidate)

const inOrder = ({ candidates, order }: RouterRule, random: Random): readonly RouterCandidate[] =>
  order === 'weighted' ? drawn(candidates, random) : candidates

const namedBy = (catalog: Catalog, name: string, random: Random): readonly string[] => {
  const router = routerOf(name)
  if (router === null) return [name]
  return Object.hasOwn(catalog.routers, router) ? inOrder(catalog.routers[router]!, random).map(candidateName) : []
}

/** A name as `<provider>/<model>`: an alias once resolved is one, and so is every candidate of a router, in the order of a draw. */
export const listModelIds = (catalog: Catalog, name: string, random: Random): readonly string[] =>
  namedBy(catalog, name, random).map((each) => aliased(catalog, each))

const firstInLine: Random = () => 0

/** The same where their order does not matter. */
const everyModelId = (catalog: Catalog, names: readonly string[]): readonly string[] =>
  names.flatMap((name) => listModelIds(catalog, name, firstInLine))

/** Provider and upstream model of a public model id; undefined where no such provider is configured. */
export const locateModel = (
  catalog: Catalog,
  model: string,
): { provider: string; upstreamModel: string } | undefined => {
  const slash = model.indexOf('/')
  const provider = model.slice(0, Math.max(0, slash))
  const name = model.slice(slash + 1)
  const models = catalog.providers.get(provider)?.models
  if (models === undefined || name === '') return undefined
  return { provider, upstreamModel: Object.hasOwn(models, name) ? models[name]! : name }
}

/** A renamed model has no snapshots: nothing tells what the provider calls them. */
const isRenamed = (catalog: Catalog, model: string): boolean => {
  const located = locateModel(catalog, model)
  return located !== undefined && model !== `${located.provider}/${located.upstreamModel}`
}

/** A snapshot has the price of its model, unless it has one of its own. */
const priceOf = (catalog: Catalog, prices: PriceBook, name: string, atMs: number): PublishedPrice | undefined => {
  const model = withoutSnapshot(name)
  return priceAt(prices, name, atMs) ?? (isRenamed(catalog, model) ? undefined : priceAt(prices, model, atMs))
}

/** `<provider>/*` is every model of one. */
const everyOfProvider = /^[^/]+\/\*$/

const canBeCalled = (catalog: Catalog, prices: PriceBook, name: string): boolean => {
  if (locateModel(catalog, name) === undefined) return false
  if (everyOfProvider.test(name)) return [...prices.keys()].some((model) => model.startsWith(name.slice(0, -1)))
  const model = withoutSnapshot(name)
  return prices.has(name) || (prices.has(model) && !isRenamed(catalog, model))
}

/** Those of the names, of models and aliases, that lead to no model of a configured provider with a price, in force or to come. */
export const unresolvedNames = (catalog: Catalog, prices: PriceBook, names: readonly string[]): readonly string[] =>
  names.filter((name) => !everyModelId(catalog, [name]).some((model) => canBeCalled(catalog, prices, model)))

const callableOf = (catalog: Catalog, prices: PriceBook, model: string, atMs: number): CallableModel | undefined => {
  const located = locateModel(catalog, model)
  const price = priceOf(catalog, prices, model, atMs)
  if (located === undefined || price?.sheet === undefined) return undefined
  return { model, ...located, priceVersion: price.version, sheet: price.sheet }
}

/** Throws for a model that has a price, and none yet at `atMs`. */
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

const noneAllowed = (ask: RoutingRequest): GatewayError =>
  ask.chain !== null && ask.chain.length > 1
    ? new GatewayError('model_not_allowed', 'This key may use none of the models in the fallback chain.', {
        param: 'extra_body.models',
      })
    : modelNotAllowed(ask.chain?.[0] ?? ask.model)

const noCandidate = (ask: RoutingRequest): GatewayError =>
  ask.chain !== null && ask.chain.length > 1
    ? new GatewayError('invalid_value', 'None of the models in the fallback chain is available.', {
        param: 'extra_body.models',
      })
    : modelNotFound(ask.chain?.[0] ?? ask.model)

/** What RequestRouted has room for; a chain of routers can name more. */
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
 * The candidates of a request in the order in which they are tried, each with the price in force at `atMs`.
 * Names that resolve to nothing, and models that may not be used, are passed over. Throws `model_not_found`, `invalid_value` or
 * `unsupported_value` when none is left, and `model_not_allowed` when only those are that may not be used.
 */
export const planRequest = (
  catalog: Catalog,
  prices: PriceBook,
  ask: RoutingRequest,
  atMs: number,
  random: Random,
  mayUse: ModelPermission = allowAllModels,
): Plan => {
  const names = ask.chain ?? [ask.model]
  const callable = names.flatMap((name, level) =>
    listModelIds(catalog, name, random)
      .map((model) => callableOf(catalog, prices, model, atMs))
      .filter((each) => each !== undefined)
      .map((each) => ({ ...each, level })),
  )
  if (callable.length === 0) {
    refuseVideoModels(catalog, prices, names, atMs)
    refuseUnpriced(catalog, prices, names, atMs)
    throw noCandidate(ask)
  }
  const candidates = callable.filter(({ model }) => mayUse(model))
  if (candidates.length === 0) throw noneAllowed(ask)
  if (candidates.length > candidatesMax) throw tooManyCandidates(candidates.length)
  return { candidates, router: ask.chain === null ? routerOf(ask.model) : null, chain: ask.chain !== null }
}

/** Every model that can be called at an instant: configured and priced by tokens. */
export const callableModels = (catalog: Catalog, prices: PriceBook, atMs: number): readonly CallableModel[] =>
  [...prices.keys()]
    .sort()
    .map((model) => callableOf(catalog, prices, model, atMs))
    .filter((callable) => callable !== undefined)
