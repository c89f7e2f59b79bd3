import type { JsonObject } from '../../encoding/json.ts'
import type { AnswerFormat, Conversation } from '../canonical/conversation.ts'
import type { ReplyRequest } from '../canonical/format.ts'
import { outputLimit } from '../canonical/output-limit.ts'
import type { Target, UpstreamRequest } from '../dialect/dialect.ts'
import { endpointOf, requestedTier } from '../dialect/provider.ts'
import { contentsFor } from './contents.ts'
import { thinkingConfigFor } from './thinking.ts'
import { toolFieldsFor } from './tools.ts'

const formatFields = (format: AnswerFormat): JsonObject => {
  switch (format.type) {
    case 'text':
      return {}
    case 'json':
      return { responseMimeType: 'application/json' }
    case 'schema':
      return { responseMimeType: 'application/json', responseJsonSchema: format.schema }
  }
}

const generationConfigFor = (
  conversation: Conversation,
  upstreamModel: string,
  outputCap: number | null,
): JsonObject => {
  const { temperature, topP, topK, stopSequences } = conversation
  return {
    maxOutputTokens: outputLimit(conversation.outputTokensMax, outputCap),
    temperature: temperature ?? undefined,
    topP: topP ?? undefined,
    topK: topK ?? undefined,
    stopSequences: stopSequences.length === 0 ? undefined : stopSequences,
    ...formatFields(conversation.format),
    thinkingConfig: thinkingConfigFor(conversation.reasoning, upstreamModel),
  }
}

const systemFields = ({ system }: Conversation): JsonObject => {
  const parts = system.filter(({ text }) => text !== '').map(({ text }) => ({ text }))
  return parts.length === 0 ? {} : { systemInstruction: { parts } }
}

export const postToGoogle = (
  { provider, upstreamModel }: Target,
  method: string,
  stream: boolean,
  body: object,
): UpstreamRequest => ({
  url: endpointOf(provider, `/models/${encodeURIComponent(upstreamModel)}:${method}`),
  headers: {
    ...provider.headers,
    'x-goog-api-key': provider.apiKey,
    'content-type': 'application/json',
    accept: stream ? 'text/event-stream' : 'application/json',
  },
  body,
})

export const postGenerateContent = (target: Target, stream: boolean, body: JsonObject): UpstreamRequest =>
  postToGoogle(target, stream ? 'streamGenerateContent?alt=sse' : 'generateContent', stream, body)

/** Throws `invalid_value` and `unsupported_parameter`. */
export function* generateContentRequest(
  conversation: Conversation,
  target: Target,
  { stream, outputCap }: ReplyRequest,
): Generator<void, UpstreamRequest> {
  const contents = yield* contentsFor(conversation.turns, target.upstreamModel)
  yield
  return postGenerateContent(target, stream, {
    ...requestedTier(target, conversation.serviceTier),
    ...systemFields(conversation),
    contents,
    ...toolFieldsFor(conversation, target),
    generationConfig: generationConfigFor(conversation, target.upstreamModel, outputCap),
  })
}
