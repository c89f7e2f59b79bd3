import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, isObject, type JsonObject, parseJson, parseJsonBytes } from '../../encoding/json.ts'
import { embeddingsDialect, encodeEmbeddings, formatVector, noText, wantsBase64 } from '../canonical/embeddings.ts'
import type { AnswerFault, Target, UpstreamAnswer, UpstreamCallRequest } from '../dialect/dialect.ts'
import { providerCapabilities } from '../dialect/provider.ts'
import { readOpenAIError } from './refusal.ts'
import { postToOpenAI } from './request.ts'
import { readChatUsage, refuseChargedMembers } from './usage.ts'

const embeddingsRequest = (target: Target, { body }: UpstreamCallRequest) => {
  const { provider, upstreamModel } = target
  refuseChargedMembers(target, body)
  const { user, ...rest } = body
  const isAccepted = user !== undefined && providerCapabilities(provider).unknown_members === 'accepted'
  return postToOpenAI(provider, '/embeddings', false, {
    ...rest,
    ...(isAccepted ? { user } : {}),
    model: upstreamModel,
  })
}

/** Some providers report a total alone, and some a zero, which no input has. */
const readUsage = (raw: unknown, { provider }: Target): Usage | null => {
  if (!isObject(raw)) return null
  const prompt_tokens = raw['prompt_tokens'] ?? raw['total_tokens']
  const usage = readChatUsage(
    { ...raw, prompt_tokens, completion_tokens: 0, total_tokens: undefined },
    provider.profile,
  )
  return usage === null || (usage.promptTotal === 0 && usage.negative === undefined) ? null : usage
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

/** An answer without the elements of its list, which may be 60 MB; null where it has another form. */
const parseAround = (bytes: Buffer, from: number, to: number): JsonObject | null => {
  if (from < 0 || to <= from) return null
  const json = parseJson(`${bytes.subarray(0, from + 1)}${bytes.subarray(to)}`)
  return isObject(json) && Array.isArray(json['data']) ? json : null
}

const vectorStart = /"embedding"\s*:\s*(["[])/
const vectorStartBytesMax = 4 * 1024

const isInFormat = (list: Buffer, base64: boolean): boolean => {
  const [, first] = vectorStart.exec(list.subarray(0, vectorStartBytesMax).toString('latin1')) ?? []
  return first === undefined || (first === '"') === base64
}

const inFormat = (json: JsonObject, base64: boolean): JsonObject => ({
  ...json,
  data: asArray(json['data']).map((each) => ({
    ...asObject(each),
    embedding: formatVector(asObject(each)['embedding'], base64),
  })),
})

const readWhole = (target: Target, request: UpstreamCallRequest, bytes: Buffer): UpstreamAnswer | AnswerFault => {
  const parsed = parseJsonBytes(bytes)
  if (!isObject(parsed)) return { fault: 'not_json' }
  if (parsed['error']) return { fault: 'error_in_answer' }
  if (asArray(parsed['data']).length === 0) return { fault: 'no_embeddings' }
  const json = inFormat(parsed, wantsBase64(request))
  const reportedUsage = readUsage(json['usage'], target)
  const body = reportedUsage === null ? {} : { body: encodeEmbeddings(json, reportedUsage) }
  return { json, reportedUsage, delivered: noText, ...body }
}

const readAnswer = (target: Target, request: UpstreamCallRequest, body: Uint8Array): UpstreamAnswer | AnswerFault => {
  const bytes = bufferOf(body)
  const [from, to] = [bytes.indexOf('['), bytes.lastIndexOf(']')]
  const json = parseAround(bytes, from, to)
  const reportedUsage = json === null ? null : readUsage(json['usage'], target)
  const list = bytes.subarray(from + 1, to)
  if (json === null || reportedUsage === null || list.length === 0 || !isInFormat(list, wantsBase64(request)))
    return readWhole(target, request, bytes)
  return { json, reportedUsage, delivered: noText }
}

export const openaiEmbeddings = embeddingsDialect({
  buildRequest: embeddingsRequest,
  readAnswer,
  readRefusal: readOpenAIError,
})
