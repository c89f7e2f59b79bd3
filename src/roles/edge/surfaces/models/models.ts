import type { IncomingHttpHeaders } from 'node:http'
import type { Accounts } from '../../../../domain/accounts/accounts.ts'
import { modelPermissionOf } from '../../../../domain/accounts/limits.ts'
import type { PriceBook } from '../../../../domain/pricing/price-book.ts'
import { allowAllModels, type Catalog, callableModels, type ModelPermission } from '../../../../domain/routing/plan.ts'
import { callableVideoModels } from '../../../../domain/video/plan.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { HttpMiddleware } from '../../../../http/context.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { readCredential } from '../../http/authenticate.ts'
import {
  answeringModel,
  anthropicShapes,
  type ListedModel,
  type ModelShapes,
  openaiShapes,
  videoModel,
} from './shapes.ts'

export interface ModelsParts {
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

/** Messages-style clients are recognised by their headers. */
const shapesFor = (headers: IncomingHttpHeaders): ModelShapes =>
  headers['x-api-key'] === undefined && headers['anthropic-version'] === undefined ? openaiShapes : anthropicShapes

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

const modelPath = /^\/v1\/models\/(.+)$/

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // No model has such a name.
  }
}

/** The slash of an id may be sent as it is or as %2F. */
export const showModel =
  (parts: ModelsParts): HttpMiddleware =>
  (ctx) => {
    const name = decode(modelPath.exec(ctx.path)?.[1] ?? '')
    ctx.body = shapesFor(ctx.req.headers).one(findModel(parts, name, ctx.req.headers))
  }
