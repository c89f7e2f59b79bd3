import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Document, Lexer, parseDocument } from 'yaml'
import { parseSigningKey } from '../audit/keys.ts'
import { deriveVerifier, parseVerifier, type Signer, type Verifier, verifierText } from '../audit/note.ts'
import { type PriceFile, problemsOfPriceFile } from '../domain/pricing/price-file.ts'
import { type Catalog, type CatalogProvider, candidateName } from '../domain/routing/plan.ts'
import { getValidator } from '../encoding/schema-validation.ts'
import { faultText } from '../errors/gateway-error.ts'
import type { ProviderDialect } from '../providers/provider.ts'
import type { VendorCredential, VideoVendorConfig } from '../providers/vv-video/vendor.ts'
import type { ProcessRole } from '../roles/role.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { configLimits } from './limits.ts'
import { type Environment, EnvironmentVariables } from './secret-files.ts'

export type { Environment }

export type UsageProfile = 'openai' | 'xai' | 'gemini'

export interface ProviderConfig {
  readonly name: string
  readonly dialect: ProviderDialect
  readonly profile: UsageProfile
  readonly baseUrl: string
  readonly apiKey: string
  readonly models: Readonly<Record<string, string>>
}

export interface Config {
  readonly listen: { readonly host: string; readonly port: number }
  readonly dataFolder: string
  /** Null: embedded servers under the data folder. */
  readonly external: External | null
  readonly natsServerBin: string | undefined
  readonly log: { readonly name: string; readonly replicas: number; readonly durability: 'synced' | 'relaxed' }
  /** With their keys, for the roles that call them. Other roles never hold one. */
  readonly providers: readonly ProviderConfig[]
  readonly videoVendors: readonly VideoVendorConfig[]
  /** No provider is configured and the sandbox plays each; on external servers only with `sandbox: true`. */
  readonly sandbox: boolean
  readonly catalog: Catalog
  readonly prices: PriceFile
  readonly requestsPerMinute: number | null
  /** Per client address and edge; null: no bound of its own. */
  readonly connectionsPerAddress: number | null
  readonly requestDeadlineMs: number
  readonly taskDeadlineMs: number
  /** Null: no callbacks are sent. */
  readonly callbacks: CallbacksConfig | null
  /** How long an edge that is stopping still takes requests, while it is not ready. */
  readonly withdrawMs: number
  /** How long requests in flight may run after that. */
  readonly drainMs: number
  readonly audit: AuditConfig
  /** Who may call the admin API, for the roles that serve it. Other roles never hold a token. */
  readonly admins: readonly Administrator[]
  readonly logLevel: string
  readonly logRequests: boolean
  /** Where operators get metrics and health; null: nowhere. */
  readonly observe: ObserveConfig | null
  /** Files with secrets that every user of this machine can read. */
  readonly exposedFiles: readonly string[]
}

export interface ObserveConfig {
  readonly host: string
  /** 0: a free one. Null: `observePort` of the limits, or a free one where that is taken. */
  readonly port: number | null
}

/** The token itself is kept nowhere. */
export interface Administrator {
  readonly name: string
  /** Of the token, hex. */
  readonly sha256: string
}

export interface AuditConfig {
  readonly sealing: boolean
  /** The log's name in its checkpoints. */
  readonly origin: string
  /** For the roles that seal; null where none is configured. Other roles never hold it. */
  readonly signer: Signer | null
  /** The signer's, for every role; null where none is configured. */
  readonly verifier: Verifier | null
  /** Of earlier keys. */
  readonly previous: readonly Verifier[]
}

export interface CallbacksConfig {
  /** For the roles that sign; null: the data folder's. Other roles never hold it. */
  readonly secret: string | null
  readonly allowPrivateAddresses: boolean
}

export interface External {
  /** Null for a role that needs no database. */
  readonly databaseUrl: string | null
  readonly nats: NatsConfig
}

export interface NatsConfig {
  /** Several servers of a cluster are separated by commas. */
  readonly url: string
  readonly monitoringUrl: string | undefined
  readonly user: string | undefined
  readonly password: string | undefined
  readonly credentialsFile: string | undefined
  readonly tls: TlsFiles | undefined
}

export interface TlsFiles {
  readonly caFile?: string
  readonly certFile?: string
  readonly keyFile?: string
}

