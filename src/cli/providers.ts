import type { ProviderConfig, UpstreamConfig } from '../config/providers.ts'
import { openAuthenticator } from '../providers/authentication/open-authenticator.ts'
import type { Provider, Providers } from '../providers/dialect/provider.ts'
import type { HttpClient } from '../providers/http.ts'
import type { Runtime } from './runtime.ts'

type Opening = Pick<Runtime, 'clock'> & { readonly http: HttpClient }

const openUpstream = ({ authentication, ...config }: UpstreamConfig, { http, clock }: Opening): Provider => {
  if (authentication === undefined) return config
  const { connection } = config
  const onItsWay: HttpClient = { request: (request) => http.request({ connection, ...request }) }
  return { ...config, authenticator: openAuthenticator(authentication, { http: onItsWay, metadataHttp: http, clock }) }
}

const openProvider = ({ deployments, ...config }: ProviderConfig, opening: Opening): Provider => ({
  ...openUpstream(config, opening),
  ...(deployments === undefined
    ? {}
    : { deployments: deployments.map((each) => ({ ...each, provider: openUpstream(each.provider, opening) })) }),
})

export const openProviders = (
  configs: readonly ProviderConfig[],
  http: HttpClient,
  { clock }: Pick<Runtime, 'clock'>,
): Providers => new Map(configs.map((config) => [config.name, openProvider(config, { http, clock })]))
