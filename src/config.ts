import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseDocument } from 'yaml'
import { type PriceFile, problemsOfPriceFile } from './domain/pricing/price-file.ts'
import type { ProviderDialect } from './providers/provider.ts'
import { validatorOf } from './schema-validation.ts'

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
  /** Null: embedded servers are started under the data folder. */
  readonly external: { readonly databaseUrl: string; readonly nats: NatsConfig } | null
  readonly natsServerBin: string | undefined
  readonly log: { readonly name: string; readonly replicas: number; readonly durability: 'synced' | 'relaxed' }
  /** Empty: the sandbox provider answers. */
  readonly providers: readonly ProviderConfig[]
  readonly aliases: Readonly<Record<string, string>>
  readonly routers: Readonly<Record<string, { readonly candidates: readonly string[] }>>
  readonly prices: PriceFile
  readonly requestsPerMinute: number | null
  readonly logLevel: string
}

export interface NatsConfig {
  readonly url: string
  readonly monitoringUrl: string | undefined
  readonly user: string | undefined
  readonly password: string | undefined
  readonly credentialsFile: string | undefined
}

/** What gateway.yaml holds, as `schemas/config.json` describes it. */
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
  }
  readonly log?: { readonly name?: string; readonly replicas?: number; readonly durability?: 'synced' | 'relaxed' }
  readonly providers?: Readonly<Record<string, ProviderEntry>>
  readonly aliases?: Readonly<Record<string, string>>
  readonly routers?: Config['routers']
  readonly prices?: string
  readonly limits?: { readonly requests_per_minute?: number }
  readonly log_level?: string
}

interface ProviderEntry {
  readonly dialect: ProviderDialect
  readonly profile?: UsageProfile
  readonly base_url: string
  readonly api_key: string
  readonly models?: Readonly<Record<string, string>>
}

/** What is wrong at a path of a file. */
export interface Problem {
  readonly path: string
  readonly message: string
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Every mistake of a configuration or price file at once. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[]

  constructor(file: string, problems: readonly Problem[]) {
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

const shippedPrices = fileURLToPath(new URL('../prices.json', import.meta.url))
const defaultConfigFile = 'gateway.yaml'

/** Providers that need nothing but a key, by the variable that holds it. */
const knownProviders: readonly (ProviderEntry & { readonly name: string; readonly variable: string })[] = [
  { name: 'openai', variable: 'OPENAI_API_KEY', dialect: 'openai', base_url: 'https://api.openai.com/v1', api_key: '' },
  { name: 'grok', variable: 'XAI_API_KEY', dialect: 'openai', base_url: 'https://api.x.ai/v1', api_key: '' },
  {
    name: 'google',
    variable: 'GEMINI_API_KEY',
    dialect: 'openai',
    base_url: 'https://generativelanguage.googleapis.com/v1beta/openai',
    api_key: '',
  },
]

const defaultProfiles: Readonly<Record<string, UsageProfile>> = {
  grok: 'xai',
  xai: 'xai',
  google: 'gemini',
  gemini: 'gemini',
}

const defaultRouters: Config['routers'] = {
  auto: { candidates: ['openai/gpt-5-mini', 'google/gemini-2.5-flash', 'grok/grok-4-fast'] },
}

/** Fills `${NAME}` in every text of the file; a variable that is not set is a problem at its path. */
const fillVariables = (value: unknown, path: string, env: Environment, problems: Problem[]): unknown => {
  if (typeof value === 'string')
    return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (match, name: string) => {
      const found = env[name]
      if (found === undefined || found === '')
        problems.push({ path, message: `the environment variable ${name} is not set` })
      return found || match // Told once, by what is missing.
    })
  if (Array.isArray(value)) return value.map((each, index) => fillVariables(each, `${path}[${index}]`, env, problems))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      fillVariables(each, path === '' ? key : `${path}.${key}`, env, problems),
    ]),
  )
}

const bareVariable = /(?<=[:,[{]\s*)\$\{\w+\}(?=\s*(?:[,}\]]|$))/g