/** gateway.yaml, see `schemas/config.json`. */
interface ConfigFile {
  readonly listen?: { readonly host?: string; readonly port?: number }
  readonly data_folder?: string
  readonly database_url?: string
  readonly nats?: {
    readonly url?: string
    readonly monitoring_url?: string
    readonly user?: string
    readonly password?: string
    readonly credentials_file?: string
    readonly tls?: { readonly ca_file?: string; readonly cert_file?: string; readonly key_file?: string }
  }
  readonly log?: { readonly name?: string; readonly replicas?: number; readonly durability?: 'synced' | 'relaxed' }
  readonly providers?: Readonly<Record<string, Entry>>
  readonly sandbox?: boolean
  readonly callbacks?: { readonly secret?: string; readonly allow_private_addresses?: boolean }
  readonly aliases?: Readonly<Record<string, string>>
  readonly routers?: Catalog['routers']
  readonly prices?: string
  readonly limits?: {
    readonly requests_per_minute?: number
    readonly connections_per_address?: number
    readonly request_deadline_seconds?: number
    readonly task_deadline_seconds?: number
    readonly withdraw_seconds?: number
    readonly drain_seconds?: number
  }
  readonly audit?: {
    readonly sealing?: boolean
    readonly origin?: string
    readonly signing_key?: string
    readonly signing_key_file?: string
    readonly public_key?: string
    readonly previous_public_keys?: readonly string[]
  }
  readonly admin?: { readonly tokens?: readonly { readonly name: string; readonly token: string }[] }
  readonly log_level?: string
  readonly log_requests?: boolean
  readonly observe?: { readonly host?: string; readonly port?: number | 'off' }
}

interface AnyEntry {
  readonly base_url: string
  readonly models?: Readonly<Record<string, string>>
}

interface ProviderEntry extends AnyEntry {
  readonly dialect: ProviderDialect
  readonly profile?: UsageProfile
  readonly api_key: string
}

const videoDialect = 'vv-video'

interface VendorEntry extends AnyEntry {
  readonly dialect: typeof videoDialect
  readonly api_key?: string
  readonly access_key?: string
  readonly secret_key?: string
  readonly calls_per_second?: number
}

type Entry = ProviderEntry | VendorEntry

const isVendor = (entry: Entry): entry is VendorEntry => entry.dialect === videoDialect

export interface ConfigProblem {
  readonly path: string
  readonly message: string
}

export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(file: string, problems: readonly ConfigProblem[]) {
    super(
      [
        `${file}: ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`,
        ...problems.map(({ path, message }) => `  ${path || '(top)'}: ${message}`),
      ].join('\n'),
    )
    this.name = 'ConfigError'
    this.problems = problems
  }
}

const shippedPrices = fileURLToPath(new URL('../../prices.json', import.meta.url))
const defaultConfigFile = 'gateway.yaml'

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

const defaultProfiles: Readonly<Record<string, UsageProfile>> = {
  grok: 'xai',
  xai: 'xai',
  google: 'gemini',
  gemini: 'gemini',
}

const defaultRouters: Catalog['routers'] = {
  auto: { candidates: ['openai/gpt-5-mini', 'google/gemini-2.5-flash', 'grok/grok-4-fast'] },
}

/** A process reads only those secrets that its role uses. */
const callsUpstream = (role: ProcessRole): boolean => role === 'gateway' || role === 'proxy'
const signsCallbacks = (role: ProcessRole): boolean => role === 'gateway' || role === 'video-poller'
/** A proxy refreshes expired result URLs. */
const callsVendors = (role: ProcessRole): boolean => signsCallbacks(role) || role === 'proxy'
const readsDatabase = (role: ProcessRole): boolean => role !== 'proxy'
const answersClients = (role: ProcessRole): boolean => role === 'gateway' || role === 'edge'
const administers = answersClients
const seals = (role: ProcessRole): boolean => role === 'gateway' || role === 'scheduler'

