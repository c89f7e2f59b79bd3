import type { Surface } from '../domain/routing/plan.ts'
import { anthropicMessages, messagesClient, messagesUpstream } from './anthropic/dialect.ts'
import { anthropicEmbeddings } from './anthropic/embeddings.ts'
import { translated } from './canonical/translated.ts'
import type { UpstreamDialect } from './dialect/dialect.ts'
import { type Provider, type ProviderDialect, providerCapabilities } from './dialect/provider.ts'
import { googleUpstream } from './google/dialect.ts'
import { googleEmbeddings } from './google/embeddings.ts'
import { chatClient, chatUpstream, openai } from './openai/dialect.ts'
import { openaiEmbeddings } from './openai/embeddings.ts'
import { openaiResponses, responsesClient } from './openai-responses/dialect.ts'

type Dialects = { readonly [S in Surface]: UpstreamDialect }

/** By the dialect of the provider and the surface of the caller. */
export const dialects: { readonly [D in ProviderDialect]: Dialects } = {
  openai: {
    chat: openai,
    messages: translated(messagesClient, chatUpstream),
    responses: openaiResponses,
    embeddings: openaiEmbeddings,
  },
  anthropic: {
    chat: translated(chatClient, messagesUpstream),
    messages: anthropicMessages,
    responses: translated(responsesClient, messagesUpstream),
    embeddings: anthropicEmbeddings,
  },
  google: {
    chat: translated(chatClient, googleUpstream),
    messages: translated(messagesClient, googleUpstream),
    responses: translated(responsesClient, googleUpstream),
    embeddings: googleEmbeddings,
  },
}

const responsesOverChat = translated(responsesClient, chatUpstream)

export const dialectFor = (provider: Provider, surface: Surface): UpstreamDialect =>
  surface === 'responses' && provider.dialect === 'openai' && !providerCapabilities(provider).responses
    ? responsesOverChat
    : dialects[provider.dialect][surface]
