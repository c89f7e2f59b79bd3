import type { IncomingHttpHeaders } from 'node:http'
import type { Accounts } from '../../../../domain/accounts/accounts.ts'
import { modelPermissionOf } from '../../../../domain/accounts/limits.ts'
import { allowAllModels, type Catalog, type ModelPermission } from '../../../../domain/routing/plan.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { HttpContextWithId, HttpMiddleware } from '../../../../http/context.ts'
import { limitParameter, matchingParameter } from '../../../../http/parameters.ts'
import { readQuery } from '../../../../http/query.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { readCredential } from '../../http/authenticate.ts'
import { keepListedModels, type ListedModels } from './listed-models.ts'

type ListedModel = NonNullable<ReturnType<ListedModels['get']>>

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

const isOnGemini = ({ endpointTypes: types }: Pick<ListedModel, 'endpointTypes'>): boolean => types.includes('gemini')

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
  readonly listed: () => ListedModels
  readonly accounts: Accounts
  readonly clock: Clock
}

/** A key sees the models it may use; a caller without one sees every model. */
const mayUseBy = ({ accounts, clock }: ModelsParts, headers: IncomingHttpHeaders): ModelPermission => {
  const key = readCredential(accounts, headers, clock())
  return key === undefined ? allowAllModels : modelPermissionOf(accounts, key)
}

const permittedModels = (parts: ModelsParts, headers: IncomingHttpHeaders): readonly ListedModel[] => {
  const mayUse = mayUseBy(parts, headers)
  return [...parts.listed().values()].filter(({ model }) => mayUse(model))
}

/** Clients of Messages, and of Google's own format, are recognised by their headers. */
const shapesFor = (headers: IncomingHttpHeaders): ModelShapes => {
  if (headers['x-goog-api-key'] !== undefined) return geminiShapes
  return headers['x-api-key'] === undefined && headers['anthropic-version'] === undefined
    ? openaiShapes
    : anthropicShapes
}

const findModel = (parts: ModelsParts, name: string, headers: IncomingHttpHeaders): ListedModel => {
  const mayUse = mayUseBy(parts, headers)
  const { aliases } = parts.catalog()
  const id = Object.hasOwn(aliases, name) ? aliases[name]! : name
  const found = parts.listed().get(id)
  if (found === undefined || !mayUse(id))
    throw new GatewayError('model_not_found', `The model \`${name}\` does not exist or is not available here.`, {
      param: 'model',
    })
  return found
}

const serveList =
  (parts: ModelsParts): HttpMiddleware =>
  (ctx) => {
    ctx.body = shapesFor(ctx.req.headers).list(permittedModels(parts, ctx.req.headers))
  }

/** The slash of an id may be sent as it is or as %2F. */
const serveOne =
  (parts: ModelsParts) =>
  (ctx: HttpContextWithId): void => {
    ctx.body = shapesFor(ctx.req.headers).one(findModel(parts, ctx.params.id ?? '', ctx.req.headers))
  }

export const geminiListParameters = {
  pageSize: limitParameter,
  pageToken: matchingParameter(/^\S{1,256}$/, 'the `nextPageToken` of the answer before'),
}

/** The models that the surface has, in pages where a size is given; a token is the last model of the page before. */
const serveGeminiList =
  (parts: ModelsParts): HttpMiddleware =>
  (ctx) => {
    const { pageSize, pageToken } = readQuery(ctx, geminiListParameters)
    const all = permittedModels(parts, ctx.req.headers).filter(isOnGemini)
    const rest = pageToken === undefined ? all : all.filter(({ model }) => model > pageToken)
    const page = rest.slice(0, pageSize)
    const last = page.at(-1)
    ctx.body = {
      models: page.map(geminiShape),
      ...(page.length < rest.length && last !== undefined ? { nextPageToken: last.model } : {}),
    }
  }

const serveGeminiOne =
  (parts: ModelsParts) =>
  (ctx: HttpContextWithId): void => {
    ctx.body = geminiShape(findModel(parts, ctx.params.id ?? '', ctx.req.headers))
  }

export const serveModels = ({
  accounts,
  ...listing
}: Pick<ModelsParts, 'accounts'> & Parameters<typeof keepListedModels>[0]) => {
  const { catalog, clock } = listing
  const parts = { accounts, catalog, clock, listed: keepListedModels(listing) }
  return {
    list: serveList(parts),
    one: serveOne(parts),
    geminiList: serveGeminiList(parts),
    geminiOne: serveGeminiOne(parts),
  }
}