interface Reader {
  readonly role: ProcessRole
  readonly signs: boolean
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined

/** True for a path of the file that holds a secret which this process does not use. */
const createUnusedSecretFilter = (content: unknown, { role, signs }: Reader): ((path: string) => boolean) => {
  const providers = memberOf(content, 'providers')
  return (path) => {
    if (path === 'callbacks.secret') return !signs
    if (path === 'audit.signing_key') return !seals(role)
    if (/^admin\.tokens\[\d+\]\.token$/.test(path)) return !administers(role)
    const [, provider] = /^providers\.([^.]+)\.(?:api|access|secret)_key$/.exec(path) ?? []
    if (provider === undefined) return false
    const isOfVendor = memberOf(memberOf(providers, provider), 'dialect') === videoDialect
    return isOfVendor ? !callsVendors(role) : !callsUpstream(role)
  }
}

/** Where the file holds secrets; an address can hold a password too. */
const secretPath =
  /^(?:callbacks\.secret|audit\.signing_key|nats\.password|admin\.tokens\[\d+\]\.token|providers\.[^.]+\.(?:api|access|secret)_key)$/
const passwordInAddress = /:\/\/[^/\s]*:[^/\s]*@/

interface Filling {
  readonly file: string
  readonly variables: EnvironmentVariables
  readonly isUnusedSecret: (path: string) => boolean
  readonly problems: ConfigProblem[]
}

const fillText = (text: string, path: string, { file, variables, problems }: Filling): string => {
  if (!text.includes('${') && (secretPath.test(path) || passwordInAddress.test(text))) variables.noteSecretFile(file)
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (match, name: string) => {
    const found = variables.read(name)
    if (found === undefined) problems.push({ path, message: `the environment variable ${name} is not set` })
    return found ?? match // One problem per missing variable.
  })
}

/** Fills `${NAME}` in every text of the file; an unset variable is a problem at its path. */
const fillVariables = (value: unknown, path: string, filling: Filling): unknown => {
  const { isUnusedSecret } = filling
  if (isUnusedSecret(path)) return value
  if (typeof value === 'string') return fillText(value, path, filling)
  if (Array.isArray(value)) return value.map((each, index) => fillVariables(each, `${path}[${index}]`, filling))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      fillVariables(each, path === '' ? key : `${path}.${key}`, filling),
    ]),
  )
}

const variableName = /^\w+$/
/** The lexer's marks between pieces of the text: begin of a document, a broken flow, a scalar. */
const lexerMarks: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f'])

/** A bare `${NAME}` would open a map in YAML's flow style. Elsewhere, in quotes and in comments it is text. */
const quoteVariables = (text: string): string => {
  const tokens = [...new Lexer().lex(text)]
  for (const at of tokens.keys()) {
    const [dollar, open, , name = '', close] = tokens.slice(at, at + 5)
    if (dollar === '$' && open === '{' && variableName.test(name) && close === '}')
      tokens.splice(at, 5, '"', dollar, open, name, '}"')
  }
  return tokens.filter((token) => !lexerMarks.has(token)).join('')
}

const parseConfigFile = (file: string, variables: EnvironmentVariables, reader: Reader): ConfigFile => {
  const document = parseDocument(quoteVariables(readFileSync(file, 'utf8')), { prettyErrors: true })
  const [broken] = document.errors // The others follow from the first.
  if (broken !== undefined)
    throw new ConfigError(file, [{ path: '', message: `not YAML: ${broken.message.split('\n')[0]}` }])
  const problems: ConfigProblem[] = []
  if (!readsDatabase(reader.role)) document.delete('database_url')
  const found = contentOf(document, file)
  const filled = fillVariables(found, '', {
    file,
    variables,
    isUnusedSecret: createUnusedSecretFilter(found, reader),
    problems,
  })
  problems.push(
    ...variables.problems,
    ...getValidator('config.json', { allErrors: true })(filled),
    ...problemsOfKeys(filled),
  )
  if (problems.length > 0) throw new ConfigError(file, problems)
  const content = withoutEmptyProviders(filled as ConfigFile)
  const mistakes = problemsOfNames(content)
  if (mistakes.length > 0) throw new ConfigError(file, mistakes)
  return content
}

/** The library's own error shows the text, which may be a password. */
const contentOf = (document: Document, file: string): unknown => {
  try {
    return document.toJS() ?? {}
  } catch {
    throw new ConfigError(file, [{ path: '', message: 'not YAML: a text that begins with * needs quotes' }])
  }
}

const withoutEmptyProviders = ({ providers, ...content }: ConfigFile): ConfigFile =>
  providers === undefined || Object.keys(providers).length === 0 ? content : { ...content, providers }

