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

/** Text of so many characters, none of which needs to be escaped. */
export const textOf = (characters: number): string =>
  text.repeat(Math.ceil(characters / text.length)).slice(0, characters)

/** An answer whose text has so many characters; its usage is the same whatever they are. */
export const wholeAnswerOf = (characters: number): Buffer =>
  Buffer.from(
    JSON.stringify({
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

export const contentChunkBytes = contentChunk.length

/** A stream of so many content chunks, written one by one; its usage is the same however many they are. */
export const streamOf = (chunks: number): readonly Buffer[] => [
  chunk([choice({ role: 'assistant', content: '', refusal: null }, null)], null),
  ...Array.from({ length: chunks }, () => contentChunk),
  chunk([choice({}, 'stop')], null),
  chunk([], usageOnWire),
  sse('[DONE]'),
]

/** What an answer is like: its text where it comes whole, its chunks and the least time between them where it is streamed. */
export interface Shape {
  readonly characters: number
  readonly chunks: number
  readonly everyMs: number
}

export const ordinaryShape: Shape = { characters: 2 * text.length, chunks: chunksPerStream, everyMs: 0 }
export const wholeAnswer = wholeAnswerOf(ordinaryShape.characters)
export const streamedChunks = streamOf(ordinaryShape.chunks)

const shapeMember = 'bench_shape'
const shapePattern = new RegExp(`"${shapeMember}":"(\\d+)/(\\d+)/(\\d+)"`)
const shapeCharactersMax = 64

/** The metadata by which a request asks for a shape; the gateway passes it on untouched. */
export const metadataOf = ({ characters, chunks, everyMs }: Shape): object => ({
  [shapeMember]: `${characters}/${chunks}/${everyMs}`,
})

/** What a request's body asks for, found without parsing it: a mock must not cost what it measures. */
export const shapeAskedBy = (body: Buffer): Shape => {
  const at = body.lastIndexOf(`"${shapeMember}":`)
  const asked = at < 0 ? null : shapePattern.exec(body.toString('latin1', at, at + shapeCharactersMax))
  if (asked === null) return ordinaryShape
  const [characters, chunks, everyMs] = asked.slice(1).map(Number)
  return { characters: characters!, chunks: chunks!, everyMs: everyMs! }
}