/** A bare `${NAME}` would open a map in YAML's flow style. Lines that have quotes of their own stay as they are. */
const quoteVariables = (text: string): string =>
  text
    .split('\n')
    .map((line) => (/["']/.test(line) ? line : line.replace(bareVariable, '"$&"')))
    .join('\n')

const parseConfigFile = (file: string, env: Environment): ConfigFile => {
  const document = parseDocument(quoteVariables(readFileSync(file, 'utf8')), { prettyErrors: true })
  const [broken] = document.errors // The others follow from the first.
  if (broken !== undefined)
    throw new ConfigError(file, [{ path: '', message: `not YAML: ${broken.message.split('\n')[0]}` }])
  const problems: Problem[] = []
  const filled = fillVariables(document.toJS() ?? {}, '', env, problems)
  problems.push(...validatorOf('config.json', { every: true })(filled))
  if (problems.length === 0) problems.push(...problemsOfNames(filled as ConfigFile))
  if (problems.length > 0) throw new ConfigError(file, problems)
  return filled as ConfigFile
}

/** Aliases and routers must lead to a provider that is configured. */
const problemsOfNames = ({ providers, aliases = {}, routers = {} }: ConfigFile): readonly Problem[] => {
  if (providers === undefined) return []
  const known = (model: string): boolean => Object.hasOwn(providers, model.slice(0, model.indexOf('/')))
  const unknown = (path: string, model: string): Problem => ({
    path,
    message: `\`${model}\` names no configured provider`,
  })
  return [
    ...Object.entries(aliases)
      .filter(([, model]) => !known(model))
      .map(([alias, model]) => unknown(`aliases.${alias}`, model)),
    ...Object.entries(routers).flatMap(([router, { candidates }]) =>
      candidates.flatMap((candidate, index) =>
        known(candidate) || Object.hasOwn(aliases, candidate)
          ? []
          : [unknown(`routers.${router}.candidates[${index}]`, candidate)],
      ),
    ),
  ]
}

/** Reads and checks a price file. Throws ConfigError with every mistake. */
export const readPriceFile = (file: string): PriceFile => {
  const parsed = parseJsonFile(file)
  const problems = validatorOf('price-file.json', { every: true })(parsed)
  if (problems.length > 0) throw new ConfigError(file, problems)
  const mistakes = problemsOfPriceFile(parsed as PriceFile)
  if (mistakes.length > 0) throw new ConfigError(file, mistakes)
  return parsed as PriceFile
}

const parseJsonFile = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (fault) {
    throw new ConfigError(file, [{ path: '', message: fault instanceof Error ? fault.message : String(fault) }])
  }
}

const providersFrom = (file: ConfigFile, env: Environment): readonly ProviderConfig[] => {
  const entries: readonly (readonly [string, ProviderEntry])[] =
    file.providers !== undefined
      ? Object.entries(file.providers)
      : knownProviders
          .filter(({ variable }) => env[variable])
          .map((each) => [each.name, { ...each, api_key: env[each.variable]! }])
  return entries.map(([name, entry]) => ({
    name,
    dialect: entry.dialect,
    profile: entry.profile ?? defaultProfiles[name] ?? 'openai',
    baseUrl: entry.base_url.replace(/\/+$/, ''),
    apiKey: entry.api_key,
    models: entry.models ?? {},
  }))
}

const externalFrom = (file: ConfigFile, env: Environment): Config['external'] => {
  const databaseUrl = env['DATABASE_URL'] || file.database_url
  const natsUrl = env['NATS_URL'] || file.nats?.url
  if (databaseUrl === undefined && natsUrl === undefined) return null
  if (databaseUrl === undefined || natsUrl === undefined)
    throw new ConfigError('external servers', [
      {
        path: databaseUrl === undefined ? 'database_url' : 'nats.url',
        message: 'set both DATABASE_URL and NATS_URL, or neither for embedded servers',
      },
    ])
  const { monitoring_url, user, password, credentials_file } = file.nats ?? {}
  const monitoringUrl = env['NATS_MONITORING_URL'] || monitoring_url
  return { databaseUrl, nats: { url: natsUrl, monitoringUrl, user, password, credentialsFile: credentials_file } }
}

/** Every OpenAI model is also known by its bare name, unless the file says which aliases there are. */
const bareNames = (prices: PriceFile): Readonly<Record<string, string>> =>
  Object.fromEntries(
    prices.prices
      .filter(({ model }) => model.startsWith('openai/'))
      .map(({ model }) => [model.slice('openai/'.length), model]),
  )

/**
 * The configuration from a file (named, or `gateway.yaml` where there is one) and the environment, checked whole.
 * Throws ConfigError with every mistake and its path.
 */
export const readConfig = (
  env: Environment,
  options: {
    readonly file?: string | undefined
    readonly port?: number | undefined
    readonly dataFolder?: string | undefined
  } = {},
): Config => {
  const named = options.file ?? env['GATEWAY_CONFIG']
  const source = named ?? defaultConfigFile
  if (named !== undefined && !existsSync(named)) throw new ConfigError(named, [{ path: '', message: 'no such file' }])
  const file = existsSync(source) ? parseConfigFile(source, env) : {}
  const prices = readPriceFile(file.prices === undefined ? shippedPrices : resolve(dirname(source), file.prices))
  return Object.freeze({
    listen: { host: file.listen?.host ?? '127.0.0.1', port: options.port ?? file.listen?.port ?? 8787 },
    dataFolder: resolve(options.dataFolder ?? env['GATEWAY_DATA'] ?? file.data_folder ?? 'data'),
    external: externalFrom(file, env),
    natsServerBin: env['NATS_SERVER_BIN'],
    log: {
      name: file.log?.name ?? 'GATEWAY',
      replicas: file.log?.replicas ?? 1,
      durability: file.log?.durability ?? 'synced',
    },
    providers: providersFrom(file, env),
    aliases: file.aliases ?? bareNames(prices),
    routers: file.routers ?? (file.providers === undefined ? defaultRouters : {}),
    prices,
    requestsPerMinute: file.limits?.requests_per_minute ?? null,
    logLevel: file.log_level ?? 'info',
  })
}