/** Each dialect has its own kind of credentials. */
const problemsOfKeys = (content: unknown): readonly ConfigProblem[] =>
  Object.entries(memberOf(content, 'providers') ?? {}).flatMap(([name, entry]) => {
    const has = (member: string): boolean => memberOf(entry, member) !== undefined
    const problems = memberOf(entry, 'dialect') === videoDialect ? vendorKeyProblems(has) : providerKeyProblems(has)
    return problems.map(([member, message]) => ({ path: `providers.${name}.${member}`, message }))
  })

type KeyProblem = readonly [member: string, message: string]

const providerKeyProblems = (has: (member: string) => boolean): readonly KeyProblem[] => [
  ...(has('api_key') ? [] : [['api_key', 'is required'] as const]),
  ...['access_key', 'secret_key', 'calls_per_second']
    .filter(has)
    .map((member) => [member, `is only for the dialect ${videoDialect}`] as const),
]

const vendorKeyProblems = (has: (member: string) => boolean): readonly KeyProblem[] => {
  const pair = ['access_key', 'secret_key']
  const problems: KeyProblem[] = has('profile') ? [['profile', `is not for the dialect ${videoDialect}`]] : []
  if (has('api_key') && pair.some(has))
    problems.push(['api_key', 'stands beside access_key or secret_key: give one or the other'])
  else if (pair.some(has)) {
    const missing = pair.find((member) => !has(member))
    if (missing !== undefined) problems.push([missing, 'is required beside the other of the pair'])
  } else if (!has('api_key')) problems.push(['api_key', 'is required, or access_key and secret_key'])
  return problems
}

const problemsOfNames = ({ providers, aliases = {}, routers = {} }: ConfigFile): readonly ConfigProblem[] => {
  if (providers === undefined) return []
  const known = (model: string): boolean => Object.hasOwn(providers, model.slice(0, model.indexOf('/')))
  const unknown = (path: string, model: string): ConfigProblem => ({
    path,
    message: `\`${model}\` names no configured provider`,
  })
  return [
    ...Object.entries(aliases)
      .filter(([, model]) => !known(model))
      .map(([alias, model]) => unknown(`aliases.${alias}`, model)),
    ...Object.entries(routers).flatMap(([router, { candidates }]) =>
      candidates
        .map(candidateName)
        .flatMap((candidate, index) =>
          known(candidate) || Object.hasOwn(aliases, candidate)
            ? []
            : [unknown(`routers.${router}.candidates[${index}]`, candidate)],
        ),
    ),
  ]
}

/** Throws ConfigError with every mistake. */
export const readPriceFile = (file: string): PriceFile => {
  const parsed = parseJsonFile(file)
  const problems = getValidator('price-file.json', { allErrors: true })(parsed)
  if (problems.length > 0) throw new ConfigError(file, problems)
  const mistakes = problemsOfPriceFile(parsed as PriceFile)
  if (mistakes.length > 0) throw new ConfigError(file, mistakes)
  return parsed as PriceFile
}

const parseJsonFile = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (fault) {
    throw new ConfigError(file, [{ path: '', message: faultText(fault) }])
  }
}

export const resolveProfile = (name: string): UsageProfile => defaultProfiles[name] ?? 'openai'

export const resolveDialect = (name: string): ProviderDialect =>
  knownProviders.find((provider) => provider.name === name)?.dialect ?? 'openai'

/** Google's OpenAI-compatible API has no Responses API. */
export const resolveSurfaces = (
  dialect: ProviderDialect,
  profile: UsageProfile,
): NonNullable<CatalogProvider['surfaces']> =>
  dialect === 'openai' && profile !== 'gemini' ? ['chat', 'messages', 'responses'] : ['chat', 'messages']

const withKeysFrom = (variables: EnvironmentVariables): Readonly<Record<string, ProviderEntry>> =>
  Object.fromEntries(
    knownProviders
      .filter(({ variable }) => variables.has(variable))
      .map(({ name, variable, ...entry }) => [name, { ...entry, api_key: variables.read(variable)! }]),
  )

const urlOf = ({ base_url }: AnyEntry): string => base_url.replace(/\/+$/, '')

