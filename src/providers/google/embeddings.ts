import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, isObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import {
  embeddingsDialect,
  encodeEmbeddings,
  formatVector,
  noText,
  readEmbeddingInput,
  usageOfPrompt,
  wantsBase64,
} from '../canonical/embeddings.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { AnswerFault, Target, UpstreamAnswer, UpstreamCallRequest, UpstreamRequest } from '../dialect/dialect.ts'
import { providerLimits } from '../dialect/limits.ts'
import { tokensOf } from '../dialect/reported-usage.ts'
import { readGoogleError } from './refusal.ts'
import { postToGoogle } from './request.ts'

/** Throws `unsupported_parameter` for token ids, which are of OpenAI's tokenizer, and `invalid_value` for too many texts. */
const textsOf = ({ body }: UpstreamCallRequest): readonly string[] => {
  const { texts, count } = readEmbeddingInput(body)
  if (texts === null) throw unsupported('input', 'has token ids, which models of Google do not read: send text')
  const most = providerLimits.googleEmbeddingsMax
  if (count > most)
    throw invalidValue('input', `models of Google embed at most ${most} texts in one request, got ${count}`)
  return texts
}

/** Each text is a request of its own: parts of one would become one vector. */
const embeddingsRequest = (target: Target, request: UpstreamCallRequest): UpstreamRequest => {
  const { dimensions } = request.body
  const model = `models/${target.upstreamModel}`
  return postToGoogle(target, 'batchEmbedContents', false, {
    requests: textsOf(request).map((text) => ({
      model,
      content: { parts: [{ text }] },
      ...(typeof dimensions === 'number' ? { outputDimensionality: dimensions } : {}),
    })),
  })
}

const readUsage = ({ usageMetadata }: JsonObject): Usage | null => {
  const prompt = tokensOf(asObject(usageMetadata)['promptTokenCount'])
  return prompt === undefined || prompt === 0 ? null : usageOfPrompt(prompt)
}

/** In OpenAI's format: one vector for each input, in their order. */
export const writeVectors = (
  target: Target,
  request: UpstreamCallRequest,
  vectors: readonly (readonly unknown[])[],
  reportedUsage: Usage | null,
): UpstreamAnswer | AnswerFault => {
  if (vectors.length !== readEmbeddingInput(request.body).count) return { fault: 'no_embeddings' }
  const base64 = wantsBase64(request)
  const data = vectors.map((vector, index) => ({ object: 'embedding', index, embedding: formatVector(vector, base64) }))
  const json = { object: 'list', data, model: target.model }
  const written = reportedUsage === null ? {} : { body: encodeEmbeddings(json, reportedUsage) }
  return { json, reportedUsage, delivered: noText, ...written }
}

const readAnswer = (target: Target, request: UpstreamCallRequest, body: Uint8Array): UpstreamAnswer | AnswerFault => {
  const answer = parseJsonBytes(body)
  if (!isObject(answer)) return { fault: 'not_json' }
  if (answer['error']) return { fault: 'error_in_answer' }
  const vectors = asArray(answer['embeddings']).map((each) => asArray(asObject(each)['values']))
  return writeVectors(target, request, vectors, readUsage(answer))
}

export const googleEmbeddings = embeddingsDialect({
  buildRequest: embeddingsRequest,
  readAnswer,
  readRefusal: readGoogleError,
})
