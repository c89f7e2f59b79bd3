import type { Target, UpstreamRequest } from '../dialect/dialect.ts'
import { endpointOf } from '../dialect/provider.ts'

/** The version whose shapes this folder knows. */
const defaultVersion = '2023-06-01'

const forwardedHeaders = ['anthropic-version', 'anthropic-beta'] as const

type CallerHeaders = Readonly<Record<string, string>>

const forwarded = (headers: CallerHeaders): CallerHeaders =>
  Object.fromEntries(
    forwardedHeaders.flatMap((name) => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value] as const]
    }),
  )

/** How a request of this format is sent: clouds have addresses, headers and members of their own. */
export type PostMessages = (
  target: Target,
  path: '/messages' | '/messages/count_tokens',
  body: object,
  asking: { readonly stream: boolean; readonly headers?: CallerHeaders | undefined },
) => UpstreamRequest

export const postTo: PostMessages = ({ provider }, path, body, { stream, headers = {} }) => {
  return {
    url: endpointOf(provider, path),
    headers: {
      'anthropic-version': defaultVersion,
      ...provider.headers,
      ...forwarded(headers),
      'x-api-key': provider.apiKey,
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
    },
    body,
  }
}
