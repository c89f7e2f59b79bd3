import type { ProviderConfig } from '../config/providers.ts'
import { openAuthenticator } from '../providers/authentication/open-authenticator.ts'
import type { Provider, Providers } from '../providers/dialect/provider.ts'
import type { HttpClient } from '../providers/http.ts'
import type { Runtime } from './runtime.ts'

const openProvider = (
  { authentication, ...config }: ProviderConfig,
  http: HttpClient,
  { clock }: Pick<Runtime, 'clock'>,
): Provider =>
  authentication === undefined
    ? config
    : { ...config, authenticator: openAuthenticator(authentication, { http, metadataHttp: http, clock }) }

export const openProviders = (
  configs: readonly ProviderConfig[],
  http: HttpClient,
  runtime: Pick<Runtime, 'clock'>,
): Providers => new Map(configs.map((config) => [config.name, openProvider(config, http, runtime)]))
