/** What the mock upstream says in every format, known to those that count it and to those that price it. */

export const formats = ['chat', 'messages', 'responses'] as const

/** How an upstream speaks. */
export type Format = (typeof formats)[number]

/** Tokens of one answer; each kind has a price of its own in the sheet. */
export interface AnswerTokens {
  readonly uncachedInput: number
  readonly cachedInput: number
  readonly cacheWrite5m: number
  readonly output: number
}

/** No two alike, so that none can be billed as another. */
export const tokens: { readonly [F in Format]: AnswerTokens } = {
  chat: { uncachedInput: 16, cachedInput: 4, cacheWrite5m: 0, output: 30 },
  messages: { uncachedInput: 15, cachedInput: 4, cacheWrite5m: 3, output: 32 },
  responses: { uncachedInput: 14, cachedInput: 6, cacheWrite5m: 0, output: 31 },
}

export const chunksPerStream = 50

/** Stands once in every content chunk and wherever a stream repeats its text: a reader counts them by one byte, however they are cut. */
export const chunkMark = '~'

export const chunkText = ` ${chunkMark}word`

const text = 'A ledger keeps every entry once, in order, and is balanced by adding up what stands in it. '

/** Text of so many characters, none of which needs to be escaped. */
export const textOf = (characters: number): string =>
  text.repeat(Math.ceil(characters / text.length)).slice(0, characters)

export const wholeText = textOf(2 * text.length)

/** As the upstream names the model in its answers; some gateways price by that. */
export const answeredModel = 'gpt-4o-mini-2024-07-18'

export const createdSeconds = 1_760_000_000

/** A place for digits that no two answers have alike: the gateway keeps a response under its id. */
export const ownDigits = '#'.repeat(24)

/** An answer in one format: whole, and as a stream, written one by one. */
export interface Answers {
  readonly whole: Buffer
  readonly stream: readonly Buffer[]
}

export const dataEvent = (data: string): Buffer => Buffer.from(`data: ${data}\n\n`)

export type StreamEvent = { readonly type: string } & Readonly<Record<string, unknown>>

export const namedEvent = (event: StreamEvent): Buffer =>
  Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

export const asJson = (answer: object): Buffer => Buffer.from(JSON.stringify(answer))

/** The content chunks of a stream. */
export const timesChunks = <Chunk>(make: (index: number) => Chunk): readonly Chunk[] =>
  Array.from({ length: chunksPerStream }, (_, index) => make(index))
