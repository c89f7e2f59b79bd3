import { formatUsd } from '../../../../domain/money.ts'
import { perTokenPicos } from '../../../../domain/pricing/charge.ts'
import type { CallableModel } from '../../../../domain/routing/plan.ts'
import type { PriceSheet } from '../../../../events/types.ts'
import type { Surface } from '../../../role.ts'

/** A model that can be called, on which surfaces, and since when it has a price, in milliseconds since the epoch. */
export interface ListedModel {
  readonly candidate: CallableModel
  readonly surfaces: readonly Surface[]
  readonly sinceMs: number
}

const perToken = (usdPerMillion: string): string => formatUsd(perTokenPicos(usdPerMillion))

/** USD for one token, as user interfaces read it, and the sheet as it was published. */
const pricingOf = ({ priceVersion, sheet }: CallableModel) => ({
  prompt: perToken(sheet.per_million_tokens.input),
  completion: perToken(sheet.per_million_tokens.output),
  ...cachePricing(sheet),
  version: priceVersion,
  currency: sheet.currency,
  per_million_tokens: sheet.per_million_tokens,
  ...(sheet.tiers === undefined ? {} : { tiers: sheet.tiers }),
  ...(sheet.per_call === undefined ? {} : { per_call: sheet.per_call }),
})

const cachePricing = ({ per_million_tokens: { cached_input, cache_write_5m } }: PriceSheet) => ({
  ...(cached_input === undefined ? {} : { input_cache_read: perToken(cached_input) }),
  ...(cache_write_5m === undefined ? {} : { input_cache_write: perToken(cache_write_5m) }),
})

/** As user interfaces know them. */
const endpointTypes: { readonly [S in Surface]: string } = {
  chat: 'openai',
  messages: 'anthropic',
  responses: 'openai-response',
}

const openaiShape = ({ candidate: { model, provider }, surfaces, sinceMs }: ListedModel) => ({
  id: model,
  object: 'model',
  created: Math.floor(sinceMs / 1_000),
  owned_by: provider,
  supported_endpoint_types: surfaces.map((surface) => endpointTypes[surface]),
})

const anthropicShape = ({ candidate: { model }, sinceMs }: ListedModel) => ({
  type: 'model',
  id: model,
  display_name: model,
  created_at: new Date(sinceMs).toISOString(),
})

/** How a client dialect shows models. */
export interface ModelShapes {
  readonly list: (models: readonly ListedModel[]) => object
  readonly one: (model: ListedModel) => object
}

export const openaiShapes: ModelShapes = {
  list: (models) => ({ object: 'list', data: models.map(openaiShape) }),
  one: (model) => ({
    ...openaiShape(model),
    context_length: model.candidate.sheet.context_tokens ?? null,
    max_completion_tokens: model.candidate.sheet.max_output_tokens,
    pricing: pricingOf(model.candidate),
  }),
}

export const anthropicShapes: ModelShapes = {
  list: (models) => ({
    data: models.map(anthropicShape),
    has_more: false,
    first_id: models[0]?.candidate.model ?? null,
    last_id: models.at(-1)?.candidate.model ?? null,
  }),
  one: anthropicShape,
}
