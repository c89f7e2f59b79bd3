import { GatewayError } from '../../errors/gateway-error.ts'
import type { UpstreamRequest } from '../dialect/dialect.ts'
import type { Provider } from '../dialect/provider.ts'

export interface StoredResponseQuestion {
  readonly responseId: string
  readonly query: string
}

const refuseUnkept = ({ name, dialect, profile }: Provider): void => {
  if (dialect !== 'openai' || profile === 'gemini')
    throw new GatewayError('not_implemented', `The provider \`${name}\` keeps no responses.`)
}

const queryOf = (query: string): string => {
  const asked = new URLSearchParams(query)
  return asked.size === 0 ? '' : `?${asked}`
}

/** Throws `not_implemented` where the provider keeps none. */
export const storedResponseRequest = (
  provider: Provider,
  { responseId, query }: StoredResponseQuestion,
): Omit<UpstreamRequest, 'body'> => {
  refuseUnkept(provider)
  const { baseUrl, apiKey, headers } = provider
  const root = baseUrl.endsWith('/') ? baseUrl.slice(0, -1) : baseUrl
  return {
    url: `${root}/responses/${encodeURIComponent(responseId)}${queryOf(query)}`,
    headers: { ...headers, authorization: `Bearer ${apiKey}`, accept: 'application/json' },
  }
}