const providersFrom = (
  file: ConfigFile,
  variables: EnvironmentVariables,
  role: ProcessRole,
): readonly ProviderConfig[] => {
  if (!callsUpstream(role)) return []
  return Object.entries(file.providers ?? withKeysFrom(variables)).flatMap(([name, entry]) =>
    isVendor(entry)
      ? []
      : [
          {
            name,
            dialect: entry.dialect,
            profile: entry.profile ?? resolveProfile(name),
            baseUrl: urlOf(entry),
            apiKey: entry.api_key,
            models: entry.models ?? {},
          },
        ],
  )
}

const credentialOf = ({ api_key, access_key, secret_key }: VendorEntry): VendorCredential =>
  api_key === undefined
    ? { type: 'pair', accessKey: access_key!, secretKey: secret_key! }
    : { type: 'key', apiKey: api_key }

const videoVendorsFrom = ({ providers = {} }: ConfigFile, role: ProcessRole): readonly VideoVendorConfig[] => {
  if (!callsVendors(role)) return []
  return Object.entries(providers).flatMap(([name, entry]) => {
    if (!isVendor(entry)) return []
    const { calls_per_second: callsPerSecond = sharedLimits.vendorCallsPerSecond } = entry
    return [{ name, baseUrl: urlOf(entry), credential: credentialOf(entry), callsPerSecond }]
  })
}

const catalogProviderOf = (name: string, entry: Entry): CatalogProvider => {
  const { models = {} } = entry
  if (isVendor(entry)) return { models, surfaces: ['video'] }
  const { dialect, profile = resolveProfile(name) } = entry
  return { models, surfaces: resolveSurfaces(dialect, profile), profile }
}

const catalogProviderNamed = (name: string): CatalogProvider => {
  const profile = resolveProfile(name)
  return { models: {}, surfaces: resolveSurfaces(resolveDialect(name), profile), profile }
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
  const names = (providers.length > 0 ? providers : knownProviders).map(({ name }) => name)
  return new Map<string, CatalogProvider>([
    ...names.map((name) => [name, catalogProviderNamed(name)] as const),
    ...(sandbox ? [[sandboxVendor, { models: {}, surfaces: ['video'] }] as const] : []),
  ])
}

const callbacksFrom = ({ callbacks = {} }: ConfigFile, areEmbedded: boolean, signs: boolean): Config['callbacks'] => {
  const { secret, allow_private_addresses: allowPrivateAddresses = false } = callbacks
  if (secret === undefined && !areEmbedded) return null
  return { secret: signs && secret !== undefined ? secret : null, allowPrivateAddresses }
}

const tlsFrom = (tls: NonNullable<ConfigFile['nats']>['tls'], folder: string): TlsFiles | undefined => {
  if (tls === undefined) return undefined
  const { ca_file, cert_file, key_file } = tls
  return {
    ...(ca_file === undefined ? {} : { caFile: resolve(folder, ca_file) }),
    ...(cert_file === undefined ? {} : { certFile: resolve(folder, cert_file) }),
    ...(key_file === undefined ? {} : { keyFile: resolve(folder, key_file) }),
  }
}

/** With the variable or path in the file that holds it: problems name that, since the text may hold a password. */
interface Address {
  readonly path: string
  readonly text: string
}

interface Addresses {
  readonly database: Address | undefined
  readonly nats: Address | undefined
  readonly monitoring: Address | undefined
}

const addressesFrom = (file: ConfigFile, variables: EnvironmentVariables, role: ProcessRole): Addresses => {
  const addressAt = (variable: string, path: string, inFile: string | undefined): Address | undefined => {
    const inEnvironment = variables.read(variable)
    if (inEnvironment !== undefined) return { path: variable, text: inEnvironment }
    return inFile === undefined ? undefined : { path, text: inFile }
  }
  return {
    database: readsDatabase(role) ? addressAt('DATABASE_URL', 'database_url', file.database_url) : undefined,
    nats: addressAt('NATS_URL', 'nats.url', file.nats?.url),
    monitoring: addressAt('NATS_MONITORING_URL', 'nats.monitoring_url', file.nats?.monitoring_url),
  }
}

const isPercentEncoded = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const urlWith = (text: string, protocols: readonly string[]): URL | null => {
  const url = URL.parse(text)
  if (url === null || !protocols.includes(url.protocol)) return null
  return [url.username, url.password, url.hostname, url.pathname].every(isPercentEncoded) ? url : null
}

