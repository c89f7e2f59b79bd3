import type { JsonObject } from '../../src/encoding/json.ts'
import type { Flavor } from './usages.ts'

/** A usage that a provider has reported. */
export interface RecordedUsage {
  /** In LiteLLM's table. */
  readonly model: string
  readonly flavor: Flavor
  readonly source: string
  readonly usage: JsonObject
}

/** Recordings of pydantic/pydantic-ai, as pydantic/genai-prices (MIT) lists them in tests/dataset/usages.json at 47df840. */
const pydantic = (test: string): string => `pydantic-ai, cassettes of ${test}`
/** Recordings that the tests of vercel/ai (Apache-2.0) hold: packages/xai/src/__fixtures__. */
const vercel = 'Vercel AI SDK, fixtures of xai'

const anthropic = (
  input: number,
  read: number,
  write5m: number,
  output: number,
  more: JsonObject = {},
): JsonObject => ({
  input_tokens: input,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: write5m,
  cache_creation: { ephemeral_5m_input_tokens: write5m, ephemeral_1h_input_tokens: 0 },
  output_tokens: output,
  ...more,
})
const thinking = (tokens: number): JsonObject => ({ output_tokens_details: { thinking_tokens: tokens } })

const google = (prompt: number, candidates: number, thoughts: number, total: number, more: JsonObject): JsonObject => ({
  promptTokenCount: prompt,
  candidatesTokenCount: candidates,
  ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
  totalTokenCount: total,
  ...more,
})
const modalities = (tokens: Readonly<Record<string, number>>) =>
  Object.entries(tokens).map(([modality, tokenCount]) => ({ modality, tokenCount }))

const chat = (prompt: number, completion: number, total: number, input: JsonObject, output: JsonObject = {}) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: total,
  prompt_tokens_details: input,
  completion_tokens_details: output,
})
const responses = (input: number, output: number, details: JsonObject, reasoning: number): JsonObject => ({
  input_tokens: input,
  input_tokens_details: details,
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
})

type Line = readonly [model: string, flavor: Flavor, source: string, usage: JsonObject]

