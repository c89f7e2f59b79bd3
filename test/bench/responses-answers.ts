import {
  type Answers,
  answeredModel,
  asJson,
  chunkText,
  createdSeconds,
  namedEvent,
  ownDigits,
  type StreamEvent,
  timesChunks,
  tokens,
  wholeText,
} from './content.ts'

const { uncachedInput, cachedInput, output: outputTokens } = tokens.responses

const usage = {
  input_tokens: uncachedInput + cachedInput,
  input_tokens_details: { cached_tokens: cachedInput },
  output_tokens: outputTokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: uncachedInput + cachedInput + outputTokens,
}

/** What of the request a response repeats. */
const repeated = {
  instructions: 'You are a helpful assistant that answers briefly.',
  max_output_tokens: 64,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  store: true,
  temperature: 1,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
}

const response = (status: string, output: readonly object[]): object => ({
  id: `resp_${ownDigits}`,
  object: 'response',
  created_at: createdSeconds,
  status,
  background: false,
  error: null,
  incomplete_details: null,
  model: answeredModel,
  output,
  ...repeated,
  service_tier: status === 'completed' ? 'default' : 'auto',
  usage: status === 'completed' ? usage : null,
})

const itemId = 'msg_BenchBenchBenchBenchBenchBench'

const part = (text: string): object => ({ type: 'output_text', annotations: [], logprobs: [], text })

const item = (status: string, content: readonly object[]): object => ({
  id: itemId,
  type: 'message',
  status,
  role: 'assistant',
  content,
})

const streamedText = timesChunks(() => chunkText).join('')
const streamedItem = item('completed', [part(streamedText)])

const place = { item_id: itemId, output_index: 0, content_index: 0 }

const events: readonly StreamEvent[] = [
  { type: 'response.created', response: response('in_progress', []) },
  { type: 'response.in_progress', response: response('in_progress', []) },
  { type: 'response.output_item.added', output_index: 0, item: item('in_progress', []) },
  { type: 'response.content_part.added', ...place, part: part('') },
  ...timesChunks((index) => ({
    type: 'response.output_text.delta',
    ...place,
    delta: chunkText,
    logprobs: [],
    obfuscation: 'x'.repeat(4 + (index % 8)),
  })),
  { type: 'response.output_text.done', ...place, text: streamedText, logprobs: [] },
  { type: 'response.content_part.done', ...place, part: part(streamedText) },
  { type: 'response.output_item.done', output_index: 0, item: streamedItem },
  { type: 'response.completed', response: response('completed', [streamedItem]) },
]

/** As OpenAI answers on its Responses API; the text of a stream is repeated at its end four times. */
export const responsesAnswers: Answers = {
  whole: asJson(response('completed', [item('completed', [part(wholeText)])])),
  stream: events.map((event, index) => namedEvent({ ...event, sequence_number: index })),
}
