import type { PriceFile } from '../domain/pricing/price-file.ts'
import type { Catalog, CatalogProvider } from '../domain/routing/plan.ts'
import type { Authentication } from '../providers/authentication/open-authenticator.ts'
import { type Deployment, type Provider, type ProviderDialect, resolveProfile } from '../providers/dialect/provider.ts'
import type { VendorCredential, VideoVendorConfig } from '../providers/vv-video/vendor.ts'
import type { ProcessRole } from '../roles/role.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { authenticationFrom } from './authentication.ts'
import { callPoliciesOf, problemsOfCallPolicies } from './call-policies.ts'
import type { ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'
import { connectionFrom, divisionOf, entryOfDeployment, entryOfProvider, problemsOfDeployments } from './deployments.ts'
import type { EnvironmentVariables } from './environment.ts'
import { callsUpstream, callsVendors } from './roles.ts'

/** With a key, or what takes its place. */
export interface UpstreamConfig extends Omit<Provider, 'authenticator' | 'deployments'> {
  readonly authentication?: Authentication
}

export interface ProviderConfig extends UpstreamConfig {
  readonly deployments?: readonly (Omit<Deployment, 'provider'> & { readonly provider: UpstreamConfig })[]
  readonly models: Readonly<Record<string, string>>
}

interface ConfiguredProviders {
  /** With their keys, for the roles that call them. Other roles never hold one. */
  readonly providers: readonly ProviderConfig[]
  readonly videoVendors: readonly VideoVendorConfig[]
  /** No provider is configured and the sandbox plays each; on external servers only with `sandbox: true`. */
  readonly sandbox: boolean
  readonly catalog: Catalog
}

/** Credentials are checked by dialect when the file is read. */
type Entry = NonNullable<ConfigFile['providers']>[string]
type VendorEntry = Entry & { readonly dialect: typeof videoDialect }
type ProviderEntry = Entry & { readonly dialect: ProviderDialect }

export const videoDialect = 'vv-video'

const isVendor = (entry: Entry): entry is VendorEntry => entry.dialect === videoDialect

/** Providers that need nothing but a key, by the variable that holds it. */
const knownProviders: readonly (ProviderEntry & { readonly name: string; readonly variable: string })[] = [
  { name: 'openai', variable: 'OPENAI_API_KEY', dialect: 'openai', base_url: 'https://api.openai.com/v1', api_key: '' },
  {
    name: 'anthropic',
    variable: 'ANTHROPIC_API_KEY',
    dialect: 'anthropic',
    base_url: 'https://api.anthropic.com/v1',
    api_key: '',
  },
  { name: 'grok', variable: 'XAI_API_KEY', dialect: 'openai', base_url: 'https://api.x.ai/v1', api_key: '' },
  {
    name: 'google',
    variable: 'GEMINI_API_KEY',
    dialect: 'google',
    base_url: 'https://generativelanguage.googleapis.com/v1beta',
    api_key: '',
  },
]

const defaultRouters: Catalog['routers'] = {
  auto: { candidates: ['openai/gpt-5-mini', 'google/gemini-2.5-flash', 'grok/grok-4.3'] },
}

export const resolveDialect = (name: string): ProviderDialect =>
  knownProviders.find((provider) => provider.name === name)?.dialect ?? 'openai'

/** What a dialect does not have is translated. */
export const answeringSurfaces = [
  'chat',
  'messages',
  'responses',
  'embeddings',
  'gemini',
] as const satisfies CatalogProvider['surfaces']

const withKeysFrom = (variables: EnvironmentVariables): Readonly<Record<string, ProviderEntry>> =>
  Object.fromEntries(
    knownProviders
      .filter(({ variable }) => variables.has(variable))
      .map(({ name, variable, ...entry }) => [name, { ...entry, api_key: variables.read(variable)! }]),
  )

const urlOf = ({ base_url = '' }: Entry): string => base_url.replace(/\/+$/, '')

const drainOf = ({
  drain_seconds: drainSeconds,
  cancel_stops_billing: cancelStopsBilling,
}: Entry): Pick<Provider, 'drainMs' | 'cancelStopsBilling'> => ({
  ...(drainSeconds === undefined ? {} : { drainMs: drainSeconds * 1_000 }),
  ...(cancelStopsBilling === undefined ? {} : { cancelStopsBilling }),
})

const credentialOf = (entry: Entry, reading: Reading): Pick<ProviderConfig, 'authentication' | 'apiVersion'> => {
  const authentication = authenticationFrom(entry, reading)
  return {
    ...(authentication === undefined ? {} : { authentication }),
    ...(entry.api_version === undefined ? {} : { apiVersion: entry.api_version }),
  }
}

type Reading = Pick<ProvidersReading, 'folder' | 'problems' | 'variables'>

const awsHost = /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com/

/** A signature for another region is refused; AWS's SDKs would use a web identity before the machine's role. */
const problemsOfAws = (
  entry: Entry,
  { authentication }: Pick<UpstreamConfig, 'authentication'>,
  { variables }: Reading,
): readonly string[] => {
  if (authentication === undefined || !('region' in authentication)) return []
  const [, region = authentication.region] = awsHost.exec(URL.parse(urlOf(entry))?.hostname ?? '') ?? []
  const isIdentityPassedOver =
    authentication.type === 'aws_role' &&
    authentication.container === null &&
    variables.read('AWS_WEB_IDENTITY_TOKEN_FILE') !== undefined
  return [
    ...(region === authentication.region
      ? []
      : [`is for the region ${authentication.region}, and base_url is in ${region}: name that one`]),
    ...(isIdentityPassedOver
      ? ['web identity (AWS_WEB_IDENTITY_TOKEN_FILE) is not supported: use EKS Pod Identity, or another type']
      : []),
  ]
}

/** `entry` is a provider's, or one of its deployments' with what that leaves out. */
const upstreamFrom = (name: string, entry: Entry, path: string, reading: Reading): UpstreamConfig => {
  const credential = credentialOf(entry, reading)
  const problems = problemsOfAws(entry, credential, reading)
  reading.problems.push(...problems.map((message) => ({ path: `${path}.authentication`, message })))
  const baseUrl = urlOf(entry)
  return {
    name,
    dialect: entry.dialect as ProviderDialect,
    profile: entry.profile ?? resolveProfile({ name, baseUrl }),
    baseUrl,
    apiKey: entry.api_key ?? '',
    ...credential,
    ...(entry.headers === undefined ? {} : { headers: entry.headers }),
    ...connectionFrom(entry, path, reading),
    ...(entry.capabilities === undefined ? {} : { capabilities: entry.capabilities }),
    ...drainOf(entry),
    ...callPoliciesOf(entry),
  }
}

const deploymentsFrom = (name: string, entry: Entry, reading: Reading): Pick<ProviderConfig, 'deployments'> => {
  const { deployments } = entry
  if (deployments === undefined) return {}
  reading.problems.push(...problemsOfDeployments(`providers.${name}.deployments`, deployments))
  return {
    deployments: deployments.map((each, index) => {
      const path = `providers.${name}.deployments[${index}]`
      const provider = { ...upstreamFrom(name, entryOfDeployment(entry, each), path, reading), deployment: each.name }
      return { ...divisionOf(each), provider }
    }),
  }
}

const callableProviders = (
  file: ConfigFile,
  { role, ...reading }: Pick<ProvidersReading, 'role'> & Reading,
): readonly ProviderConfig[] => {
  if (!callsUpstream(role)) return []
  return Object.entries(file.providers ?? withKeysFrom(reading.variables)).flatMap(([name, entry]) =>
    isVendor(entry)
      ? []
      : [
          {
            ...upstreamFrom(name, entryOfProvider(entry), `providers.${name}`, reading),
            ...deploymentsFrom(name, entry, reading),
            models: entry.models ?? {},
          },
        ],
  )
}

const vendorCredentialOf = ({ api_key, access_key, secret_key }: VendorEntry): VendorCredential =>
  api_key === undefined
    ? { type: 'pair', accessKey: access_key!, secretKey: secret_key! }
    : { type: 'key', apiKey: api_key }

const videoVendorsFrom = ({ providers = {} }: ConfigFile, role: ProcessRole): readonly VideoVendorConfig[] => {
  if (!callsVendors(role)) return []
  return Object.entries(providers).flatMap(([name, entry]) => {
    if (!isVendor(entry)) return []
    const { calls_per_second: callsPerSecond = sharedLimits.vendorCallsPerSecond } = entry
    return [{ name, baseUrl: urlOf(entry), credential: vendorCredentialOf(entry), callsPerSecond }]
  })
}

const dividedBy = ({ deployments }: Entry): Pick<CatalogProvider, 'served' | 'deployments'> => {
  if (deployments === undefined) return {}
  const lists = deployments.flatMap(({ models }) => (models === undefined ? [] : [Object.keys(models)]))
  const names = deployments.map(({ name }) => name)
  const isWhole = lists.length === 0 || lists.length < deployments.length
  return { deployments: names, ...(isWhole ? {} : { served: new Set(lists.flat()) }) }
}

const catalogProviderOf = (name: string, entry: Entry): CatalogProvider => {
  const { models = {} } = entry
  if (isVendor(entry)) return { models, surfaces: ['video'] }
  const { profile = resolveProfile({ name, baseUrl: urlOf(entryOfProvider(entry)) }) } = entry
  return { models, ...dividedBy(entry), surfaces: answeringSurfaces, profile }
}

/** Under this name the sandbox plays a video vendor. */
export const sandboxVendor = 'vv'

/** The models that can be called here; without keys of our own, all that other processes may be able to call. */
const modelsByProvider = (
  file: ConfigFile,
  providers: readonly ProviderConfig[],
  sandbox: boolean,
): Catalog['providers'] => {
  if (file.providers !== undefined)
    return new Map(Object.entries(file.providers).map(([name, entry]) => [name, catalogProviderOf(name, entry)]))
  const known = knownProviders.filter(
    ({ name }) => providers.length === 0 || providers.some((each) => each.name === name),
  )
  return new Map<string, CatalogProvider>([
    ...known.map((entry) => [entry.name, catalogProviderOf(entry.name, entry)] as const),
    ...(sandbox ? [[sandboxVendor, { models: {}, surfaces: ['video'] }] as const] : []),
  ])
}

/** A deployment without its keys must not answer with the sandbox's text, and bill it. */
const problemsOfProviders = (isConfigured: boolean, isSandboxAllowed: boolean): readonly ConfigProblem[] => {
  if (isConfigured || isSandboxAllowed) return []
  const variables = knownProviders.map(({ variable }) => variable).join(', ')
  const message = `none is configured: set one of ${variables}, or name them in the file; \`sandbox: true\` answers without any`
  return [{ path: 'providers', message }]
}

interface ProvidersReading {
  /** Of the file, from which its paths begin. */
  readonly folder: string
  readonly role: ProcessRole
  readonly variables: EnvironmentVariables
  /** Used where the file has no `sandbox`. */
  readonly isSandboxDefault: boolean
  readonly prices: PriceFile
  readonly problems: ConfigProblem[]
}

const isOfMaker = (model: string): boolean => knownProviders.some(({ name }) => model.startsWith(`${name}/`))

/** Every model is also known by its bare name, unless the file lists aliases. Clouds that are configured sell it where its maker is not. */
const bareNames = ({ prices }: PriceFile, configured: Catalog['providers']): Readonly<Record<string, string>> => {
  const models = prices.map(({ model }) => ({ model, slash: model.indexOf('/') }))
  const rankOf = ({ model, slash }: (typeof models)[number]): number =>
    (configured.has(model.slice(0, slash)) ? 2 : 0) + (isOfMaker(model) ? 1 : 0)
  const ordered = models.toSorted((one, other) => rankOf(one) - rankOf(other))
  return Object.fromEntries(ordered.map(({ model, slash }) => [model.slice(slash + 1), model]))
}

export const providersFrom = (
  file: ConfigFile,
  { folder, role, variables, isSandboxDefault, prices, problems }: ProvidersReading,
): ConfiguredProviders => {
  const isConfigured = file.providers !== undefined || knownProviders.some(({ variable }) => variables.has(variable))
  const isSandboxAllowed = file.sandbox ?? isSandboxDefault
  problems.push(...problemsOfProviders(isConfigured, !callsUpstream(role) || isSandboxAllowed))
  problems.push(...problemsOfCallPolicies(file, prices))
  const sandbox = !isConfigured && isSandboxAllowed
  const providers = callableProviders(file, { folder, role, variables, problems })
  const catalogProviders = modelsByProvider(file, providers, sandbox)
  return {
    providers,
    videoVendors: videoVendorsFrom(file, role),
    sandbox,
    catalog: {
      providers: catalogProviders,
      aliases: file.aliases ?? bareNames(prices, catalogProviders),
      routers: file.routers ?? (file.providers === undefined ? defaultRouters : {}),
      acceptSnapshots: file.models?.accept_snapshots ?? false,
    },
  }
}
