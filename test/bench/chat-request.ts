/** What the clients of the bench ask. */
import { metadataOf, type Shape } from './answers.ts'
import { benchModel } from './price.ts'

export interface Addressed {
  /** `http://host:port/path` of a server's chat completions. */
  readonly url: string
  readonly key: string
}

export interface Ask {
  readonly stream: boolean
  readonly prompt?: string
  /** The ordinary one where none is named. */
  readonly shape?: Shape
}

const ordinaryPrompt = 'What is a ledger, and how is it balanced? Two sentences, please.'

export const chatBody = ({ stream, prompt = ordinaryPrompt, shape }: Ask): string =>
  JSON.stringify({
    model: benchModel,
    messages: [
      { role: 'system', content: 'You are a helpful assistant that answers briefly.' },
      { role: 'user', content: prompt },
    ],
    max_tokens: 64,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(shape === undefined ? {} : { metadata: metadataOf(shape) }),
  })

/** The request as it goes over a socket. */
export const requestOf = ({ url, key }: Addressed, body: string): Buffer => {
  const { host, pathname } = new URL(url)
  return Buffer.from(
    [
      `POST ${pathname} HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
}
