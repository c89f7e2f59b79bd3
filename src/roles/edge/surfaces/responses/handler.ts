import type { Candidate, RoutePlan } from '../../../../domain/routing/plan.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import {
  type HttpContext,
  type HttpContextWithId,
  type HttpMiddleware,
  jsonOfContext,
  keyOfContext,
} from '../../../../http/context.ts'
import { referencedResponseOf } from '../../../../providers/openai-responses/references.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { runWhereLarge } from '../../../../runtime/large-steps.ts'
import type { StoredResponseOwner, StoredResponses } from '../../../stored-responses.ts'
import { candidateAt } from '../inference/inference.ts'
import {
  requestedAnswer,
  requestReader,
  routingRequestOf,
  type SurfaceParts,
  serveQuestion,
  serveRequest,
} from '../inference/serve-request.ts'
import type { ResponsesRequest } from './request.types.ts'
import { ResponsesStreamFormat } from './stream-format.ts'
import { boundResponsesUsage } from './usage-bounds.ts'

export type ResponseOwners = Pick<StoredResponses, 'find'>

const shownIdMax = 256
/** Ids of all providers match it; the id becomes part of a path. */
const idPattern = /^[\w-]{1,256}$/

/** Undefined where another workspace owns the response. */
const requireOwner = async (
  owners: ResponseOwners,
  workspaceId: string,
  responseId: string,
): Promise<StoredResponseOwner | undefined> => {
  const owner = idPattern.test(responseId) ? await owners.find(responseId, workspaceId) : undefined
  return owner?.workspaceId === workspaceId ? owner : undefined
}

const noPrevious = (responseId: string): GatewayError =>
  new GatewayError(
    'invalid_value',
    `Previous response with id '${responseId.slice(0, shownIdMax)}' not found. Not every model's answers are stored: send the whole input instead.`,
    { param: 'previous_response_id' },
  )

/**
 * The owner of the response that a request continues; null where it names none. Throws `invalid_value` for
 * a response that is not the workspace's own, `unsupported_parameter` for anything else stored at a provider.
 */
const ownerOfPrevious = async (
  owners: ResponseOwners,
  workspaceId: string,
  request: ResponsesRequest,
): Promise<StoredResponseOwner | null> => {
  const responseId = referencedResponseOf(request)
  if (responseId === null) return null
  const owner = await requireOwner(owners, workspaceId, responseId)
  if (owner === undefined) throw noPrevious(responseId)
  return owner
}

const withDeployment = (candidate: Candidate, deployment: string | undefined): Candidate =>
  deployment === undefined ? candidate : { ...candidate, deployment }

/** Throws `invalid_value` where no candidate of the provider is left. */
const candidateOfResponse = (plan: RoutePlan, { provider, deployment }: StoredResponseOwner): RoutePlan => {
  const candidates = plan.candidates
    .filter((candidate) => candidate.provider === provider)
    .map((candidate) => withDeployment(candidate, deployment))
  if (candidates.length === 0)
    throw new GatewayError(
      'invalid_value',
      `The previous response is stored by \`${provider}\`: name one of its models.`,
      {
        param: 'model',
      },
    )
  return { ...plan, candidates }
}

const read = requestReader<ResponsesRequest>('requests/responses-request.v1.json')

/** An abandoned background answer would be charged without any client to report the cost to. */
const refuseBackground = ({ background }: ResponsesRequest): void => {
  if (background === true)
    throw new GatewayError('unsupported_parameter', '`background` is not available: ask for a stream instead.', {
      param: 'background',
    })
}

/** Throws `unsupported_parameter` for a request to be answered in the background. */
export const readResponsesRequest = (value: unknown): ResponsesRequest => {
  const request = read(value)
  refuseBackground(request)
  return request
}

interface ResponsesParts extends SurfaceParts {
  readonly owners: ResponseOwners
  readonly clock: Clock
}

const planResponse = async (ctx: HttpContext, parts: ResponsesParts) => {
  const { value, bytesLength } = jsonOfContext(ctx)
  const request = readResponsesRequest(value)
  const key = keyOfContext(ctx)
  const size = { workspaceId: key.workspaceId, bytes: bytesLength }
  const previous = runWhereLarge(size, () => ownerOfPrevious(parts.owners, key.workspaceId, request))
  const [found] = await Promise.allSettled([previous])
  const price = () => {
    // First of all: what was answered before is sent to no other key that may not use the model.
    const all = parts.inference.plan(routingRequestOf(request), key)
    // What was answered before the previous response was deleted is sent again all the same.
    if (found.status === 'rejected') throw found.reason
    const keeper = found.value
    const plan = keeper === null ? all : candidateOfResponse(all, keeper)
    return { plan, demand: boundResponsesUsage(request, bytesLength, parts.inference.isOpenAIOnly(plan)) }
  }
  return {
    surface: 'responses',
    ...requestedAnswer(ctx, request, readResponsesRequest),
    price,
    streamFormat: new ResponsesStreamFormat({
      requestId: ctx.state.requestId,
      model: request.model,
      createdSeconds: Math.floor(parts.clock() / 1_000),
    }),
  } as const
}

export const createResponse =
  (parts: ResponsesParts): HttpMiddleware =>
  async (ctx) =>
    serveRequest(ctx, parts, await planResponse(ctx, parts))

/** The same text for an unknown response and another workspace's. */
const notFound = (): GatewayError => new GatewayError('not_found', 'There is no response with this id.')

const forwardedParameters: readonly string[] = ['include', 'include[]', 'include_obfuscation', 'starting_after']

/** Node's own reader of queries leaves out what comes after a thousand members. */
const readStoredQuery = ({ querystring }: HttpContext): string => {
  const given = new URLSearchParams(querystring)
  if (given.getAll('stream').some((each) => each !== '' && each !== 'false'))
    throw new GatewayError('unsupported_parameter', '`stream` is not available: a stored response is returned whole.', {
      param: 'stream',
    })
  return new URLSearchParams([...given].filter(([name]) => forwardedParameters.includes(name))).toString()
}

/** GET and DELETE, at the provider that stores it. Throws `not_found` but for the owning workspace. */
export const serveStoredResponse =
  (type: 'get_response' | 'delete_response', parts: ResponsesParts) =>
  async (ctx: HttpContextWithId): Promise<void> => {
    const query = readStoredQuery(ctx)
    const responseId = ctx.params.id ?? ''
    const owner = await requireOwner(parts.owners, keyOfContext(ctx).workspaceId, responseId)
    if (owner === undefined) throw notFound()
    await serveQuestion(ctx, parts, {
      surface: 'responses',
      body: {},
      question: { type, responseId, query },
      candidate: withDeployment(candidateAt(owner.provider), owner.deployment),
    })
  }
