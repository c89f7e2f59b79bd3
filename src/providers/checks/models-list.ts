import { asArray, asObject, asText, parseJsonBytes } from '../../encoding/json.ts'
import { addressed } from '../azure/address.ts'
import type { UpstreamRequest } from '../dialect/dialect.ts'
import { endpointOf, type Provider } from '../dialect/provider.ts'

type ListRequest = Omit<UpstreamRequest, 'body'>

const listed = (provider: Provider, credential: Readonly<Record<string, string>>): ListRequest => ({
  url: endpointOf(provider, '/models'),
  headers: { ...provider.headers, ...credential, accept: 'application/json' },
})

const asOpenAI = (provider: Provider): ListRequest => listed(provider, { authorization: `Bearer ${provider.apiKey}` })

/** Null where the dialect has no list of models. */
export const modelsRequestFor = (provider: Provider): ListRequest | null => {
  switch (provider.dialect) {
    case 'openai':
      return asOpenAI(provider)
    case 'azure':
      return addressed(provider, null, asOpenAI(provider))
    case 'anthropic':
      return listed(
        { ...provider, headers: { 'anthropic-version': '2023-06-01', ...provider.headers } },
        {
          'x-api-key': provider.apiKey,
        },
      )
    case 'google':
      return listed(provider, { 'x-goog-api-key': provider.apiKey })
    default:
      return null
  }
}

/** Some compatible servers answer with the list alone. */
export const countModelsIn = (body: Uint8Array): number => {
  const json = parseJsonBytes(body)
  const { data, models } = asObject(json)
  return [json, data, models].flatMap(asArray).filter((each) => {
    const { id, name } = asObject(each)
    return asText(id) !== '' || asText(name) !== ''
  }).length
}
