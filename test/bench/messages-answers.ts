import { type Answers, asJson, chunkText, namedEvent, timesChunks, tokens, wholeText } from './content.ts'

const { uncachedInput, cachedInput, cacheWrite5m, output } = tokens.messages

const told = {
  input_tokens: uncachedInput,
  cache_creation_input_tokens: cacheWrite5m,
  cache_read_input_tokens: cachedInput,
  output_tokens: output,
}

const usage = {
  ...told,
  cache_creation: { ephemeral_5m_input_tokens: cacheWrite5m, ephemeral_1h_input_tokens: 0 },
  service_tier: 'standard',
  inference_geo: 'global',
}

const message = (content: readonly object[], stopReason: string | null, outputTokens: number): object => ({
  id: 'msg_01BenchBenchBenchBenchBench',
  type: 'message',
  role: 'assistant',
  model: 'claude-haiku-4-5-20251001',
  content,
  stop_reason: stopReason,
  stop_sequence: null,
  usage: { ...usage, output_tokens: outputTokens },
})

const textBlock = (text: string): object => ({ type: 'text', text, citations: null })

/** As Anthropic answers a message. */
export const messagesAnswers: Answers = {
  whole: asJson(message([textBlock(wholeText)], 'end_turn', output)),
  stream: [
    { type: 'message_start', message: message([], null, 1) },
    { type: 'content_block_start', index: 0, content_block: textBlock('') },
    { type: 'ping' },
    ...timesChunks(() => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: chunkText },
    })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: told },
    { type: 'message_stop' },
  ].map(namedEvent),
}
