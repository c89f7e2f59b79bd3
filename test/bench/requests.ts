/** What the clients of the bench ask. */
import { pathOf, type Surface } from './routes.ts'
import { metadataOf, type Shape } from './shape.ts'

/** Where a client asks, and how it speaks. */
export interface Addressed {
  /** `http://host:port` and what stands before `/v1`. */
  readonly url: string
  readonly key: string
  readonly format: Surface
  readonly model: string
}

export interface Ask {
  readonly stream: boolean
  readonly prompt?: string
  /** Of a chat answer; the ordinary one where none is named. */
  readonly shape?: Shape
  /** Header lines beside the usual ones. */
  readonly headers?: readonly string[]
}

export interface Asking extends Addressed, Ask {}

const instructions = 'You are a helpful assistant that answers briefly.'
const ordinaryPrompt = 'What is a ledger, and how is it balanced? Two sentences, please.'
const outputTokensMax = 64

/** One question as each surface's clients ask it. */
const questionOf: { readonly [S in Surface]: (ask: Ask) => object } = {
  chat: ({ stream, prompt = ordinaryPrompt, shape }) => ({
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: prompt },
    ],
    max_tokens: outputTokensMax,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(shape === undefined ? {} : { metadata: metadataOf(shape) }),
  }),
  messages: ({ stream, prompt = ordinaryPrompt }) => ({
    system: instructions,
    messages: [{ role: 'user', content: prompt }],
    max_tokens: outputTokensMax,
    ...(stream ? { stream: true } : {}),
  }),
  responses: ({ stream, prompt = ordinaryPrompt }) => ({
    instructions,
    input: [{ role: 'user', content: prompt }],
    max_output_tokens: outputTokensMax,
    ...(stream ? { stream: true } : {}),
  }),
  gemini: ({ prompt = ordinaryPrompt }) => ({
    systemInstruction: { parts: [{ text: instructions }] },
    contents: [{ role: 'user', parts: [{ text: prompt }] }],
    generationConfig: { maxOutputTokens: outputTokensMax },
  }),
}

/** Google's clients name the model in the address. */
export const bodyOf = ({ format, model, ...ask }: Pick<Addressed, 'format' | 'model'> & Ask): string =>
  JSON.stringify({ ...(format === 'gemini' ? {} : { model }), ...questionOf[format](ask) })

const bearer = (key: string): readonly string[] => [`Authorization: Bearer ${key}`]

/** As the official SDKs send the key. */
const keyHeaders: { readonly [S in Surface]: (key: string) => readonly string[] } = {
  chat: bearer,
  messages: (key) => [`X-Api-Key: ${key}`, 'Anthropic-Version: 2023-06-01'],
  responses: bearer,
  gemini: (key) => [`X-Goog-Api-Key: ${key}`],
}

/** The request as it goes over a socket. */
export const requestOf = (asking: Asking): Buffer => {
  const { url, key, format, model, stream, headers = [] } = asking
  const { host, pathname } = new URL(url)
  const body = bodyOf(asking)
  return Buffer.from(
    [
      `POST ${pathname === '/' ? '' : pathname}${pathOf(format, model, stream)} HTTP/1.1`,
      `Host: ${host}`,
      ...keyHeaders[format](key),
      ...headers,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
}
