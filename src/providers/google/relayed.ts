import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, isObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import { DeliveredReply } from '../canonical/delivered.ts'
import { outputLimit } from '../canonical/output-limit.ts'
import { unsupported } from '../canonical/refuse.ts'
import type {
  AnswerFault,
  Target,
  UpstreamAnswer,
  UpstreamCallRequest,
  UpstreamDialect,
  UpstreamRequest,
} from '../dialect/dialect.ts'
import { requestedTier } from '../dialect/provider.ts'
import { makerOf } from '../dialect/provider-mark.ts'
import { countOf } from '../dialect/reported-usage.ts'
import { withSignedCall } from './contents.ts'
import { readGenerateContentReply } from './dialect.ts'
import { countGeminiUsage } from './estimate.ts'
import { generationOf, groundingItemOf } from './generation.ts'
import { readGoogleError } from './refusal.ts'
import { GenerateContentRelay } from './relay.ts'
import { postGenerateContent, postToGoogle } from './request.ts'
import { markSignatures, mayHaveSignatures, ownSignature } from './signatures.ts'
import { usageMetadataOf } from './write-usage.ts'

/** What another provider's model thought is dropped, and its signatures. */
const ownPart = (part: JsonObject, owner: string): readonly JsonObject[] => {
  const { thoughtSignature, ...rest } = part
  if (typeof thoughtSignature !== 'string') return [part]
  const signature = ownSignature(owner, thoughtSignature)
  if (signature !== null) return [{ ...rest, thoughtSignature: signature }]
  return rest['thought'] === true || rest['text'] === '' ? [] : [rest]
}

const ownContents = (contents: unknown, target: Target): readonly JsonObject[] => {
  const needsSignature = generationOf(target.upstreamModel) >= 3
  const owner = makerOf(target)
  return asArray(contents)
    .map(asObject)
    .flatMap((content) => {
      const parts = asArray(content['parts']).flatMap((part) => ownPart(asObject(part), owner))
      if (parts.length === 0) return []
      const isAnswer = needsSignature && content['role'] === 'model'
      return [{ ...content, parts: isAnswer ? withSignedCall(parts) : parts }]
    })
}

const offers = (body: JsonObject, name: string): boolean =>
  asArray(body['tools']).some((tool) => isObject(asObject(tool)[name]))

const refuseUnpricedSearch = (body: JsonObject, { sheet, upstreamModel }: Target): void => {
  if (!offers(body, 'googleSearch')) return
  if (!Object.hasOwn(sheet.per_call ?? {}, groundingItemOf(upstreamModel)))
    throw unsupported('tools', 'has googleSearch, which has no price for this model')
  // The tokens that they read are reported as one figure, of which those of a search are not charged.
  for (const reading of ['urlContext', 'codeExecution'])
    if (offers(body, reading)) throw unsupported('tools', `has googleSearch and ${reading} together`)
}

const configFor = ({ generationConfig }: JsonObject, outputCap: number | null): JsonObject => {
  if (outputCap === null) return generationConfig === undefined ? {} : { generationConfig }
  const config = asObject(generationConfig)
  const { maxOutputTokens } = config
  const own = typeof maxOutputTokens === 'number' ? maxOutputTokens : null
  return { generationConfig: { ...config, maxOutputTokens: outputLimit(own, outputCap) } }
}

export const relayedBody = (target: Target, body: JsonObject, outputCap: number | null): JsonObject => {
  const { systemInstruction, contents, tools, toolConfig, safetySettings } = body
  return {
    ...requestedTier(target, body['serviceTier']),
    systemInstruction,
    contents: ownContents(contents, target),
    tools,
    toolConfig,
    safetySettings,
    ...configFor(body, outputCap),
  }
}

const deliveredBy = (parts: Parameters<DeliveredReply['addReply']>[0]): DeliveredReply => {
  const delivered = new DeliveredReply()
  delivered.addReply(parts)
  return delivered
}

const readRelayedAnswer = (
  target: Target,
  _request: UpstreamCallRequest,
  bytes: Uint8Array,
): UpstreamAnswer | AnswerFault => {
  const json = parseJsonBytes(bytes)
  if (!isObject(json)) return { fault: 'not_json' }
  const reply = readGenerateContentReply(target, json)
  if ('fault' in reply) return reply
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const marked = mayHaveSignatures(text.toString('latin1')) ? markSignatures(makerOf(target), json) : null
  return {
    json: marked ?? json,
    reportedUsage: reply.usage,
    delivered: deliveredBy(reply),
    ...(marked === null ? {} : { body: Buffer.from(JSON.stringify(marked)) }),
  }
}

const completeRelayedAnswer = ({ json }: UpstreamAnswer, counted: Usage): Uint8Array =>
  Buffer.from(JSON.stringify({ ...json, usageMetadata: usageMetadataOf(counted) }))

/** Google's own surface on Google's own models. */
export const googleGenerateContent: UpstreamDialect = {
  buildRequest: (target, { body, stream, outputCap }) => {
    refuseUnpricedSearch(body, target)
    return postGenerateContent(target, stream, relayedBody(target, body, outputCap))
  },
  readAnswer: readRelayedAnswer,
  completeAnswer: completeRelayedAnswer,
  openRelay: (target) => new GenerateContentRelay(target),
  countUsage: countGeminiUsage,
  readRefusal: readGoogleError,
}

/** Wrapped, since instructions and tools are counted in this form alone. */
export const countGeminiTokensRequest = (target: Target, body: JsonObject): UpstreamRequest =>
  postToGoogle(target, 'countTokens', false, {
    generateContentRequest: { model: `models/${target.upstreamModel}`, ...relayedBody(target, body, null) },
  })

/** An answer of `countTokens`. */
export const geminiTokenCount = (totalTokens: number, details?: unknown): JsonObject => ({
  totalTokens,
  promptTokensDetails: asArray(details).length > 0 ? details : [{ modality: 'TEXT', tokenCount: totalTokens }],
})

export const readGeminiTokenCount = (bytes: Uint8Array): { readonly count: JsonObject } | AnswerFault => {
  const json = parseJsonBytes(bytes)
  const totalTokens = isObject(json) ? countOf(json['totalTokens']) : undefined
  if (!isObject(json) || totalTokens === undefined) return { fault: 'no_token_count' }
  return { count: geminiTokenCount(totalTokens, json['promptTokensDetails']) }
}
