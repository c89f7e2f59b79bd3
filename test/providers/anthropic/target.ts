import type { JsonObject } from '../../../src/encoding/json.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import type { Conversation } from '../../../src/providers/canonical/conversation.ts'
import type { Served } from '../../../src/providers/canonical/format.ts'
import type { Target, UpstreamCallRequest } from '../../../src/providers/dialect/dialect.ts'

/** claude-sonnet-4-5, as published. */
export const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '3', cached_input: '0.3', cache_write_5m: '3.75', cache_write_1h: '6', output: '15' },
  tiers: [
    {
      prompt_tokens_above: 200_000,
      per_million_tokens: {
        input: '6',
        cached_input: '0.6',
        cache_write_5m: '7.5',
        cache_write_1h: '12',
        output: '22.5',
      },
    },
  ],
  per_call: { web_search: '0.01' },
  max_output_tokens: 64_000,
}

/** claude-opus-4-6, as published. */
export const opusSheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '5', cached_input: '0.5', cache_write_5m: '6.25', cache_write_1h: '10', output: '25' },
  per_call: { web_search: '0.01' },
  max_output_tokens: 128_000,
}

export const targetOf = (upstreamModel = 'claude-sonnet-4-5', prices = sheet): Target => ({
  provider: {
    name: 'anthropic',
    dialect: 'anthropic',
    profile: 'openai',
    baseUrl: 'https://api.alpha.example/v1',
    apiKey: 'sk-ant-provider-key-123456',
  },
  model: `anthropic/${upstreamModel}`,
  upstreamModel,
  sheet: prices,
  calledAtSeconds: 1_760_000_000,
})

export const askedOf = (
  body: JsonObject = {},
  stream = false,
  outputCap: number | null = null,
): UpstreamCallRequest => ({
  requestId: '0199d0a0-0000-7000-8000-000000000001',
  body: {
    model: 'anthropic/claude-sonnet-4-5',
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Say hi' }],
    ...body,
  },
  stream,
  outputCap,
})

export const served: Served = {
  model: 'openai/gpt-4o-mini',
  requestId: '0199d0a0-0000-7000-8000-000000000001',
  createdSeconds: 1_760_000_000,
  nowSeconds: () => 1_760_000_002,
  provider: 'openai',
}

export const conversationOf = (given: Partial<Conversation> = {}): Conversation => ({
  system: [],
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'Say hi', cached: null }] }],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  outputTokensMax: 1000,
  temperature: null,
  topP: null,
  topK: null,
  stopSequences: [],
  format: { type: 'text' },
  reasoning: null,
  webSearch: null,
  serviceTier: null,
  user: null,
  ...given,
})

/** A stream as the provider writes it. */
export const streamOf = (events: readonly JsonObject[]): string =>
  events.map((json) => `event: ${json['type']}\ndata: ${JSON.stringify(json)}\n\n`).join('')