/** An unescaped `#`, `?` or `/` in a password ends the host before it: the rest is no part of such an address. */
const isNatsServer = (text: string): boolean => {
  const url = urlWith(text, ['nats:', 'tls:'])
  if (url === null || url.hostname === '') return false
  return ['', '/'].includes(url.pathname) && url.search === '' && url.hash === ''
}

const isDatabase = (text: string): boolean => {
  const url = urlWith(text, ['postgres:', 'postgresql:'])
  if (url === null || url.hash !== '' || url.pathname.includes('@')) return false
  return url.username !== '' || !url.search.includes('@')
}

const isMonitoring = (text: string): boolean => {
  const url = urlWith(text, ['http:', 'https:'])
  return url !== null && url.hash === '' && !text.includes('@')
}

const encoding = 'what is special in a user or password is percent-encoded, as # is by %23'

/** Problems name where an address is set, and never its text. */
const problemsOfAddresses = ({ database, nats, monitoring }: Addresses): readonly ConfigProblem[] => {
  const check = (
    address: Address | undefined,
    isRight: (text: string) => boolean,
    message: string,
  ): readonly ConfigProblem[] =>
    address === undefined || isRight(address.text) ? [] : [{ path: address.path, message }]
  const areNatsServers = (text: string): boolean => text.split(',').every((each) => isNatsServer(each.trim()))
  return [
    ...check(database, isDatabase, `must be a postgres:// or postgresql:// URL; ${encoding}`),
    ...check(nats, areNatsServers, `must be nats:// or tls:// URLs with a host, separated by commas; ${encoding}`),
    ...check(monitoring, isMonitoring, 'must be an http:// or https:// URL without a user'),
  ]
}

const areEmbedded = ({ database, nats }: Addresses): boolean => database === undefined && nats === undefined

const problemsOfServers = (addresses: Addresses, role: ProcessRole): readonly ConfigProblem[] => {
  const { database, nats } = addresses
  if (areEmbedded(addresses) || (nats !== undefined && (database !== undefined || !readsDatabase(role)))) return []
  const message = 'set both DATABASE_URL and NATS_URL, or neither for embedded servers'
  return [{ path: nats === undefined ? 'nats.url' : 'database_url', message }]
}

/** A deployment without its keys must not answer with the sandbox's text, and bill it. */
const problemsOfProviders = (isConfigured: boolean, isSandboxAllowed: boolean): readonly ConfigProblem[] => {
  if (isConfigured || isSandboxAllowed) return []
  const variables = knownProviders.map(({ variable }) => variable).join(', ')
  const message = `none is configured: set one of ${variables}, or name them in the file; \`sandbox: true\` answers without any`
  return [{ path: 'providers', message }]
}

const externalFrom = (file: ConfigFile, addresses: Addresses, folder: string): External | null => {
  const { database, nats, monitoring } = addresses
  if (nats === undefined) return null
  const { user, password, credentials_file, tls } = file.nats ?? {}
  return {
    databaseUrl: database?.text ?? null,
    nats: {
      url: nats.text,
      monitoringUrl: monitoring?.text,
      user,
      password,
      credentialsFile: credentials_file === undefined ? undefined : resolve(folder, credentials_file),
      tls: tlsFrom(tls, folder),
    },
  }
}

/** Files whose whole content is a secret, of those that the role reads. */
const secretFilesOf = (
  { audit }: ConfigFile,
  external: External | null,
  { folder, role }: { readonly folder: string; readonly role: ProcessRole },
): readonly string[] => {
  const signingKey = seals(role) ? audit?.signing_key_file : undefined
  const files = [external?.nats.credentialsFile, external?.nats.tls?.keyFile, signingKey]
  return files.filter((file) => file !== undefined).map((file) => resolve(folder, file))
}

/** Null, and a problem, where the text cannot be parsed. */
const parsedAt = <T>(path: string, problems: ConfigProblem[], parse: () => T): T | null => {
  try {
    return parse()
  } catch (fault) {
    problems.push({ path, message: faultText(fault) })
    return null
  }
}

interface AuditReading {
  readonly folder: string
  readonly role: ProcessRole
  readonly logName: string
  readonly problems: ConfigProblem[]
}

