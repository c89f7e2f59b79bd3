import { formatUsd } from '../../../../domain/money.ts'
import { perTokenPicos } from '../../../../domain/pricing/charge.ts'
import { isEmbeddingSheet, type PriceBook } from '../../../../domain/pricing/price-book.ts'
import { type CallableModel, type Catalog, callableModels, type Surface } from '../../../../domain/routing/plan.ts'
import { callableVideoModels, type VideoPlan } from '../../../../domain/video/plan.ts'
import type { PriceSheet } from '../../../../events/types.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import type { JsonRecord } from '../../../dispatch.ts'

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

/** A sheet does not have what a model reads and writes: images, which most charge as text, have no price of their own. */
const embeddingModalities: Modalities = { input: ['text'], output: ['embeddings'] }
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
    ...(isEmbeddingSheet(candidate.sheet) ? { architecture: architectureOf(embeddingModalities) } : {}),
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

interface ListedModelsParts {
  readonly catalog: () => Catalog
  readonly prices: PriceBook
  readonly clock: Clock
}

const sinceMsOf = (prices: PriceBook, model: string): number => prices.get(model)?.[0]?.effectiveFromMs ?? 0

const answeringModels = ({ catalog, prices, clock }: ListedModelsParts): readonly ListedModel[] =>
  callableModels(catalog(), prices, clock()).map((candidate) => {
    const surfaces = catalog().providers.get(candidate.provider)?.surfaces ?? []
    return answeringModel(
      candidate,
      surfaces.filter((surface) => surface !== 'video'),
      sinceMsOf(prices, candidate.model),
    )
  })

const videoModels = ({ catalog, prices, clock }: ListedModelsParts): readonly ListedModel[] =>
  callableVideoModels(catalog(), prices, clock()).map((plan) => videoModel(plan, sinceMsOf(prices, plan.model)))

export type ListedModels = ReadonlyMap<string, ListedModel>

const listModels = (parts: ListedModelsParts): ListedModels =>
  new Map(
    [...answeringModels(parts), ...videoModels(parts)]
      .sort((a, b) => (a.model < b.model ? -1 : 1))
      .map((each) => [each.model, each]),
  )

const nextPriceMs = (book: PriceBook, atMs: number): number =>
  Math.min(
    ...[...book.values()].flatMap(
      (sheets) => sheets.find((sheet) => sheet.effectiveFromMs > atMs)?.effectiveFromMs ?? [],
    ),
  )

const countSheets = (book: PriceBook): number => [...book.values()].reduce((count, sheets) => count + sheets.length, 0)

/** The list needs no key: it is made again only where the catalogue or the prices in force have changed. */
export const keepListedModels = (parts: ListedModelsParts): (() => ListedModels) => {
  const { prices, clock } = parts
  let models: ListedModels = new Map()
  let madeOf: {
    readonly catalog: Catalog
    readonly sheets: number
    readonly fromMs: number
    readonly untilMs: number
  } | null = null
  return () => {
    const [catalog, sheets, nowMs] = [parts.catalog(), countSheets(prices), clock()]
    const isFresh =
      madeOf?.catalog === catalog && madeOf.sheets === sheets && madeOf.fromMs <= nowMs && nowMs < madeOf.untilMs
    if (!isFresh) {
      models = listModels(parts)
      madeOf = { catalog, sheets, fromMs: nowMs, untilMs: nextPriceMs(prices, nowMs) }
    }
    return models
  }
}
