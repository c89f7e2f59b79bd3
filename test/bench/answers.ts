/** What the mock upstream answers with, known to those that count it and to those that price it. */

/** Each of these has a price of its own in the sheet. */
export const usage = { uncachedInputTokens: 16, cachedInputTokens: 4, outputTokens: 30 } as const

export const chunksPerStream = 50

/** Stands once in every content chunk and nowhere else: a reader counts chunks by one byte, however they are cut. */
export const chunkMark = '~'

const usageOnWire = {
  prompt_tokens: usage.uncachedInputTokens + usage.cachedInputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: usage.uncachedInputTokens + usage.cachedInputTokens + usage.outputTokens,
  prompt_tokens_details: { cached_tokens: usage.cachedInputTokens, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
}

const identity = {
  id: 'chatcmpl-BenchBenchBenchBenchBenchBench',
  created: 1_760_000_000,
  model: 'gpt-4o-mini-2024-07-18',
  service_tier: 'default',
  system_fingerprint: 'fp_44added55e',
}

const text = 'A ledger keeps every entry once, in order, and is balanced by adding up what stands in it. '

export const wholeAnswer = Buffer.from(
  JSON.stringify({
    ...identity,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text.repeat(2), refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: usageOnWire,
  }),
)

const sse = (data: string): Buffer => Buffer.from(`data: ${data}\n\n`)

const chunk = (choices: readonly object[], usage: object | null): Buffer =>
  sse(JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices, usage }))

const choice = (delta: object, finishReason: string | null): object => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason: finishReason,
})

const contentChunk = chunk([choice({ content: ` ${chunkMark}word` }, null)], null)

/** One stream, written one by one. */
export const streamedChunks: readonly Buffer[] = [
  chunk([choice({ role: 'assistant', content: '', refusal: null }, null)], null),
  ...Array.from({ length: chunksPerStream }, () => contentChunk),
  chunk([choice({}, 'stop')], null),
  chunk([], usageOnWire),
  sse('[DONE]'),
]