const signerFrom = (
  { signing_key: key, signing_key_file: file }: NonNullable<ConfigFile['audit']>,
  origin: string,
  { folder, role, problems }: AuditReading,
): Signer | null => {
  if (key !== undefined && file !== undefined)
    problems.push({ path: 'audit.signing_key_file', message: 'stands beside signing_key; one of them is the key' })
  if (!seals(role)) return null
  if (key !== undefined) return parsedAt('audit.signing_key', problems, () => parseSigningKey(origin, key))
  if (file === undefined) return null
  return parsedAt('audit.signing_key_file', problems, () =>
    parseSigningKey(origin, readFileSync(resolve(folder, file), 'utf8')),
  )
}

/** The keys must be one pair: checkpoints are signed with one and checked with the other. */
const problemsOfPublicKey = (
  verifier: Verifier | null,
  origin: string,
  signer: Signer | null,
): readonly ConfigProblem[] => {
  const path = 'audit.public_key'
  if (verifier === null) return []
  if (verifier.name !== origin) return [{ path, message: `is of the log ${verifier.name}, not of ${origin}` }]
  if (signer === null || deriveVerifier(signer).publicKey.equals(verifier.publicKey)) return []
  return [{ path, message: `is not that of the signing key, which is ${verifierText(deriveVerifier(signer))}` }]
}

const auditFrom = ({ audit = {} }: ConfigFile, reading: AuditReading): AuditConfig => {
  const { problems, logName } = reading
  const { sealing = true, public_key: publicKey, previous_public_keys: previous = [] } = audit
  const verifier =
    publicKey === undefined ? null : parsedAt('audit.public_key', problems, () => parseVerifier(publicKey))
  const origin = audit.origin ?? verifier?.name ?? `gateway.local/${logName.toLowerCase()}`
  const signer = signerFrom(audit, origin, reading)
  problems.push(...problemsOfPublicKey(verifier, origin, signer))
  return {
    sealing,
    origin,
    signer,
    verifier: signer === null ? verifier : deriveVerifier(signer),
    previous: previous.flatMap(
      (text, place) => parsedAt(`audit.previous_public_keys[${place}]`, problems, () => parseVerifier(text)) ?? [],
    ),
  }
}

const problemsOfAdmins = (tokens: NonNullable<NonNullable<ConfigFile['admin']>['tokens']>): readonly ConfigProblem[] =>
  tokens.flatMap(({ name, token }, index) => {
    const path = `admin.tokens[${index}]`
    const before = tokens.slice(0, index)
    const least = configLimits.adminTokenCharactersMin
    return [
      ...(token.length < least ? [{ path: `${path}.token`, message: `has fewer than ${least} characters` }] : []),
      ...(before.some((each) => each.name === name) ? [{ path: `${path}.name`, message: 'stands there twice' }] : []),
      ...(before.some((each) => each.token === token)
        ? [{ path: `${path}.token`, message: 'stands there twice' }]
        : []),
    ]
  })

const adminsFrom = (
  { admin: { tokens = [] } = {} }: ConfigFile,
  role: ProcessRole,
  problems: ConfigProblem[],
): readonly Administrator[] => {
  if (!administers(role)) return []
  problems.push(...problemsOfAdmins(tokens))
  return tokens.map(({ name, token }) => ({ name, sha256: hash('sha256', token) }))
}

const observeFrom = ({ observe = {} }: ConfigFile, asked: number | 'off' | undefined): Config['observe'] => {
  const port = asked ?? observe.port ?? null
  return port === 'off' ? null : { host: observe.host ?? '127.0.0.1', port }
}

const everyAddress = ['0.0.0.0', '::']

/** Otherwise one of the two fails to listen, with an error that does not mention the other. */
const problemsOfPorts = (
  listen: Config['listen'],
  observe: Config['observe'],
  role: ProcessRole,
): readonly ConfigProblem[] => {
  if (observe === null || !answersClients(role) || listen.port === 0) return []
  const hosts = [listen.host, observe.host]
  const meet = listen.host === observe.host || hosts.some((host) => everyAddress.includes(host))
  if (!meet || listen.port !== observe.port) return []
  return [
    { path: 'observe.port', message: `is the port of the API, ${listen.port}: metrics and health have their own` },
  ]
}

const msOf = (seconds: number | undefined): number | undefined => (seconds === undefined ? undefined : seconds * 1000)

/** Every model is also known by its bare name, unless the file lists aliases. */
const bareNames = (prices: PriceFile): Readonly<Record<string, string>> =>
  Object.fromEntries(prices.prices.map(({ model }) => [model.slice(model.indexOf('/') + 1), model]))

