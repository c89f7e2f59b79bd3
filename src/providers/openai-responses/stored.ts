import type { JsonObject } from '../../encoding/json.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { UpstreamRequest } from '../dialect/dialect.ts'
import { endpointOf, type Provider, type ProviderDialect, providerCapabilities } from '../dialect/provider.ts'

export interface StoredResponseQuestion {
  readonly responseId: string
  readonly query: string
}

/** No provider's ids have other characters. An id enters the log, and becomes part of a path. */
const idPattern = /^[\w-]{1,256}$/

/** The id by which a later request may name the answer; null where the provider does not keep it. */
export const storedIdOf = (body: JsonObject, { id, store }: JsonObject): string | null =>
  body['store'] !== false && store !== false && typeof id === 'string' && idPattern.test(id) ? id : null

const storingDialects: readonly ProviderDialect[] = ['openai', 'azure']

const refuseUnkept = (provider: Provider): void => {
  if (!storingDialects.includes(provider.dialect) || !providerCapabilities(provider).responses)
    throw new GatewayError('not_implemented', `The provider \`${provider.name}\` keeps no responses.`)
}

const queryOf = (query: string): string => {
  const parameters = new URLSearchParams(query)
  return parameters.size === 0 ? '' : `?${parameters}`
}

/** Throws `not_implemented` where the provider keeps none. */
export const storedResponseRequest = (
  provider: Provider,
  { responseId, query }: StoredResponseQuestion,
): Omit<UpstreamRequest, 'body'> => {
  refuseUnkept(provider)
  return {
    url: endpointOf(provider, `/responses/${encodeURIComponent(responseId)}${queryOf(query)}`),
    headers: { ...provider.headers, authorization: `Bearer ${provider.apiKey}`, accept: 'application/json' },
  }
}
