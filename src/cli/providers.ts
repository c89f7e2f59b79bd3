import { isDeepStrictEqual } from 'node:util'
import type { ProviderConfig, UpstreamConfig } from '../config/providers.ts'
import { type AuthenticatorParts, openAuthenticator } from '../providers/authentication/open-authenticator.ts'
import { type Deployment, type Provider, type Providers, providerSecrets } from '../providers/dialect/provider.ts'
import type { HttpClient } from '../providers/http.ts'
import type { Runtime } from './runtime.ts'

type Opening = Pick<Runtime, 'clock'> & Pick<AuthenticatorParts, 'files'> & { readonly http: HttpClient }

type DeploymentConfig = NonNullable<ProviderConfig['deployments']>[number]

const openUpstream = ({ authentication, ...config }: UpstreamConfig, { http, ...parts }: Opening): Provider => {
  if (authentication === undefined) return config
  const { connection } = config
  const onItsWay: HttpClient = { request: (request) => http.request({ connection, ...request }) }
  return {
    ...config,
    authenticator: openAuthenticator(authentication, { http: onItsWay, metadataHttp: http, ...parts }),
  }
}

const openProvider = ({ deployments, ...config }: ProviderConfig, opening: Opening): Provider => ({
  ...openUpstream(config, opening),
  ...(deployments === undefined
    ? {}
    : { deployments: deployments.map((each) => ({ ...each, provider: openUpstream(each.provider, opening) })) }),
})

const withSecretsOf = (provider: Provider, former: Provider): Provider => ({
  ...provider,
  formerSecrets: providerSecrets({ ...former, formerSecrets: [] }),
})

interface Opened {
  readonly config: ProviderConfig
  readonly provider: Provider
}

/** Of the deployments those that are as before stay the same, with their tokens. */
const reopenProvider = (config: ProviderConfig, former: Opened, opening: Opening): Provider => {
  const formerConfigs = new Map(former.config.deployments?.map((each) => [each.name, each]))
  const formerly = new Map(former.provider.deployments?.map((each) => [each.name, each]))
  const reopen = (each: DeploymentConfig): Deployment => {
    const before = formerly.get(each.name)
    if (before !== undefined && isDeepStrictEqual(each, formerConfigs.get(each.name))) return before
    const provider = openUpstream(each.provider, opening)
    return { ...each, provider: before === undefined ? provider : withSecretsOf(provider, before.provider) }
  }
  const { deployments, ...own } = config
  const provider = withSecretsOf(openUpstream(own, opening), former.provider)
  return deployments === undefined ? provider : { ...provider, deployments: deployments.map(reopen) }
}

interface OpenedProviders {
  readonly providers: Providers
  /** Further calls use what has changed; those under way go on as they began. What was removed stays for what is planned. */
  replace(configs: readonly ProviderConfig[]): void
}

export const openProviders = (configs: readonly ProviderConfig[], opening: Opening): OpenedProviders => {
  const opened = new Map(
    configs.map((config): [string, Opened] => [config.name, { config, provider: openProvider(config, opening) }]),
  )
  const providers = new Map([...opened].map(([name, { provider }]) => [name, provider]))
  const replace = (config: ProviderConfig): void => {
    const former = opened.get(config.name)
    if (former !== undefined && isDeepStrictEqual(config, former.config)) return
    const provider = former === undefined ? openProvider(config, opening) : reopenProvider(config, former, opening)
    opened.set(config.name, { config, provider })
    providers.set(config.name, provider)
  }
  return { providers, replace: (changed) => changed.forEach(replace) }
}
