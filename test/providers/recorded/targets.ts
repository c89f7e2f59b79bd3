import type { PriceSheet } from '../../../src/events/types.ts'
import type { Target, UpstreamCallRequest } from '../../../src/providers/dialect/dialect.ts'
import type { ProviderDialect } from '../../../src/providers/dialect/provider.ts'

export type Surface = 'chat' | 'messages' | 'responses' | 'gemini'

export const surfaces: readonly Surface[] = ['chat', 'messages', 'responses', 'gemini']

/** Every kind of token has a price of its own, so that no usage can be taken for another one. */
export const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: {
    input: '2',
    cached_input: '0.3',
    cache_write_5m: '2.5',
    cache_write_1h: '4.1',
    output: '8.7',
    audio_input: '3.3',
  },
  per_call: { web_search: '0.01', grounded_prompt: '0.035', grounding_query: '0.014' },
  max_output_tokens: 64_000,
}

export const targetOf = (dialect: ProviderDialect, upstreamModel: string): Target => ({
  provider: {
    name: dialect,
    dialect,
    profile: dialect === 'google' || dialect === 'vertex' ? 'gemini' : 'openai',
    baseUrl: 'https://upstream.example/v1',
    apiKey: 'sk-provider-key-123456',
  },
  model: `${dialect}/${upstreamModel}`,
  upstreamModel,
  sheet,
  calledAtSeconds: 1_760_000_000,
})

const bodies = {
  chat: { messages: [{ role: 'user', content: 'Say hi' }] },
  messages: { max_tokens: 1_000, messages: [{ role: 'user', content: 'Say hi' }] },
  responses: { input: 'Say hi' },
  gemini: {
    contents: [{ role: 'user', parts: [{ text: 'Say hi' }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  },
}

export const askedOf = (surface: Surface, { model }: Target, stream: boolean): UpstreamCallRequest => ({
  requestId: '0199d0a0-0000-7000-8000-000000000001',
  body: {
    model,
    ...bodies[surface],
    ...(stream && surface !== 'gemini' ? { stream } : {}),
    ...(stream && surface === 'chat' ? { stream_options: { include_usage: true } } : {}),
  },
  stream,
  outputCap: null,
})
