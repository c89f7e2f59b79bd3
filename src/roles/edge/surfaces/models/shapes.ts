import { formatUsd } from '../../../../domain/money.ts'
import { perTokenPicos } from '../../../../domain/pricing/charge.ts'
import type { CallableModel } from '../../../../domain/routing/plan.ts'
import type { VideoPlan } from '../../../../domain/video/plan.ts'
import type { PriceSheet } from '../../../../events/types.ts'
import type { JsonRecord, Surface } from '../../../dispatch.ts'

/** `sinceMs`: when it got a price, in milliseconds since the epoch. */
export interface ListedModel {
  readonly model: string
  readonly provider: string
  readonly endpointTypes: readonly string[]
  readonly sinceMs: number
  readonly details: JsonRecord
}

const perToken = (usdPerMillion: string): string => formatUsd(perTokenPicos(usdPerMillion))

/** USD for one token, as user interfaces read it, and the sheet as published. */
const pricingOf = ({ priceVersion, sheet }: CallableModel) => ({
  prompt: perToken(sheet.per_million_tokens.input),
  completion: perToken(sheet.per_million_tokens.output),
  ...cachePricing(sheet),
  version: priceVersion,
  currency: sheet.currency,
  per_million_tokens: sheet.per_million_tokens,
  ...(sheet.tiers === undefined ? {} : { tiers: sheet.tiers }),
  ...(sheet.service_tiers === undefined ? {} : { service_tiers: sheet.service_tiers }),
  ...(sheet.region_multipliers === undefined ? {} : { region_multipliers: sheet.region_multipliers }),
  ...(sheet.per_call === undefined ? {} : { per_call: sheet.per_call }),
})

const cachePricing = ({ per_million_tokens: { cached_input, cache_write_5m } }: PriceSheet) => ({
  ...(cached_input === undefined ? {} : { input_cache_read: perToken(cached_input) }),
  ...(cache_write_5m === undefined ? {} : { input_cache_write: perToken(cache_write_5m) }),
})

const endpointTypes: { readonly [S in Surface]: string } = {
  chat: 'openai',
  messages: 'anthropic',
  responses: 'openai-response',
}

export const answeringModel = (
  candidate: CallableModel,
  surfaces: readonly Surface[],
  sinceMs: number,
): ListedModel => ({
  model: candidate.model,
  provider: candidate.provider,
  endpointTypes: surfaces.map((surface) => endpointTypes[surface]),
  sinceMs,
  details: {
    context_length: candidate.sheet.context_tokens ?? null,
    max_completion_tokens: candidate.sheet.max_output_tokens,
    pricing: pricingOf(candidate),
  },
})

export const videoModel = ({ model, provider, priceVersion, sheet }: VideoPlan, sinceMs: number): ListedModel => ({
  model,
  provider,
  endpointTypes: ['openai-video'],
  sinceMs,
  details: { context_length: null, max_completion_tokens: null, pricing: { version: priceVersion, ...sheet } },
})

const openaiShape = ({ model, provider, endpointTypes, sinceMs }: ListedModel) => ({
  id: model,
  object: 'model',
  created: Math.floor(sinceMs / 1_000),
  owned_by: provider,
  supported_endpoint_types: endpointTypes,
})

const anthropicShape = ({ model, sinceMs }: ListedModel) => ({
  type: 'model',
  id: model,
  display_name: model,
  created_at: new Date(sinceMs).toISOString(),
})

export interface ModelShapes {
  readonly list: (models: readonly ListedModel[]) => object
  readonly one: (model: ListedModel) => object
}

export const openaiShapes: ModelShapes = {
  list: (models) => ({ object: 'list', data: models.map(openaiShape) }),
  one: (model) => ({
    ...openaiShape(model),
    ...model.details,
  }),
}

export const anthropicShapes: ModelShapes = {
  list: (models) => ({
    data: models.map(anthropicShape),
    has_more: false,
    first_id: models[0]?.model ?? null,
    last_id: models.at(-1)?.model ?? null,
  }),
  one: anthropicShape,
}
