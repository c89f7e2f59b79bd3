import type { PriceSheet } from '../../../src/events/types.ts'
import type { Conversation } from '../../../src/providers/canonical/conversation.ts'
import type { Target } from '../../../src/providers/dialect/dialect.ts'

/** As prices.json has them. */
export const sheets = {
  'gemini-2.5-flash': {
    currency: 'USD',
    per_million_tokens: { input: '0.3', cached_input: '0.03', output: '2.5', audio_input: '1' },
    per_call: { grounded_prompt: '0.035' },
    max_output_tokens: 65536,
  },
  'gemini-2.5-pro': {
    currency: 'USD',
    per_million_tokens: { input: '1.25', cached_input: '0.125', output: '10' },
    tiers: [{ prompt_tokens_above: 200_000, per_million_tokens: { input: '2.5', cached_input: '0.25', output: '15' } }],
    per_call: { grounded_prompt: '0.035' },
    max_output_tokens: 65536,
  },
  'gemini-3.7-flash': {
    currency: 'USD',
    per_million_tokens: { input: '0.75', cached_input: '0.075', output: '3.75' },
    per_call: { grounding_query: '0.014' },
    max_output_tokens: 65536,
  },
} as const satisfies Record<string, PriceSheet>

export type Model = keyof typeof sheets

export const targetOf = (model: Model = 'gemini-3.7-flash', upstreamModel: string = model): Target => ({
  provider: {
    name: 'google',
    dialect: 'google',
    profile: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.example/v1beta',
    apiKey: 'AIzaSyProviderKey1234567890',
  },
  model: `google/${model}`,
  upstreamModel,
  sheet: sheets[model],
  calledAtSeconds: 1_760_000_000,
})

export const text = (words: string) => ({ type: 'text', text: words, cached: null }) as const

/** A conversation that says hi, but for what is given. */
export const conversationOf = (given: Partial<Conversation> = {}): Conversation => ({
  system: [],
  turns: [{ role: 'user', parts: [text('Say hi')] }],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  outputTokensMax: null,
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
