import { asObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import { betasIn, cloudBody, isMessagesError } from '../anthropic/cloud.ts'
import { messagesDialect, messagesFormat } from '../anthropic/dialect.ts'
import type { PostMessages } from '../anthropic/endpoint.ts'
import { readMessagesError } from '../anthropic/refusal.ts'
import type { UpstreamFormat } from '../canonical/format.ts'
import { unsupported } from '../canonical/refuse.ts'
import { byTarget } from '../dialect/by-target.ts'
import {
  buildInSteps,
  type Target,
  type UpstreamDialect,
  type UpstreamRefusal,
  type UpstreamRequest,
} from '../dialect/dialect.ts'
import { endpointOf, type Provider } from '../dialect/provider.ts'
import { googleUpstream } from '../google/dialect.ts'
import { readGoogleError } from '../google/refusal.ts'
import { googleGenerateContent, relayedBody } from '../google/relayed.ts'
import { postToGoogle } from '../google/request.ts'

type Publisher = 'anthropic' | 'google'

/** Throws `unsupported_parameter` for the models of others. */
export const publisherOf = ({ model, upstreamModel }: Target): Publisher => {
  const [, named] = /^([^/]+)\//.exec(upstreamModel) ?? []
  const publisher = named ?? (upstreamModel.startsWith('claude') ? 'anthropic' : 'google')
  if (publisher === 'anthropic' || publisher === 'google') return publisher
  throw unsupported('model', `is \`${model}\`, whose publisher \`${publisher}\` is not available`)
}

const nameOf = ({ upstreamModel }: Target): string => upstreamModel.slice(upstreamModel.indexOf('/') + 1)

const version = 'vertex-2023-10-16'

const methodFor = (target: Target, path: string, stream: boolean): string =>
  path === '/messages'
    ? `${encodeURIComponent(nameOf(target))}:${stream ? 'streamRawPredict' : 'rawPredict'}`
    : 'count-tokens:rawPredict'

/** https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude */
export const postToVertex: PostMessages = (target, path, body, { stream, headers }): UpstreamRequest => {
  const betas = betasIn(headers)
  const counts = path !== '/messages'
  return {
    url: endpointOf(target.provider, `/publishers/anthropic/models/${methodFor(target, path, stream)}`),
    headers: {
      ...target.provider.headers,
      ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
    },
    body: { ...cloudBody(body, version), ...(counts ? { model: nameOf(target) } : {}) },
  }
}

/** Null where a model or a project is wrong: that is our configuration. */
export const readVertexError = (provider: Provider, body: Uint8Array): UpstreamRefusal | null => {
  const json = parseJsonBytes(body)
  if (isMessagesError(json)) return readMessagesError(provider, body)
  const error = asObject(asObject(Array.isArray(json) ? json[0] : json)['error'])
  return error['status'] === 'NOT_FOUND' ? null : readGoogleError(provider, body)
}

/** Of Gemini's own API, with the publisher in the address, and no key. */
export const atPublisher = (target: Target): Target => ({
  ...target,
  upstreamModel: nameOf(target),
  provider: { ...target.provider, baseUrl: endpointOf(target.provider, '/publishers/google') },
})

export const withoutKey = ({
  headers: { 'x-goog-api-key': _key, ...headers },
  ...request
}: UpstreamRequest): UpstreamRequest => ({
  ...request,
  headers,
})

export const vertexGemini: UpstreamFormat = {
  ...googleUpstream,
  *writeRequest(conversation, target, asking) {
    return withoutKey(yield* googleUpstream.writeRequest(conversation, atPublisher(target), asking))
  },
  readRefusal: readVertexError,
}

export const vertexGenerateContent: UpstreamDialect = {
  ...googleGenerateContent,
  buildRequest: (target, request) => withoutKey(googleGenerateContent.buildRequest(atPublisher(target), request)),
  *buildSteps(target, request) {
    return withoutKey(yield* buildInSteps(googleGenerateContent, atPublisher(target), request))
  },
  readRefusal: readVertexError,
}

/** Not wrapped, as Gemini's own API wants it. https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/count-tokens */
export const countVertexTokensRequest = (target: Target, body: JsonObject): UpstreamRequest => {
  const { contents, systemInstruction, tools, generationConfig } = relayedBody(target, body, null)
  const counted = { contents, systemInstruction, tools, generationConfig }
  return withoutKey(postToGoogle(atPublisher(target), 'countTokens', false, counted))
}

export const vertexClaude: UpstreamFormat = { ...messagesFormat(postToVertex), readRefusal: readVertexError }

export const vertexMessages: UpstreamDialect = { ...messagesDialect(postToVertex), readRefusal: readVertexError }

export const atVertex = (claude: UpstreamDialect, gemini: UpstreamDialect): UpstreamDialect =>
  byTarget((target) => (publisherOf(target) === 'anthropic' ? claude : gemini), readVertexError)
