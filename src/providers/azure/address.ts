import type { UpstreamRequest } from '../dialect/dialect.ts'
import { endpointOf, type Provider } from '../dialect/provider.ts'

/** Dated API versions have the deployment in the path of these; the v1 API has it in the body alone. */
const deploymentPaths: readonly string[] = ['/chat/completions', '/embeddings']

const pathOf = (provider: Provider, path: string, deployment: string | null): string =>
  provider.apiVersion === undefined || deployment === null || !deploymentPaths.includes(path)
    ? path
    : `/deployments/${encodeURIComponent(deployment)}${path}`

const queryOf = ({ apiVersion }: Provider, query: URLSearchParams): string => {
  if (apiVersion !== undefined) query.set('api-version', apiVersion)
  return query.size === 0 ? '' : `?${query}`
}

/** A request that is written for OpenAI, as Azure takes it: by deployment, API version and its own header. */
export const addressed = <Request extends Pick<UpstreamRequest, 'url' | 'headers'>>(
  provider: Provider,
  deployment: string | null,
  request: Request,
): Request => {
  const [path = '', query = ''] = request.url.slice(endpointOf(provider, '').length).split('?')
  const { authorization: _key, ...headers } = request.headers
  return {
    ...request,
    url: endpointOf(provider, pathOf(provider, path, deployment) + queryOf(provider, new URLSearchParams(query))),
    headers: provider.apiKey === '' ? headers : { ...headers, 'api-key': provider.apiKey },
  }
}
