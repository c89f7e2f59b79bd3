import { GatewayError } from '../../../../errors/gateway-error.ts'
import { type HttpContext, type HttpMiddleware, jsonOfContext, keyOfContext } from '../../../../http/context.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { serveQuestion } from '../inference/ask-question.ts'
import { candidateAt } from '../inference/inference.ts'
import { routingRequestOf } from '../inference/request.ts'
import { type SurfaceParts, serveRequest } from '../inference/serve-request.ts'
import { readResponsesRequest } from './request.ts'
import { candidateOfResponse, providerOfResponse, type ResponseOwners, requireOwner } from './stored.ts'
import { ResponsesStreamFormat } from './stream-format.ts'
import { boundResponsesUsage } from './usage-bounds.ts'

export interface ResponsesParts extends SurfaceParts {
  readonly owners: ResponseOwners
  readonly clock: Clock
}

export const createResponse =
  (parts: ResponsesParts): HttpMiddleware =>
  async (ctx) => {
    const { value, bytesLength } = jsonOfContext(ctx)
    const request = readResponsesRequest(value)
    const key = keyOfContext(ctx)
    const keeper = await providerOfResponse(parts.owners, key.workspaceId, request)
    const all = parts.inference.plan(routingRequestOf(request), key)
    const plan = keeper === null ? all : candidateOfResponse(all, keeper)
    await serveRequest(ctx, parts, {
      surface: 'responses',
      request,
      plan,
      demand: boundResponsesUsage(request, bytesLength, parts.inference.isOpenAIOnly(plan)),
      streamFormat: new ResponsesStreamFormat({
        requestId: ctx.state.requestId,
        model: request.model,
        createdSeconds: Math.floor(parts.clock() / 1_000),
      }),
    })
  }

const responsePath = /^\/v1\/responses\/([^/]+)\/?$/i

/** The same text for an unknown response and another workspace's. */
const notFound = (): GatewayError => new GatewayError('not_found', 'There is no response with this id.')

const isPlain = (value: string | readonly string[] | undefined): boolean =>
  [value].flat().every((each) => !each || each === 'false')

const refuseStream = ({ query }: HttpContext): void => {
  if (!isPlain(query['stream']))
    throw new GatewayError('unsupported_parameter', '`stream` is not available: a stored response is returned whole.', {
      param: 'stream',
    })
}

/** GET and DELETE, at the provider that stores it. Throws `not_found` but for the owning workspace. */
export const serveStoredResponse =
  (type: 'get_response' | 'delete_response', parts: ResponsesParts): HttpMiddleware =>
  async (ctx) => {
    refuseStream(ctx)
    const responseId = responsePath.exec(ctx.path)?.[1] ?? ''
    const owner = await requireOwner(parts.owners, keyOfContext(ctx).workspaceId, responseId)
    if (owner === undefined) throw notFound()
    await serveQuestion(ctx, parts, {
      surface: 'responses',
      body: {},
      question: { type, responseId, query: ctx.querystring },
      candidate: candidateAt(owner.provider),
    })
  }
