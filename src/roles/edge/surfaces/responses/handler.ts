import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { candidateAt } from '../../inference.ts'
import { type EdgeContext, type EdgeMiddleware, jsonOfContext, keyOfContext } from '../../middleware/context.ts'
import type { ResponseOwners } from '../../response-owners.ts'
import { serveQuestion } from '../ask-question.ts'
import { routingRequestOf } from '../request.ts'
import { type SurfaceParts, serveRequest } from '../serve-request.ts'
import { readResponsesRequest } from './request.ts'
import { candidateOfResponse, providerOfResponse, requireOwner } from './stored.ts'
import { ResponsesStreamFormat } from './stream-format.ts'
import { boundResponsesUsage } from './usage-bounds.ts'

export interface ResponsesParts extends SurfaceParts {
  readonly owners: ResponseOwners
  readonly clock: Clock
}

/** POST /v1/responses */
export const createResponse =
  (parts: ResponsesParts): EdgeMiddleware =>
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
      demand: boundResponsesUsage(request, bytesLength, parts.inference.hasOpenAIHabits(plan)),
      voice: new ResponsesStreamFormat({
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

const refuseStream = ({ query }: EdgeContext): void => {
  if (!isPlain(query['stream']))
    throw new GatewayError('unsupported_parameter', '`stream` is not available: a kept response is told whole.', {
      param: 'stream',
    })
}

/**
 * GET and DELETE /v1/responses/{id}, at the provider that stores it. Throws `not_found` but for the owning workspace.
 */
export const serveStoredResponse =
  (type: 'get_response' | 'delete_response', parts: ResponsesParts): EdgeMiddleware =>
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