/** `file`, or `gateway.yaml` where there is one, and the environment. Throws ConfigError with every mistake. */
export const readConfig = (
  env: Environment,
  options: {
    readonly file?: string | undefined
    readonly port?: number | undefined
    readonly observePort?: number | 'off' | undefined
    readonly drainSeconds?: number | undefined
    readonly dataFolder?: string | undefined
    /** Default: the whole gateway. */
    readonly role?: ProcessRole | undefined
    /** Reads the callback secret, for a role that otherwise does not. */
    readonly callbackSecret?: boolean | undefined
  } = {},
): Config => {
  const { role = 'gateway', callbackSecret = signsCallbacks(role) } = options
  const variables = new EnvironmentVariables(env)
  const named = options.file ?? env['GATEWAY_CONFIG']
  const source = named ?? defaultConfigFile
  if (named !== undefined && !existsSync(named)) throw new ConfigError(named, [{ path: '', message: 'no such file' }])
  const file: ConfigFile = existsSync(source) ? parseConfigFile(source, variables, { role, signs: callbackSecret }) : {}
  const folder = dirname(source)
  const prices = readPriceFile(file.prices === undefined ? shippedPrices : resolve(folder, file.prices))
  const providers = providersFrom(file, variables, role)
  const addresses = addressesFrom(file, variables, role)
  if (variables.problems.length > 0) throw new ConfigError('the environment', variables.problems)
  const logName = file.log?.name ?? 'GATEWAY'
  const problemsOfAudit: ConfigProblem[] = []
  const audit = auditFrom(file, { folder, role, logName, problems: problemsOfAudit })
  const problemsOfTokens: ConfigProblem[] = []
  const admins = adminsFrom(file, role, problemsOfTokens)
  const isConfigured = file.providers !== undefined || knownProviders.some(({ variable }) => variables.has(variable))
  const isSandboxAllowed = file.sandbox ?? areEmbedded(addresses)
  const sandbox = !isConfigured && isSandboxAllowed
  const listen = { host: file.listen?.host ?? '127.0.0.1', port: options.port ?? file.listen?.port ?? 8787 }
  const observe = observeFrom(file, options.observePort)
  const problems = [
    ...problemsOfPorts(listen, observe, role),
    ...problemsOfAudit,
    ...problemsOfTokens,
    ...problemsOfAddresses(addresses),
    ...problemsOfServers(addresses, role),
    ...problemsOfProviders(isConfigured, !callsUpstream(role) || isSandboxAllowed),
  ]
  if (problems.length > 0) throw new ConfigError('the configuration', problems)
  const external = externalFrom(file, addresses, folder)
  for (const secretFile of secretFilesOf(file, external, { folder, role })) variables.noteSecretFile(secretFile)
  return Object.freeze({
    listen,
    dataFolder: resolve(options.dataFolder ?? env['GATEWAY_DATA'] ?? file.data_folder ?? 'data'),
    external,
    natsServerBin: env['NATS_SERVER_BIN'],
    log: {
      name: logName,
      replicas: file.log?.replicas ?? 1,
      durability: file.log?.durability ?? 'synced',
    },
    providers,
    videoVendors: videoVendorsFrom(file, role),
    sandbox,
    catalog: {
      providers: modelsByProvider(file, providers, sandbox),
      aliases: file.aliases ?? bareNames(prices),
      routers: file.routers ?? (file.providers === undefined ? defaultRouters : {}),
    },
    prices,
    requestsPerMinute: file.limits?.requests_per_minute ?? null,
    connectionsPerAddress: file.limits?.connections_per_address ?? null,
    requestDeadlineMs: msOf(file.limits?.request_deadline_seconds) ?? sharedLimits.requestDeadlineMs,
    taskDeadlineMs: msOf(file.limits?.task_deadline_seconds) ?? configLimits.taskDeadlineMs,
    callbacks: callbacksFrom(file, areEmbedded(addresses), callbackSecret),
    withdrawMs: msOf(file.limits?.withdraw_seconds) ?? sharedLimits.withdrawMs,
    drainMs: msOf(options.drainSeconds ?? file.limits?.drain_seconds) ?? sharedLimits.stopMs,
    audit,
    admins,
    logLevel: file.log_level ?? 'info',
    logRequests: file.log_requests ?? true,
    observe,
    exposedFiles: variables.exposed,
  })
}
