import type { Format } from './content.ts'
import { paths } from './routes.ts'

const instructions = 'You are a helpful assistant that answers briefly.'
const question = 'What is a ledger, and how is it balanced? Two sentences, please.'
const outputTokensMax = 64

/** One question as each surface's clients ask it. */
const bodyOf: { readonly [F in Format]: (stream: boolean) => object } = {
  chat: (stream) => ({
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: question },
    ],
    max_tokens: outputTokensMax,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  messages: (stream) => ({
    system: instructions,
    messages: [{ role: 'user', content: question }],
    max_tokens: outputTokensMax,
    ...(stream ? { stream: true } : {}),
  }),
  responses: (stream) => ({
    instructions,
    input: [{ role: 'user', content: question }],
    max_output_tokens: outputTokensMax,
    ...(stream ? { stream: true } : {}),
  }),
}

const bearer = (key: string): readonly string[] => [`Authorization: Bearer ${key}`]

/** As the official SDKs send the key. */
const keyHeaders: { readonly [F in Format]: (key: string) => readonly string[] } = {
  chat: bearer,
  messages: (key) => [`X-Api-Key: ${key}`, 'Anthropic-Version: 2023-06-01'],
  responses: bearer,
}

export interface Asking {
  /** `http://host:port` and what stands before `/v1`. */
  readonly url: string
  readonly key: string
  readonly format: Format
  readonly model: string
  readonly stream: boolean
}

/** The bytes of one HTTP request. */
export const requestOf = ({ url, key, format, model, stream }: Asking): Buffer => {
  const { host, pathname } = new URL(url)
  const body = JSON.stringify({ model, ...bodyOf[format](stream) })
  return Buffer.from(
    [
      `POST ${pathname === '/' ? '' : pathname}${paths[format]} HTTP/1.1`,
      `Host: ${host}`,
      ...keyHeaders[format](key),
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
}
