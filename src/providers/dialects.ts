import type { Surface } from '../domain/routing/plan.ts'
import { anthropicMessages, messagesClient, messagesUpstream } from './anthropic/dialect.ts'
import { translated } from './canonical/translated.ts'
import type { UpstreamDialect } from './dialect/dialect.ts'
import type { ProviderDialect } from './dialect/provider.ts'
import { googleUpstream } from './google/dialect.ts'
import { chatClient, chatUpstream, openai } from './openai/dialect.ts'
import { openaiResponses } from './openai-responses/dialect.ts'

/** By the dialect of the provider and the surface of the caller; what is missing is not implemented. */
export const dialects: { readonly [D in ProviderDialect]: { readonly [S in Surface]?: UpstreamDialect } } = {
  openai: { chat: openai, messages: translated(messagesClient, chatUpstream), responses: openaiResponses },
  anthropic: { chat: translated(chatClient, messagesUpstream), messages: anthropicMessages },
  google: { chat: translated(chatClient, googleUpstream), messages: translated(messagesClient, googleUpstream) },
}
