import t from 'tap'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { Profile } from '../../../src/providers/dialect/provider.ts'
import { countChatSearchCalls, readChatUsage } from '../../../src/providers/openai/usage.ts'
import { askedOf, sheet, targetOf } from './target.ts'

const chat = (prompt: number, completion: number, total: number, input: JsonObject = {}, output: JsonObject = {}) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: total,
  prompt_tokens_details: input,
  completion_tokens_details: output,
})

/** Each line: what the provider says, and the members of the usage that are not zero, worked out by hand. */
const table: readonly (readonly [string, Profile, unknown, Partial<Usage> | null])[] = [
  ['plain', 'openai', chat(12, 7, 19), { inputUncached: 12, outputTotal: 7, promptTotal: 12 }],
  [
    'the prompt includes cached and written tokens',
    'openai',
    chat(1000, 50, 1050, { cached_tokens: 600, cache_write_tokens: 300 }),
    { inputUncached: 100, cacheRead: 600, cacheWrite5m: 300, outputTotal: 50, promptTotal: 1000 },
  ],
  [
    'the completion includes reasoning',
    'openai',
    chat(10, 300, 310, {}, { reasoning_tokens: 256 }),
    { inputUncached: 10, outputTotal: 300, outputReasoning: 256, promptTotal: 10 },
  ],
  [
    'what the total has beyond both and no reasoning explains is not output: some leave cached tokens out of the prompt',
    'openai',
    chat(100, 20, 720, {}, { reasoning_tokens: 30 }),
    { inputUncached: 100, outputTotal: 50, outputReasoning: 30, promptTotal: 100 },
  ],
  [
    'what the total has beyond both is output that the completion leaves out',
    'openai',
    chat(12, 1, 303, {}, { reasoning_tokens: 290 }),
    { inputUncached: 12, outputTotal: 291, outputReasoning: 290, promptTotal: 12 },
  ],
  [
    'audio is a part of either side',
    'openai',
    chat(100, 80, 180, { audio_tokens: 60 }, { audio_tokens: 50 }),
    { inputUncached: 40, inputAudio: 60, outputTotal: 80, outputAudio: 50, promptTotal: 100 },
  ],
  [
    'cached audio is not counted twice',
    'openai',
    chat(100, 1, 101, { cached_tokens: 80, audio_tokens: 60 }),
    { cacheRead: 80, inputAudio: 20, outputTotal: 1, promptTotal: 100 },
  ],
  [
    'what was cached of audio, and written for twelve hours',
    'openai',
    chat(100, 1, 101, {
      cached_tokens: 50,
      cached_tokens_details: { audio_tokens: 30, text_tokens: 20 },
      audio_tokens: 40,
      cache_write_tokens: 20,
      cache_write_tokens_details: { ttl_30m_tokens: 12, ttl_12h_tokens: 8 },
    }),
    {
      inputUncached: 20,
      cacheRead: 50,
      cacheReadAudio: 30,
      cacheWrite5m: 12,
      cacheWrite12h: 8,
      inputAudio: 10,
      outputTotal: 1,
      promptTotal: 100,
    },
  ],
  [
    'images in the prompt',
    'openai',
    chat(100, 1, 101, { image_tokens: 85 }),
    { inputUncached: 15, inputImage: 85, outputTotal: 1, promptTotal: 100 },
  ],
  [
    'a total below the sum changes nothing',
    'openai',
    chat(10, 5, 9),
    { inputUncached: 10, outputTotal: 5, promptTotal: 10 },
  ],
  [
    'details may be null',
    'openai',
    { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, prompt_tokens_details: null },
    { inputUncached: 3, outputTotal: 4, promptTotal: 3 },
  ],
  [
    'below zero is zero',
    'openai',
    chat(10, -5, 5, { cached_tokens: -3 }),
    {
      inputUncached: 10,
      promptTotal: 10,
      negative: { completion_tokens: -5, 'prompt_tokens_details.cached_tokens': -3 },
    },
  ],
  [
    'a sentinel of another member is no figure',
    'openai',
    { ...chat(10, 5, 15), queue_time: -1 },
    {
      inputUncached: 10,
      outputTotal: 5,
      promptTotal: 10,
    },
  ],
  [
    'xAI: the completion leaves reasoning out',
    'xai',
    chat(12, 1, 303, {}, { reasoning_tokens: 290 }),
    { inputUncached: 12, outputTotal: 291, outputReasoning: 290, promptTotal: 12 },
  ],
  [
    'xAI: an inclusive completion is not raised',
    'xai',
    chat(216, 863, 1079, {}, { reasoning_tokens: 800 }),
    { inputUncached: 216, outputTotal: 863, outputReasoning: 800, promptTotal: 216 },
  ],
  [
    'xAI: without a total reasoning is added',
    'xai',
    { prompt_tokens: 12, completion_tokens: 1, completion_tokens_details: { reasoning_tokens: 290 } },
    { inputUncached: 12, outputTotal: 291, outputReasoning: 290, promptTotal: 12 },
  ],
  [
    'xAI: cached above the prompt is clamped',
    'xai',
    chat(10, 1, 11, { cached_tokens: 14 }),
    { cacheRead: 10, outputTotal: 1, promptTotal: 10 },
  ],
  [
    'xAI: tools on the server are counted',
    'xai',
    { ...chat(10, 1, 11), server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 0 } },
    { inputUncached: 10, outputTotal: 1, promptTotal: 10, toolCalls: { web_search: 2 } },
  ],
  [
    'Gemini: thinking is told in the total alone',
    'gemini',
    { prompt_tokens: 9, completion_tokens: 20, total_tokens: 129 },
    { inputUncached: 9, outputTotal: 120, outputReasoning: 100, promptTotal: 9 },
  ],
  [
    'Gemini: told reasoning counts',
    'gemini',
    chat(9, 20, 129, {}, { reasoning_tokens: 100 }),
    { inputUncached: 9, outputTotal: 120, outputReasoning: 100, promptTotal: 9 },
  ],
  ['no usage', 'openai', undefined, null],
  ['null', 'openai', null, null],
  ['an empty object', 'openai', {}, null],
  ['no prompt', 'openai', { completion_tokens: 3 }, null],
  ['not numbers', 'openai', { prompt_tokens: '3', completion_tokens: '4' }, null],
]

for (const [name, profile, raw, expected] of table)
  t.test(name, async (t) => {
    t.strictSame(readChatUsage(raw, profile), expected === null ? null : { ...noUsage, ...expected })
  })

t.test('a search model searches once, at the price of its context size', async (t) => {
  const priced = { ...sheet, per_call: { web_search_low: '0.03', web_search_medium: '0.035', web_search_high: '0.05' } }
  const calls = (model: string, options?: JsonObject, prices = priced) =>
    countChatSearchCalls(targetOf('openai', model, prices), askedOf(options ? { web_search_options: options } : {}))
  t.strictSame(calls('gpt-4o-search-preview'), { web_search_medium: 1 })
  t.strictSame(calls('gpt-5-search-api-2025-10-14', { search_context_size: 'high' }), { web_search_high: 1 })
  t.strictSame(calls('gpt-4o-mini-search-preview', { search_context_size: 'huge' }), { web_search_medium: 1 })
  t.strictSame(calls('gpt-4o'), {})
})
