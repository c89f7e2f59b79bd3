import type { VideoSheet } from '../../events/types.ts'
import { type PriceBook, priceAt } from '../pricing/price-book.ts'
import {
  allowAllModels,
  type Catalog,
  listModelIds,
  locateModel,
  type ModelPermission,
  modelNotAllowed,
  modelNotFound,
  type Random,
  refuseUnpriced,
} from '../routing/plan.ts'
import { videoModelOf } from './models.ts'

export interface VideoPlan {
  readonly model: string
  readonly modelName: string
  readonly provider: string
  readonly upstreamModel: string
  readonly priceVersion: string
  readonly sheet: VideoSheet
}

/** True also where the provider has no `surfaces`. */
const makesVideos = ({ providers }: Catalog, provider: string): boolean =>
  providers.get(provider)?.surfaces?.includes('video') !== false

const planOf = (catalog: Catalog, prices: PriceBook, model: string, atMs: number): VideoPlan | undefined => {
  const located = locateModel(catalog, model)
  const price = priceAt(prices, model, atMs)
  if (located === undefined || price?.video === undefined || !makesVideos(catalog, located.provider)) return undefined
  const modelName = model.slice(located.provider.length + 1)
  return { model, modelName, ...located, priceVersion: price.version, sheet: price.video }
}

/** Of a router the first that makes videos. Throws `model_not_found`, `invalid_value` (price), `model_not_allowed`. */
export const planVideo = (
  catalog: Catalog,
  prices: PriceBook,
  model: string,
  atMs: number,
  random: Random,
  mayUse: ModelPermission = allowAllModels,
): VideoPlan => {
  const plans = listModelIds(catalog, model, random)
    .map((each) => planOf(catalog, prices, each, atMs))
    .filter((each) => each !== undefined)
  const plan = plans.find((each) => mayUse(each.model))
  if (plan !== undefined) return plan
  if (plans.length > 0) throw modelNotAllowed(model)
  refuseUnpriced(catalog, prices, [model], atMs)
  throw modelNotFound(model)
}

export const callableVideoModels = (catalog: Catalog, prices: PriceBook, atMs: number): readonly VideoPlan[] =>
  [...prices.keys()]
    .sort()
    .map((model) => planOf(catalog, prices, model, atMs))
    .filter((plan) => plan !== undefined)
    .filter(({ modelName }) => videoModelOf(modelName) !== undefined)
