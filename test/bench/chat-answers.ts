import { type Answers, answeredModel, asJson, chunkText, createdSeconds, dataEvent, textOf, tokens } from './content.ts'
import { ordinaryShape } from './shape.ts'

const { uncachedInput, cachedInput, output } = tokens.chat

const usage = {
  prompt_tokens: uncachedInput + cachedInput,
  completion_tokens: output,
  total_tokens: uncachedInput + cachedInput + output,
  prompt_tokens_details: { cached_tokens: cachedInput, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
}

const identity = {
  id: 'chatcmpl-BenchBenchBenchBenchBenchBench',
  created: createdSeconds,
  model: answeredModel,
  service_tier: 'default',
  system_fingerprint: 'fp_44added55e',
}

/** An answer whose text has so many characters; its usage is the same whatever they are. */
export const wholeAnswerOf = (characters: number): Buffer =>
  asJson({
    ...identity,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: textOf(characters), refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
  })

const chunk = (choices: readonly object[], told: object | null): Buffer =>
  dataEvent(JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices, usage: told }))

const choice = (delta: object, finishReason: string | null): object => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason: finishReason,
})

const contentChunk = chunk([choice({ content: chunkText }, null)], null)

export const contentChunkBytes = contentChunk.length

/** A stream of so many content chunks, written one by one; its usage is the same however many they are. */
export const streamOf = (chunks: number): readonly Buffer[] => [
  chunk([choice({ role: 'assistant', content: '', refusal: null }, null)], null),
  ...Array.from({ length: chunks }, () => contentChunk),
  chunk([choice({}, 'stop')], null),
  chunk([], usage),
  dataEvent('[DONE]'),
]

/** As OpenAI answers a chat completion. */
export const chatAnswers: Answers = {
  whole: wholeAnswerOf(ordinaryShape.characters),
  stream: streamOf(ordinaryShape.chunks),
}
