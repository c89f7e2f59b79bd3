import type { Surface } from '../../domain/routing/plan.ts'
import type { JsonObject } from '../../encoding/json.ts'
import { readTokenCount } from '../../providers/anthropic/count-tokens.ts'
import { messagesClient } from '../../providers/anthropic/dialect.ts'
import { countMessagesPrompt } from '../../providers/anthropic/estimate.ts'
import type { ClientFormat } from '../../providers/canonical/format.ts'
import type { AnswerFault, Target, UpstreamRequest } from '../../providers/dialect/dialect.ts'
import type { CountedFor } from '../../providers/dialect/tokens.ts'
import { countingContentsRequestFor, countingRequestFor } from '../../providers/dialects.ts'
import { geminiClient } from '../../providers/google/dialect.ts'
import { countGeminiPrompt } from '../../providers/google/estimate.ts'
import { geminiTokenCount, readGeminiTokenCount } from '../../providers/google/relayed.ts'
import type { RoutedRequest } from '../dispatch.ts'

/** How a surface's question for a count of tokens is answered. */
interface TokenCounter {
  readonly surface: Surface
  readonly client: ClientFormat
  /** Null where the upstream does not count. Throws as that of its dialect does. In steps. */
  buildRequest(target: Target, call: RoutedRequest): Generator<void, UpstreamRequest | null>
  readCount(body: Uint8Array): { readonly count: JsonObject } | AnswerFault
  /** Where an upstream of the format does not have the address. */
  estimate(body: JsonObject, countedFor: CountedFor): Promise<number>
  writeCount(tokens: number): JsonObject
}

const writeMessagesCount = (tokens: number): JsonObject => ({ input_tokens: tokens })

const messages: TokenCounter = {
  surface: 'messages',
  client: messagesClient,
  buildRequest: countingRequestFor,
  readCount: (body) => {
    const read = readTokenCount(body)
    return 'fault' in read ? read : { count: writeMessagesCount(read.inputTokens) }
  },
  estimate: countMessagesPrompt,
  writeCount: writeMessagesCount,
}

const gemini: TokenCounter = {
  surface: 'gemini',
  client: geminiClient,
  *buildRequest(target, call) {
    yield
    return countingContentsRequestFor(target, call)
  },
  readCount: readGeminiTokenCount,
  estimate: countGeminiPrompt,
  writeCount: geminiTokenCount,
}

export const tokenCounterFor = (surface: RoutedRequest['surface']): TokenCounter =>
  surface === 'gemini' ? gemini : messages
