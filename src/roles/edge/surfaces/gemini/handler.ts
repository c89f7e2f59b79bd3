import { asObject } from '../../../../encoding/json.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { type HttpContext, type HttpMiddleware, jsonOfContext, keyOfContext } from '../../../../http/context.ts'
import { unsupported } from '../../../../providers/canonical/refuse.ts'
import { readCountMembers, readGeminiMembers } from '../../../../providers/google/members.ts'
import {
  requestedAnswer,
  requestReader,
  routingRequestOf,
  type SurfaceParts,
  serveQuestion,
  serveRequest,
  withoutRouting,
} from '../inference/serve-request.ts'
import type { GeminiRequest } from './request.types.ts'
import { arrayFormat, eventFormat, eventsToArray } from './stream-format.ts'
import { boundGeminiUsage } from './usage-bounds.ts'

/** SDKs of either version. */
export const geminiPrefixes = ['/v1beta', '/v1'] as const

type NamedRequest = GeminiRequest & { readonly model: string }
type ModelContext = HttpContext & { readonly params?: { readonly model?: string } }

const read = requestReader<NamedRequest>('requests/gemini-request.v1.json')

const refuseChoices = ({ generationConfig }: GeminiRequest): void => {
  if ((generationConfig?.candidateCount ?? 1) > 1)
    throw unsupported('generationConfig.candidateCount', 'must be 1: one request has one answer')
}

/** `members`: as `readGeminiMembers` returns them. Throws as that does, and for more than one answer. */
const readNamed = (members: unknown, model: string): NamedRequest => {
  const request = read({ model, ...asObject(members) })
  refuseChoices(request)
  return { ...request, model }
}

/** The slash of a model may be sent as it is or as %2F. */
const modelOf = (ctx: ModelContext): string => ctx.params?.model ?? ''

const altPattern = /^(?:json|sse)?$/

/** Throws `unsupported_parameter` for a form of answers that is neither JSON nor events. */
const wantsEvents = ({ query }: HttpContext): boolean => {
  const { alt = '' } = query
  if (typeof alt !== 'string' || !altPattern.test(alt)) throw unsupported('alt', 'must be sse or json')
  return alt === 'sse'
}

export const generateContent =
  (stream: boolean, parts: SurfaceParts): HttpMiddleware =>
  (ctx) => {
    const model = modelOf(ctx)
    const { value, bytesLength } = jsonOfContext(ctx)
    const readBody = (json: unknown): NamedRequest => readNamed(readGeminiMembers(json), model)
    const isArray = !wantsEvents(ctx) && stream
    const request = readBody(value)
    const asked = requestedAnswer(ctx, request, readBody)
    return serveRequest(ctx, parts, {
      surface: 'gemini',
      ...asked,
      stream,
      price: () => ({
        plan: parts.inference.plan(routingRequestOf(request), keyOfContext(ctx)),
        demand: boundGeminiUsage(request, bytesLength),
      }),
      streamFormat: isArray ? arrayFormat : eventFormat,
      ...(isArray ? { reshape: eventsToArray } : {}),
      endpoint: `${model}:${stream ? 'stream' : 'whole'}${isArray ? ':array' : ''}`,
    })
  }

export const countContentTokens =
  (parts: SurfaceParts): HttpMiddleware =>
  async (ctx) => {
    const request = readNamed(readCountMembers(jsonOfContext(ctx).value), modelOf(ctx))
    const [candidate] = parts.inference.plan(routingRequestOf(request), keyOfContext(ctx)).candidates
    if (candidate === undefined) throw new GatewayError('model_not_found', 'The model does not exist.')
    await serveQuestion(ctx, parts, {
      surface: 'gemini',
      body: withoutRouting(request),
      bodyBytes: jsonOfContext(ctx).bytesLength,
      question: { type: 'count_tokens' },
      candidate,
    })
  }
