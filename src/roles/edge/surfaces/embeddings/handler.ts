import type { UsageBounds } from '../../../../domain/pricing/worst-case.ts'
import { asArray, asObject } from '../../../../encoding/json.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { type HttpMiddleware, jsonOfContext, keyOfContext } from '../../../../http/context.ts'
import {
  neverStreamed,
  requestedAnswer,
  requestReader,
  routingRequestOf,
  type SurfaceParts,
  serveRequest,
} from '../inference/serve-request.ts'
import { surfaceLimits } from '../limits.ts'
import type { EmbeddingsRequest } from './request.types.ts'

const readEmbeddingsRequest = requestReader<EmbeddingsRequest>('requests/embeddings-request.json')

/** Null for texts. */
const countTokenIds = ({ input }: EmbeddingsRequest): number | null => {
  if (typeof input === 'string') return null
  const [first] = input
  if (typeof first === 'string') return null
  return typeof first === 'number' ? input.length : input.reduce<number>((sum, ids) => sum + Object(ids).length, 0)
}

const tooManyTokenIds = (count: number): GatewayError =>
  new GatewayError(
    'invalid_value',
    `Invalid value for 'input': it has ${count} token ids, and a request takes at most ${surfaceLimits.embeddingTokenIdsMax}. Send the inputs in several requests.`,
    { param: 'input' },
  )

/** By the schema alone, too many texts would be refused as what are no token ids. */
const boundInputs = (value: unknown): void => {
  const input = asArray(asObject(value)['input'])
  if (typeof input[0] === 'number' || input.length <= surfaceLimits.embeddingInputsMax) return
  throw new GatewayError(
    'invalid_value',
    `Invalid value for 'input': it has ${input.length} inputs, and a request takes at most ${surfaceLimits.embeddingInputsMax}. Send them in several requests.`,
    { param: 'input' },
  )
}

/** No tokenizer makes more tokens of a text than it has bytes. Throws `invalid_value` for too many token ids. */
const boundEmbeddingsUsage = (request: EmbeddingsRequest, bodyBytes: number): UsageBounds => {
  const tokenIds = countTokenIds(request)
  if (tokenIds !== null && tokenIds > surfaceLimits.embeddingTokenIdsMax) throw tooManyTokenIds(tokenIds)
  return {
    inputTokensMax: tokenIds ?? bodyBytes,
    unmeasured: false,
    outputTokensMax: 0,
    choices: 1,
    audio: false,
    image: false,
    toolCallsMax: {},
  }
}

export const createEmbeddings =
  (parts: SurfaceParts): HttpMiddleware =>
  (ctx) => {
    const { value, bytesLength } = jsonOfContext(ctx)
    boundInputs(value)
    const request = readEmbeddingsRequest(value)
    const demand = boundEmbeddingsUsage(request, bytesLength)
    return serveRequest(ctx, parts, {
      surface: 'embeddings',
      ...requestedAnswer(ctx, request, readEmbeddingsRequest),
      stream: false,
      price: () => ({
        plan: parts.inference.plan({ ...routingRequestOf(request), embeds: true }, keyOfContext(ctx)),
        demand,
      }),
      streamFormat: neverStreamed,
    })
  }
