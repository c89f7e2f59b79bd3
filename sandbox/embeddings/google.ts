import { asArray, asObject, asText, type JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'
import { sandboxLimits } from '../answers/limits.ts'
import { countWords } from '../answers/words.ts'
import { generateContent, modelInPath } from '../generate-content/dialect.ts'
import { type Answer, type Asked, type Dialect, type Incoming, wholeAnswer } from '../http/dialect.ts'
import { dimensionsOf, embed, promptTokens } from './vectors.ts'

/** `/v1/models/<model>:batchEmbedContents`. */
export const embedPath = /^\/v1(?:beta)?\/models\/(.+):batchEmbedContents$/

const refuse = (problem: string): Refusal => new Refusal(`* BatchEmbedContentsRequest.requests${problem}\n`)

const requestsOf = (body: JsonObject): readonly JsonObject[] => asArray(body['requests']).map(asObject)

const textOf = ({ content }: JsonObject): string =>
  asArray(asObject(content)['parts'])
    .map((part) => asText(asObject(part)['text']))
    .join('')

const check = (incoming: Incoming): void => {
  const requests = requestsOf(incoming.body)
  const model = `models/${modelInPath(incoming, embedPath)}`
  if (requests.length === 0) throw refuse(': cannot be empty')
  if (requests.length > sandboxLimits.sandboxBatchEmbeddingsMax)
    throw refuse(`: at most ${sandboxLimits.sandboxBatchEmbeddingsMax} requests can be in one batch`)
  for (const [index, request] of requests.entries()) {
    if (request['model'] !== model) throw refuse(`[${index}].model: must be ${model}`)
    if (textOf(request) === '') throw refuse(`[${index}].content: content is empty`)
    dimensionsOf(request['outputDimensionality'], 'outputDimensionality')
  }
}

const answer = ({ body, directives }: Asked): Answer => {
  const requests = requestsOf(body)
  const embeddings = requests.map((request) => ({
    values: embed(textOf(request), dimensionsOf(request['outputDimensionality'], 'outputDimensionality')),
  }))
  const tokens = promptTokens(
    requests.reduce((sum, request) => sum + countWords(textOf(request)), 0),
    directives,
  )
  const usageMetadata = {
    promptTokenCount: tokens.prompt,
    promptTokenDetails: [{ modality: 'TEXT', tokenCount: tokens.prompt }],
  }
  const reported = directives.no_usage ? null : { usage: usageMetadata, tokens }
  return wholeAnswer(JSON.stringify({ embeddings, ...(reported === null ? {} : { usageMetadata }) }), reported)
}

export const googleEmbeddings: Dialect = {
  ...generateContent,
  modelOf: (incoming) => modelInPath(incoming, embedPath),
  streams: () => false,
  check,
  answer,
}
