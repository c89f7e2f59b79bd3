import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import type { Target, UpstreamCallRequest } from '../../../src/providers/dialect/dialect.ts'
import type { Profile } from '../../../src/providers/dialect/provider.ts'
import { targetOf as targetOfSheet } from '../openai/target.ts'

const { prices } = JSON.parse(readFileSync(new URL('../../../prices.json', import.meta.url), 'utf8'))

/** The shipped sheet of a model as of 2026-10-09. */
export const sheetOf = (model: string): PriceSheet =>
  prices.findLast(
    (price: { model: string; effective_from: string }) => price.model === model && price.effective_from < '2026-10-09',
  ).sheet

export const targetOf = (
  profile: Profile = 'openai',
  sheet = sheetOf(profile === 'xai' ? 'grok/grok-4.7' : 'openai/gpt-5'),
): Target => targetOfSheet(profile, 'gpt-5', sheet)

export const askedOf = (
  body: JsonObject = {},
  stream = false,
  outputCap: number | null = null,
): UpstreamCallRequest => ({
  requestId: '0199d0a0-0000-7000-8000-000000000001',
  body: { model: 'alpha/gpt-5', input: 'Say hi', ...(stream ? { stream } : {}), ...body },
  stream,
  outputCap,
})

export const usageOf = (input: number, output: number, cached = 0, reasoning = 0, written = 0): JsonObject => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
})

export const messageOf = (text: string, id = 'msg_1'): JsonObject => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

export const search = (id: string, action = 'search', status = 'completed'): JsonObject => {
  const actions: { readonly [type: string]: JsonObject } = {
    search: { type: 'search', query: 'q', queries: ['q'], sources: [] },
    open_page: { type: 'open_page', url: 'https://a.example/' },
    find_in_page: { type: 'find_in_page', url: 'https://a.example/', pattern: 'x' },
  }
  return { id, type: 'web_search_call', status, action: actions[action] }
}

export const codeRun = (id: string, container_id: string, status = 'completed'): JsonObject => ({
  id,
  type: 'code_interpreter_call',
  status,
  container_id,
  code: 'print(1)',
  outputs: [],
})

export const image = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: 'image_generation_call',
  status: 'completed',
  result: 'iVBORw0KGgo=',
  ...more,
})

export const fileSearch = (id: string): JsonObject => ({
  id,
  type: 'file_search_call',
  status: 'completed',
  queries: ['q'],
  results: null,
})

/** A response as OpenAI sends it. */
export const responseOf = (output: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_760_000_000,
  completed_at: 1_760_000_001,
  status: 'completed',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  model: 'gpt-5',
  output,
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: null,
  safety_identifier: null,
  service_tier: 'default',
  store: true,
  temperature: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  usage: usageOf(12, 7),
  metadata: {},
  ...more,
})

export const sse = (event: JsonObject): string => `event: ${event['type']}\ndata: ${JSON.stringify(event)}\n\n`

/** Numbers the events of a stream. */
export const eventsOf = (events: readonly JsonObject[]): readonly JsonObject[] =>
  events.map((event, sequence_number) => ({ ...event, sequence_number }))

const begun = { status: 'in_progress', completed_at: null, output: [], usage: null }

export const created = (more: JsonObject = {}): readonly JsonObject[] => [
  { type: 'response.created', response: responseOf([], { ...begun, ...more }) },
  { type: 'response.in_progress', response: responseOf([], { ...begun, ...more }) },
]

/** The events that tell of one item without deltas. */
export const toolEvents = (item: JsonObject, output_index: number): readonly JsonObject[] => [
  { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress' } },
  { type: 'response.output_item.done', output_index, item },
]

/** The events that tell of a message, word by word. */
export const messageEvents = (words: readonly string[], output_index = 0): readonly JsonObject[] => {
  const place = { item_id: 'msg_1', output_index, content_index: 0 }
  const text = words.join('')
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  return [
    {
      type: 'response.output_item.added',
      output_index,
      item: { ...messageOf(''), status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    ...words.map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...place, text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index, item: messageOf(text) },
  ]
}
