import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Sandbox, startSandbox } from '../../sandbox/server.ts'

type Body = { readonly [key: string]: unknown }

/** A sandbox that ends with its test. */
export const sandboxFor = async (t: Test): Promise<Sandbox> => {
  const sandbox = await startSandbox({ clock: Date.now, newId: randomUUID })
  t.teardown(() => sandbox.stop())
  return sandbox
}

export const question = (text = 'What is the answer?'): Body => ({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: text }],
})

/** A question to a model that is given directives. */
export const directed = (directives: string, more: Body = {}): Body => ({
  ...question(),
  model: `gpt-4o-mini;${directives}`,
  ...more,
})

export const streamed: Body = { stream: true, stream_options: { include_usage: true } }

export const ask = (sandbox: Sandbox, body: Body, signal?: AbortSignal): Promise<Response> =>
  fetch(`${sandbox.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-test', 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })

const post = (url: string, headers: { readonly [name: string]: string }, body: Body): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

/** A question to the messages surface of the sandbox. */
export const askMessages = (sandbox: Sandbox, body: Body, path = 'messages'): Promise<Response> =>
  post(`${sandbox.url}/${path}`, { 'x-api-key': 'sk-test', 'anthropic-version': '2023-06-01' }, body)

export const askResponses = (sandbox: Sandbox, body: Body): Promise<Response> =>
  post(`${sandbox.url}/responses`, { authorization: 'Bearer sk-test' }, body)

/** A question to a Gemini model in Google's own format. */
export const askGoogle = (sandbox: Sandbox, model: string, body: Body, isStream = false): Promise<Response> => {
  const method = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return post(`${sandbox.url}/models/${encodeURIComponent(model)}:${method}`, { 'x-goog-api-key': 'sk-test' }, body)
}

/** The parsed data of every event of a stream. */
export const eventsIn = (text: string): readonly ReturnType<JSON['parse']>[] =>
  dataLines(text).flatMap((data) => (data === '[DONE]' ? [] : [JSON.parse(data)]))

/** An answer's body, for tests that know its shape. */
export const jsonOf = async (answer: Response | Promise<Response>): Promise<ReturnType<JSON['parse']>> =>
  (await answer).json()

/** The error that a promise is rejected with; undefined where it is not. */
export const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

/** The body as it arrived, and whether it arrived whole. */
export const received = async (response: Response): Promise<{ text: string; whole: boolean; pieces: number[] }> => {
  const decoder = new TextDecoder()
  let text = ''
  const pieces: number[] = []
  try {
    for await (const bytes of response.body ?? []) {
      pieces.push(bytes.length)
      text += decoder.decode(bytes, { stream: true })
    }
  } catch {
    return { text, whole: false, pieces }
  }
  return { text: text + decoder.decode(), whole: true, pieces }
}

export const dataLines = (text: string): readonly string[] =>
  text.split(/\r?\n/).flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []))

export interface Chunk {
  readonly choices: readonly { readonly delta: Body; readonly finish_reason: string | null; readonly index: number }[]
  readonly usage?: Body | null
  readonly error?: Body
}

export const chunksOf = (text: string): readonly Chunk[] =>
  dataLines(text).flatMap((data) => (data === '[DONE]' ? [] : [JSON.parse(data)]))

export const chunksFrom = async (sandbox: Sandbox, body: Body): Promise<readonly Chunk[]> =>
  chunksOf(await (await ask(sandbox, { ...body, ...streamed })).text())

export const contentOf = (chunks: readonly Chunk[]): string =>
  chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta['content'] ?? '')).join('')

/** Resolves once the condition holds; the test's own time-out is the bound. */
export const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await pause(1)
}
