import type { IncomingHttpHeaders } from 'node:http'
import type { Accounts } from '../../../../domain/accounts/accounts.ts'
import { modelPermissionOf } from '../../../../domain/accounts/limits.ts'
import { formatUsd } from '../../../../domain/money.ts'
import { perTokenPicos } from '../../../../domain/pricing/charge.ts'
import { isEmbeddingSheet, type PriceBook } from '../../../../domain/pricing/price-book.ts'
import {
  allowAllModels,
  type CallableModel,
  type Catalog,
  callableModels,
  type ModelPermission,
  type Surface,
} from '../../../../domain/routing/plan.ts'
import { callableVideoModels, type VideoPlan } from '../../../../domain/video/plan.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { PriceSheet } from '../../../../events/types.ts'
import type { HttpContextWithId, HttpMiddleware } from '../../../../http/context.ts'
import { limitParameter, modelParameter } from '../../../../http/parameters.ts'
import { readQuery } from '../../../../http/query.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import type { JsonRecord } from '../../../dispatch.ts'
import { readCredential } from '../../http/authenticate.ts'

/** `sinceMs`: when it got a price, in milliseconds since the epoch. */
interface ListedModel {
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

interface Modalities {
  readonly input: readonly string[]
  readonly output: readonly string[]
}

const architectureOf = ({ input, output }: Modalities) => ({
  modality: `${input.join('+')}->${output.join('+')}`,
  input_modalities: input,
  output_modalities: output,
})

/** Beside text, what has a price of its own: what is charged as text, as images are by most, is not in a sheet. */
const modalitiesOf = (sheet: PriceSheet): Modalities => {
  const { image_input, audio_input, image_output, audio_output } = sheet.per_million_tokens
  const beside = (image?: string, audio?: string): readonly string[] => [
    ...(image === undefined ? [] : ['image']),
    ...(audio === undefined ? [] : ['audio']),
  ]
  return {
    input: ['text', ...beside(image_input, audio_input)],
    output: isEmbeddingSheet(sheet) ? ['embeddings'] : ['text', ...beside(image_output, audio_output)],
  }
}

const videoModalities: Modalities = { input: ['text', 'image'], output: ['video'] }

const endpointTypes: { readonly [S in Surface]: string } = {
  chat: 'openai',
  messages: 'anthropic',
  responses: 'openai-response',
  embeddings: 'embeddings',
  gemini: 'gemini',
}

const answeringModel = (candidate: CallableModel, surfaces: readonly Surface[], sinceMs: number): ListedModel => ({
  model: candidate.model,
  provider: candidate.provider,
  endpointTypes: surfaces
    .filter((surface) => (surface === 'embeddings') === isEmbeddingSheet(candidate.sheet))
    .map((surface) => endpointTypes[surface]),
  sinceMs,
  details: {
    context_length: candidate.sheet.context_tokens ?? null,
    max_completion_tokens: candidate.sheet.max_output_tokens || null,
    architecture: architectureOf(modalitiesOf(candidate.sheet)),
    pricing: pricingOf(candidate),
  },
})

const videoModel = ({ model, provider, priceVersion, sheet }: VideoPlan, sinceMs: number): ListedModel => ({
  model,
  provider,
  endpointTypes: ['openai-video'],
  sinceMs,
  details: {
    context_length: null,
    max_completion_tokens: null,
    architecture: architectureOf(videoModalities),
    pricing: { version: priceVersion, ...sheet },
  },
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

interface ModelShapes {
  readonly list: (models: readonly ListedModel[]) => object
  readonly one: (model: ListedModel) => object
}

const openaiShapes: ModelShapes = {
  list: (models) => ({ object: 'list', data: models.map(openaiShape) }),
  one: (model) => ({
    ...openaiShape(model),
    ...model.details,
  }),
}

const anthropicShapes: ModelShapes = {
  list: (models) => ({
    data: models.map(anthropicShape),
    has_more: false,
    first_id: models[0]?.model ?? null,
    last_id: models.at(-1)?.model ?? null,
  }),
  one: anthropicShape,
}

const isOnGemini = ({ endpointTypes: types }: Pick<ListedModel, 'endpointTypes'>): boolean =>
  types.includes(endpointTypes.gemini)

const geminiShape = ({ details, ...listed }: ListedModel) => ({
  name: `models/${listed.model}`,
  baseModelId: listed.model,
  version: listed.model,
  displayName: listed.model,
  ...(typeof details['context_length'] === 'number' ? { inputTokenLimit: details['context_length'] } : {}),
  ...(typeof details['max_completion_tokens'] === 'number'
    ? { outputTokenLimit: details['max_completion_tokens'] }
    : {}),
  supportedGenerationMethods: isOnGemini(listed) ? ['generateContent', 'streamGenerateContent', 'countTokens'] : [],
})

const geminiShapes: ModelShapes = {
  list: (models) => ({ models: models.filter(isOnGemini).map(geminiShape) }),
  one: geminiShape,
}

interface ModelsParts {
  readonly catalog: () => Catalog
  readonly prices: PriceBook
  readonly accounts: Accounts
  readonly clock: Clock
}

const sinceMsOf = (prices: PriceBook, model: string): number => prices.get(model)?.[0]?.effectiveFromMs ?? 0

const answeringModels = ({ catalog, prices, clock }: ModelsParts): readonly ListedModel[] =>
  callableModels(catalog(), prices, clock()).map((candidate) => {
    const surfaces = catalog().providers.get(candidate.provider)?.surfaces ?? []
    return answeringModel(
      candidate,
      surfaces.filter((surface) => surface !== 'video'),
      sinceMsOf(prices, candidate.model),
    )
  })

const videoModels = ({ catalog, prices, clock }: ModelsParts): readonly ListedModel[] =>
  callableVideoModels(catalog(), prices, clock()).map((plan) => videoModel(plan, sinceMsOf(prices, plan.model)))

/** A key sees the models it may use; a caller without one sees every model. */
const mayUseBy = ({ accounts }: ModelsParts, headers: IncomingHttpHeaders): ModelPermission => {
  const key = readCredential(accounts, headers)
  return key === undefined ? allowAllModels : modelPermissionOf(accounts, key)
}

const listedModels = (parts: ModelsParts, headers: IncomingHttpHeaders): readonly ListedModel[] => {
  const mayUse = mayUseBy(parts, headers)
  return [...answeringModels(parts), ...videoModels(parts)]
    .filter(({ model }) => mayUse(model))
    .sort((a, b) => (a.model < b.model ? -1 : 1))
}

/** Clients of Messages, and of Google's own format, are recognised by their headers. */
const shapesFor = (headers: IncomingHttpHeaders): ModelShapes => {
  if (headers['x-goog-api-key'] !== undefined) return geminiShapes
  return headers['x-api-key'] === undefined && headers['anthropic-version'] === undefined
    ? openaiShapes
    : anthropicShapes
}

const findModel = (parts: ModelsParts, name: string, headers: IncomingHttpHeaders): ListedModel => {
  const { aliases } = parts.catalog()
  const id = Object.hasOwn(aliases, name) ? aliases[name] : name
  const found = listedModels(parts, headers).find(({ model }) => model === id)
  if (found === undefined)
    throw new GatewayError('model_not_found', `The model \`${name}\` does not exist or is not available here.`, {
      param: 'model',
    })
  return found
}

export const listModels =
  (parts: ModelsParts): HttpMiddleware =>
  (ctx) => {
    ctx.body = shapesFor(ctx.req.headers).list(listedModels(parts, ctx.req.headers))
  }

/** The slash of an id may be sent as it is or as %2F. */
export const showModel =
  (parts: ModelsParts) =>
  (ctx: HttpContextWithId): void => {
    ctx.body = shapesFor(ctx.req.headers).one(findModel(parts, ctx.params.id ?? '', ctx.req.headers))
  }

export const geminiListParameters = { pageSize: limitParameter, pageToken: modelParameter }

/** The models that the surface has, in pages where a size is given; a token is the last model of the page before. */
export const listGeminiModels =
  (parts: ModelsParts): HttpMiddleware =>
  (ctx) => {
    const { pageSize, pageToken } = readQuery(ctx, geminiListParameters)
    const all = listedModels(parts, ctx.req.headers).filter(isOnGemini)
    const rest = pageToken === undefined ? all : all.filter(({ model }) => model > pageToken)
    const page = rest.slice(0, pageSize)
    const last = page.at(-1)
    ctx.body = {
      models: page.map(geminiShape),
      ...(page.length < rest.length && last !== undefined ? { nextPageToken: last.model } : {}),
    }
  }

export const showGeminiModel =
  (parts: ModelsParts) =>
  (ctx: HttpContextWithId): void => {
    ctx.body = geminiShape(findModel(parts, ctx.params.id ?? '', ctx.req.headers))
  }
