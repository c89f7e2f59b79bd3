import type { Surface } from '../domain/routing/plan.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import { countTokensRequest } from './anthropic/count-tokens.ts'
import { anthropicMessages, messagesClient, messagesUpstream } from './anthropic/dialect.ts'
import { anthropicEmbeddings } from './anthropic/embeddings.ts'
import { addressed } from './azure/address.ts'
import { atAzure, azureUpstream } from './azure/dialect.ts'
import { bedrock, bedrockEmbeddings } from './bedrock/dialect.ts'
import type { ChoosingFormat } from './canonical/format.ts'
import { translated } from './canonical/translated.ts'
import { byTarget } from './dialect/by-target.ts'
import type { Target, UpstreamCallRequest, UpstreamDialect, UpstreamRequest } from './dialect/dialect.ts'
import { type Provider, type ProviderDialect, providerCapabilities } from './dialect/provider.ts'
import { geminiClient, googleUpstream } from './google/dialect.ts'
import { googleEmbeddings } from './google/embeddings.ts'
import { countGeminiTokensRequest, googleGenerateContent } from './google/relayed.ts'
import { chatClient, chatUpstream, openai } from './openai/dialect.ts'
import { needsResponses } from './openai/effort.ts'
import { openaiEmbeddings } from './openai/embeddings.ts'
import { openaiResponses, responsesClient } from './openai-responses/dialect.ts'
import { responsesUpstream } from './openai-responses/read-reply.ts'
import { type StoredResponseQuestion, storedResponseRequest } from './openai-responses/stored.ts'
import {
  atVertex,
  countVertexTokensRequest,
  postToVertex,
  publisherOf,
  vertexClaude,
  vertexGemini,
  vertexGenerateContent,
  vertexMessages,
} from './vertex/dialect.ts'
import { vertexEmbeddings } from './vertex/embeddings.ts'

/** By OpenAI's Responses API what its chat endpoint does not take. Settings that cannot be translated are left to it. */
const overResponses = (client: ChoosingFormat, chat: UpstreamDialect): UpstreamDialect => {
  const responses = translated(client, responsesUpstream)
  const isNeeded = ({ provider, upstreamModel }: Target, { body }: UpstreamCallRequest): boolean => {
    if (provider.profile !== 'openai' || !providerCapabilities(provider).responses) return false
    try {
      return needsResponses(upstreamModel, () => client.readDemands(body))
    } catch (fault) {
      if (fault instanceof GatewayError) return false
      throw fault
    }
  }
  return byTarget((target, request) => (isNeeded(target, request) ? responses : chat), chat.readRefusal)
}

type Dialects = { readonly [S in Surface]: UpstreamDialect }

/** By the dialect of the provider and the surface of the caller. */
export const dialects: { readonly [D in ProviderDialect]: Dialects } = {
  openai: {
    chat: overResponses(chatClient, openai),
    messages: overResponses(messagesClient, translated(messagesClient, chatUpstream)),
    responses: openaiResponses,
    embeddings: openaiEmbeddings,
    gemini: overResponses(geminiClient, translated(geminiClient, chatUpstream)),
  },
  anthropic: {
    chat: translated(chatClient, messagesUpstream),
    messages: anthropicMessages,
    responses: translated(responsesClient, messagesUpstream),
    embeddings: anthropicEmbeddings,
    gemini: translated(geminiClient, messagesUpstream),
  },
  google: {
    chat: translated(chatClient, googleUpstream),
    messages: translated(messagesClient, googleUpstream),
    responses: translated(responsesClient, googleUpstream),
    embeddings: googleEmbeddings,
    gemini: googleGenerateContent,
  },
  azure: {
    chat: atAzure(openai),
    messages: translated(messagesClient, azureUpstream),
    responses: atAzure(openaiResponses),
    embeddings: atAzure(openaiEmbeddings),
    gemini: translated(geminiClient, azureUpstream),
  },
  vertex: {
    chat: atVertex(translated(chatClient, vertexClaude), translated(chatClient, vertexGemini)),
    messages: atVertex(vertexMessages, translated(messagesClient, vertexGemini)),
    responses: atVertex(translated(responsesClient, vertexClaude), translated(responsesClient, vertexGemini)),
    embeddings: vertexEmbeddings,
    gemini: atVertex(translated(geminiClient, vertexClaude), vertexGenerateContent),
  },
  bedrock: {
    chat: bedrock(chatClient),
    messages: bedrock(messagesClient),
    responses: bedrock(responsesClient),
    embeddings: bedrockEmbeddings,
    gemini: bedrock(geminiClient),
  },
}

/** Of the dialects that may have a Responses API, where the provider has none. */
const responsesOverChat: { readonly [D in ProviderDialect]?: UpstreamDialect } = {
  openai: translated(responsesClient, chatUpstream),
  azure: translated(responsesClient, azureUpstream),
}

export const dialectFor = (provider: Provider, surface: Surface): UpstreamDialect =>
  surface === 'responses' && !providerCapabilities(provider).responses
    ? (responsesOverChat[provider.dialect] ?? dialects[provider.dialect][surface])
    : dialects[provider.dialect][surface]

/** Throws `not_implemented` where the provider keeps no responses. */
export const storedRequestFor = (
  provider: Provider,
  stored: StoredResponseQuestion,
): ReturnType<typeof storedResponseRequest> => {
  const request = storedResponseRequest(provider, stored)
  return provider.dialect === 'azure' ? addressed(provider, null, request) : request
}

/** Null where the upstream does not count the tokens of messages. Throws as `buildRequest` does. In steps. */
export function* countingRequestFor(
  target: Target,
  call: Pick<UpstreamCallRequest, 'body' | 'headers'>,
): Generator<void, UpstreamRequest | null> {
  switch (target.provider.dialect) {
    case 'anthropic':
      return yield* countTokensRequest(target, call)
    case 'vertex':
      return publisherOf(target) === 'anthropic' ? yield* countTokensRequest(target, call, postToVertex) : null
    default:
      return null
  }
}

/** Null where the upstream does not count the tokens of contents. Throws as `buildRequest` does. */
export const countingContentsRequestFor = (
  target: Target,
  { body }: Pick<UpstreamCallRequest, 'body'>,
): UpstreamRequest | null => {
  switch (target.provider.dialect) {
    case 'google':
      return countGeminiTokensRequest(target, body)
    case 'vertex':
      return publisherOf(target) === 'google' ? countVertexTokensRequest(target, body) : null
    default:
      return null
  }
}
