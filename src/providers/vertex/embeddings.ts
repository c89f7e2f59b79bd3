import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, isObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import { embeddingsDialect, readEmbeddingInput, usageOfPrompt } from '../canonical/embeddings.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { AnswerFault, Target, UpstreamAnswer, UpstreamCallRequest, UpstreamRequest } from '../dialect/dialect.ts'
import { tokensOf } from '../dialect/reported-usage.ts'
import { writeVectors } from '../google/embeddings.ts'
import { postToGoogle } from '../google/request.ts'
import { atPublisher, readVertexError, withoutKey } from './dialect.ts'

/** https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api */
const embeddingsRequest = (target: Target, request: UpstreamCallRequest): UpstreamRequest => {
  const { texts } = readEmbeddingInput(request.body)
  if (texts === null) throw unsupported('input', 'has token ids, which models of Google do not read: send text')
  const { dimensions } = request.body
  const body = {
    instances: texts.map((content) => ({ content })),
    ...(typeof dimensions === 'number' ? { parameters: { outputDimensionality: dimensions } } : {}),
  }
  return withoutKey(postToGoogle(atPublisher(target), 'predict', false, body))
}

const embeddingOf = (prediction: unknown): JsonObject => asObject(asObject(prediction)['embeddings'])

/** Null where one of the vectors has no count. */
const readUsage = (predictions: readonly unknown[]): Usage | null => {
  const counts = predictions.map((each) => tokensOf(asObject(embeddingOf(each)['statistics'])['token_count']))
  const sum = counts.reduce<number>((total, count) => total + (count ?? Number.NaN), 0)
  return sum > 0 ? usageOfPrompt(sum) : null
}

const readAnswer = (target: Target, request: UpstreamCallRequest, body: Uint8Array): UpstreamAnswer | AnswerFault => {
  const answer = parseJsonBytes(body)
  if (!isObject(answer)) return { fault: 'not_json' }
  const predictions = asArray(answer['predictions'])
  const vectors = predictions.map((each) => asArray(embeddingOf(each)['values']))
  return writeVectors(target, request, vectors, readUsage(predictions))
}

export const vertexEmbeddings = embeddingsDialect({
  buildRequest: embeddingsRequest,
  readAnswer,
  readRefusal: readVertexError,
})
