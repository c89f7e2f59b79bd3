import type { IncomingHttpHeaders } from 'node:http'
import type { PriceBook } from '../../../../domain/pricing/price-book.ts'
import { type Catalog, callableModels } from '../../../../domain/routing/plan.ts'
import { GatewayError } from '../../../../errors.ts'
import type { Clock } from '../../../role.ts'
import type { EdgeMiddleware } from '../../middleware/context.ts'
import { anthropicShapes, type ListedModel, type ModelShapes, openaiShapes } from './shapes.ts'

export interface ModelsParts {
  readonly catalog: Catalog
  readonly prices: PriceBook
  readonly clock: Clock
}

const listedModels = ({ catalog, prices, clock }: ModelsParts): readonly ListedModel[] =>
  callableModels(catalog, prices, clock()).map((candidate) => ({
    candidate,
    surfaces: catalog.providers.get(candidate.provider)?.surfaces ?? [],
    sinceMs: prices.get(candidate.model)?.[0]?.effectiveFromMs ?? 0,
  }))

/** Messages-style clients say so by their headers. */
const shapesFor = (headers: IncomingHttpHeaders): ModelShapes =>
  headers['x-api-key'] === undefined && headers['anthropic-version'] === undefined ? openaiShapes : anthropicShapes

const findModel = (parts: ModelsParts, name: string): ListedModel => {
  const { aliases } = parts.catalog
  const id = Object.hasOwn(aliases, name) ? aliases[name] : name
  const model = listedModels(parts).find(({ candidate }) => candidate.model === id)
  if (model === undefined)
    throw new GatewayError('model_not_found', `The model \`${name}\` does not exist or is not available here.`, {
      param: 'model',
    })
  return model
}

/** GET /v1/models */
export const listModels =
  (parts: ModelsParts): EdgeMiddleware =>
  (ctx) => {
    ctx.body = shapesFor(ctx.req.headers).list(listedModels(parts))
  }

const modelPath = /^\/v1\/models\/(.+)$/

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // No model has such a name.
  }
}

/** GET /v1/models/{id}, whose slash may be written as it is or as %2F. */
export const showModel =
  (parts: ModelsParts): EdgeMiddleware =>
  (ctx) => {
    const name = decode(modelPath.exec(ctx.path)?.[1] ?? '')
    ctx.body = shapesFor(ctx.req.headers).one(findModel(parts, name))
  }