const lines: readonly Line[] = [
  ['claude-haiku-4-5-20251001', 'messages', pydantic('test_anthropic_cache_bedrock'), anthropic(3, 9_511, 1_956, 44)],
  [
    'claude-sonnet-5',
    'messages',
    pydantic('test_anthropic_code_execution_files_cache'),
    anthropic(6, 20_443, 574, 489, { ...thinking(77), inference_geo: 'global', service_tier: 'standard' }),
  ],
  ['claude-opus-5', 'messages', pydantic('test_anthropic_opus_5_features'), anthropic(13, 0, 0, 44, thinking(33))],
  [
    'claude-sonnet-4-5-20250929',
    'messages',
    pydantic('test_thinking_with_native_tool'),
    anthropic(7_744, 0, 0, 353, { ...thinking(80), server_tool_use: { web_search_requests: 1 } }),
  ],
  [
    'gemini/gemini-3.1-flash-lite',
    'gemini',
    pydantic('test_google_model_top_k'),
    google(15, 7, 0, 22, { promptTokensDetails: modalities({ TEXT: 15 }), serviceTier: 'standard' }),
  ],
  [
    'gemini/gemini-2.5-flash',
    'gemini',
    pydantic('test_multimodal_tool_return_matrix, audio'),
    google(229, 17, 0, 246, { promptTokensDetails: modalities({ TEXT: 85, AUDIO: 144 }) }),
  ],
  [
    'gemini/gemini-2.5-flash',
    'gemini',
    pydantic('test_multimodal_tool_return_matrix, video'),
    google(3_297, 55, 95, 3_447, {
      promptTokensDetails: modalities({ TEXT: 83, VIDEO: 2_893, AUDIO: 321 }),
      cachedContentTokenCount: 2_918,
      cacheTokensDetails: modalities({ AUDIO: 284, TEXT: 73, VIDEO: 2_561 }),
    }),
  ],
  [
    'gemini/gemini-2.5-flash',
    'gemini',
    pydantic('test_google_model_cached_content'),
    google(3_520, 2, 42, 3_564, {
      promptTokensDetails: modalities({ TEXT: 3_520 }),
      cachedContentTokenCount: 3_512,
      cacheTokensDetails: modalities({ TEXT: 3_512 }),
    }),
  ],
  [
    'gemini/gemini-2.5-pro',
    'gemini',
    pydantic('test_google_model_web_search_tool'),
    google(17, 201, 213, 550, {
      promptTokensDetails: modalities({ TEXT: 17 }),
      toolUsePromptTokenCount: 119,
      toolUsePromptTokensDetails: modalities({ TEXT: 119 }),
    }),
  ],
  [
    'gpt-4o-audio-preview-2024-12-17',
    'chat',
    pydantic('test_openai_audio_url_input'),
    chat(81, 72, 153, { audio_tokens: 69, cached_tokens: 0, text_tokens: 12 }, { text_tokens: 72 }),
  ],
  [
    'gpt-5.6-sol',
    'chat',
    pydantic('test_openai_chat_prompt_cache'),
    chat(4_020, 4, 4_024, { cached_tokens: 0, cache_write_tokens: 4_012 }),
  ],
  [
    'gpt-5.6-sol',
    'chat',
    pydantic('test_openai_chat_prompt_cache'),
    chat(4_020, 4, 4_024, { cached_tokens: 4_012, cache_write_tokens: 0 }),
  ],
  [
    'gpt-5-mini-2025-08-07',
    'chat',
    pydantic('test_tool_choice_matrix'),
    chat(156, 561, 717, { cached_tokens: 0 }, { reasoning_tokens: 512 }),
  ],
  [
    'gpt-5-2025-08-07',
    'responses',
    pydantic('test_openai_responses_model_web_search_tool'),
    responses(9_703, 638, { cached_tokens: 8_576 }, 576),
  ],
  [
    'gpt-5.6-sol',
    'responses',
    pydantic('test_openai_responses_model_web_search_tool_without_external_access'),
    responses(8_576, 52, { cached_tokens: 0, cache_write_tokens: 4_418 }, 32),
  ],
  ['xai/grok-4.3', 'chat', vercel, chat(12, 1, 303, { cached_tokens: 0 }, { reasoning_tokens: 290 })],
  ['xai/grok-4.3', 'responses', vercel, responses(12, 1_079, { cached_tokens: 0 }, 863)],
]

export const recordedUsages: readonly RecordedUsage[] = lines.map(([model, flavor, source, usage]) => ({
  model,
  flavor,
  source,
  usage,
}))

/** A usage of xAI with what xAI itself charged for it. */
interface ChargedUsage {
  /** In `prices.json`. */
  readonly model: string
  readonly source: string
  /** With `cost_in_usd_ticks`: ten billion are a dollar. */
  readonly usage: JsonObject & { readonly cost_in_usd_ticks: number }
}

/** Figures alone are taken from what others have published; read 2026-11-23. */
export const chargedUsages: readonly ChargedUsage[] = [
  {
    model: 'grok/grok-4.6',
    source: 'vercel/ai (Apache-2.0), packages/xai/src/responses/__fixtures__/issue-19652-live-generate.json at 435d853',
    usage: {
      ...responses(5_165, 891, { cached_tokens: 1_152 }, 860),
      cost_in_usd_ticks: 189_480_000,
      server_side_tool_usage_details: { web_search_calls: 1, x_search_calls: 0 },
    },
  },
  {
    model: 'grok/grok-4.3',
    source: 'a published log of reviews with grok-4.3, INT API Review P1B v1B.0.104 of 2026-07-08',
    usage: { ...responses(37_423, 1_107, { cached_tokens: 192 }, 792), cost_in_usd_ticks: 493_446_500 },
  },
  {
    model: 'grok/grok-4.3',
    source:
      'a published log of searches of X with grok-4.3, asked 2026-08-24, response 530ac365-572e-99b7-bcb6-a2d8e6ce68e4',
    usage: {
      ...responses(8_063, 2_658, { cached_tokens: 3_072 }, 0),
      cost_in_usd_ticks: 334_981_500,
      server_side_tool_usage_details: { web_search_calls: 0, x_search_calls: 4, code_interpreter_calls: 0 },
    },
  },
]
