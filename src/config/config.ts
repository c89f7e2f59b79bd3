import { hash } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseUsd } from '../domain/money.ts'
import type { PriceFile } from '../domain/pricing/price-file.ts'
import { faultText } from '../errors/gateway-error.ts'
import type { AdminRole } from '../http/admin-roles.ts'
import type { ProcessRole } from '../roles/role.ts'
import { type CertificateFiles, readCertificate } from '../runtime/certificate.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { alertDestinationsFrom } from './alerts.ts'
import { type AuditConfig, auditFrom } from './audit.ts'
import { ConfigError, type ConfigProblem } from './config-error.ts'
import { parseConfigContent, parseConfigText, sectionOf } from './config-file.ts'
import type { ConfigFile } from './config-file.types.ts'
import { type Environment, EnvironmentVariables } from './environment.ts'
import { configLimits } from './limits.ts'
import { readPriceFile } from './price-file.ts'
import { providersFrom } from './providers.ts'
import { administers, answersClients, seals, signsCallbacks } from './roles.ts'
import { type External, externalFrom } from './servers.ts'
import { type TelemetryConfig, telemetryFrom } from './telemetry.ts'
import { mebibyte } from './units.ts'
import { findConfigWarnings } from './warnings.ts'

export interface Config extends ReturnType<typeof providersFrom> {
  /** Those that it was read from. */
  readonly files: readonly string[]
  /** What was in them, secrets too. */
  readonly fileTexts: ReadonlyMap<string, string>
  /** The same from the present files, or from texts in place of them. Throws ConfigError. */
  readonly reread: (fileTexts?: ReadonlyMap<string, string>) => Config
  /** SHA-256 of each as the file has it; those of `limits` one by one. */
  readonly memberDigests: ReadonlyMap<string, string>
  readonly listen: {
    readonly host: string
    readonly port: number
    /** For the roles that answer clients; absent: plain HTTP. */
    readonly tls?: CertificateFiles | undefined
  }
  readonly dataFolder: string
  /** Null: embedded servers under the data folder. */
  readonly external: External | null
  readonly natsServerBin: string | undefined
  readonly log: { readonly name: string; readonly replicas: number; readonly durability: 'synced' | 'relaxed' }
  readonly prices: PriceFile
  readonly requestsPerMinute: number | null
  /** Per client address and edge; null: no bound of its own. */
  readonly connectionsPerAddress: number | null
  /** Of the bodies of open requests, at one edge; likewise of one workspace. */
  readonly openBytesMax: number
  readonly workspaceOpenBytesMax: number
  /** Of the stored outcomes of a workspace's idempotency keys. */
  readonly workspaceOutcomeBytesMax: number
  /** Of pages whose scripts may call the API. */
  readonly corsOrigins: readonly string[]
  /** Who invoices whom; null: no invoices are issued. */
  readonly invoicing: NonNullable<ConfigFile['invoices']> | null
  /** By their name; without secrets where the process sends no alerts. */
  readonly alertDestinations: ReturnType<typeof alertDestinationsFrom>
  /** What another administrator approves is above it; null: nothing. */
  readonly approvalAbovePicos: bigint | null
  /** Names of the tags that a request may carry. */
  readonly tagNames: readonly string[]
  readonly requestDeadlineMs: number
  readonly taskDeadlineMs: number
  /** Null: no callbacks are sent. */
  readonly callbacks: CallbacksConfig | null
  /** How long an edge that is stopping still takes requests, while it is not ready. */
  readonly withdrawMs: number
  /** How long requests in flight may run after that. */
  readonly drainMs: number
  readonly audit: AuditConfig
  /** Where the scheduler keeps what it signed last. */
  readonly auditStateFile: string
  /** Seals a log of which nothing is known to be signed. */
  readonly firstSeal: boolean
  /** Who may call the admin API, for the roles that serve it. Other roles never hold a token. */
  readonly admins: readonly Administrator[]
  /** How people sign in to the page; null: with keys and tokens alone. Other roles never hold the secret. */
  readonly signIn: NonNullable<ConfigFile['sign_in']>['oidc'] | null
  readonly logLevel: string
  readonly demo: boolean
  /** Null: one process serves all. */
  readonly workers: number | 'auto' | null
  readonly logRequests: boolean
  /** Where operators get metrics and health; null: nowhere. */
  readonly observe: ObserveConfig | null
  /** Null: nothing is sent to an OTLP receiver. */
  readonly telemetry: TelemetryConfig | null
  /** Files with secrets that every user of this machine can read. */
  readonly exposedFiles: readonly string[]
  /** Members of the file that act otherwise than they read. */
  readonly warnings: readonly ConfigProblem[]
}

interface ObserveConfig {
  readonly host: string
  /** 0: a free one. Null: `observePort` of the limits, or a free one where that is taken. */
  readonly port: number | null
}

/** The token itself is kept nowhere. */
export interface Administrator {
  readonly name: string
  /** Of the token, hex. */
  readonly sha256: string
  readonly role: AdminRole
}

interface CallbacksConfig {
  /** For the roles that sign; null: the data folder's. Other roles never hold it. */
  readonly secret: string | null
  readonly allowPrivateAddresses: boolean
}

const shippedPrices = fileURLToPath(new URL('../../prices.json', import.meta.url))
const defaultConfigFile = 'gateway.yaml'

const callbacksFrom = ({ callbacks = {} }: ConfigFile, areEmbedded: boolean, signs: boolean): Config['callbacks'] => {
  const { secret, allow_private_addresses: allowPrivateAddresses = false } = callbacks
  if (secret === undefined && !areEmbedded) return null
  return { secret: signs && secret !== undefined ? secret : null, allowPrivateAddresses }
}

const secretFilesOf = (
  { audit, listen }: ConfigFile,
  external: External | null,
  { folder, role }: { readonly folder: string; readonly role: ProcessRole },
): readonly string[] => {
  const signingKey = seals(role) ? audit?.signing_key_file : undefined
  const listenKey = answersClients(role) ? listen?.tls?.key_file : undefined
  const files = [external?.nats.credentialsFile, external?.nats.tls?.keyFile, signingKey, listenKey]
  return files.filter((file) => file !== undefined).map((file) => resolve(folder, file))
}

const problemsOfAdmins = (tokens: NonNullable<NonNullable<ConfigFile['admin']>['tokens']>): readonly ConfigProblem[] =>
  tokens.flatMap(({ name, token }, index) => {
    const path = `admin.tokens[${index}]`
    const before = tokens.slice(0, index)
    const least = configLimits.adminTokenCharactersMin
    return [
      ...(token.length < least ? [{ path: `${path}.token`, message: `has fewer than ${least} characters` }] : []),
      ...(before.some((each) => each.name === name) ? [{ path: `${path}.name`, message: 'is listed twice' }] : []),
      ...(before.some((each) => each.token === token) ? [{ path: `${path}.token`, message: 'is listed twice' }] : []),
    ]
  })

const adminsFrom = (
  { admin: { tokens = [] } = {} }: ConfigFile,
  role: ProcessRole,
  problems: ConfigProblem[],
): readonly Administrator[] => {
  if (!administers(role)) return []
  problems.push(...problemsOfAdmins(tokens))
  return tokens.map(({ name, token, role: given = 'owner' }) => ({ name, sha256: hash('sha256', token), role: given }))
}

const picosOf = (usd: string | undefined): bigint | null => (usd === undefined ? null : parseUsd(usd))

const signInOf = ({ sign_in: signIn }: ConfigFile, role: ProcessRole): Config['signIn'] =>
  administers(role) ? (signIn?.oidc ?? null) : null

/** Read once here, so that a start with files that cannot be used ends before anything is started. */
const certificateFrom = (
  { listen }: ConfigFile,
  { folder, role }: { readonly folder: string; readonly role: ProcessRole },
  problems: ConfigProblem[],
): CertificateFiles | undefined => {
  if (listen?.tls === undefined || !answersClients(role)) return undefined
  const { cert_file, key_file } = listen.tls
  const files = { certFile: resolve(folder, cert_file), keyFile: resolve(folder, key_file) }
  try {
    readCertificate(files)
  } catch (fault) {
    problems.push({ path: 'listen.tls', message: faultText(fault) })
  }
  return files
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

const bytesOf = (mebibytes: number | undefined): number | undefined =>
  mebibytes === undefined ? undefined : mebibytes * mebibyte

const msOf = (seconds: number | undefined): number | undefined => (seconds === undefined ? undefined : seconds * 1000)

/** An empty price file, and its problems, where it cannot be used. */
const pricesFrom = (file: string, variables: EnvironmentVariables, problems: ConfigProblem[]): PriceFile => {
  try {
    return readPriceFile(file, (named) => variables.readFile(named))
  } catch (fault) {
    if (!(fault instanceof ConfigError)) throw fault
    problems.push(...fault.problems.map(({ path, message }) => ({ path: `prices: ${file} ${path}`.trim(), message })))
    return { prices: [] }
  }
}

const digestMembers = (content: object): Config['memberDigests'] => {
  const { limits = {}, ...others } = content as { readonly limits?: object }
  const ofLimits = Object.entries(limits ?? {}).map(([name, value]): [string, unknown] => [`limits.${name}`, value])
  const members: readonly [string, unknown][] = [...Object.entries(others), ...ofLimits]
  return new Map(members.map(([name, value]) => [name, hash('sha256', String(JSON.stringify(value)))]))
}

interface ReadOptions {
  readonly file?: string | undefined
  readonly port?: number | undefined
  readonly observePort?: number | 'off' | undefined
  readonly drainSeconds?: number | undefined
  readonly dataFolder?: string | undefined
  /** Default: the whole gateway. */
  readonly role?: ProcessRole | undefined
  /** Reads the callback secret, for a role that otherwise does not. */
  readonly callbackSecret?: boolean | undefined
  /** For a command that makes the keys of `audit`: those that the file names are not read. */
  readonly withoutKeys?: boolean | undefined
  readonly firstSeal?: boolean | undefined
  /** Read in place of the files, but not by `reread`. */
  readonly fileTexts?: Config['fileTexts'] | undefined
}

/** `file`, or `gateway.yaml` where there is one, and the environment. Throws ConfigError with every mistake. */
export const readConfig = (env: Environment, { fileTexts, ...options }: ReadOptions = {}): Config => {
  const { role = 'gateway', callbackSecret = signsCallbacks(role), withoutKeys = false } = options
  const variables = new EnvironmentVariables(env, fileTexts)
  const named = options.file ?? env['GATEWAY_CONFIG']
  const source = named ?? defaultConfigFile
  const isGiven = variables.hasFile(source)
  if (named !== undefined && !isGiven) throw new ConfigError(named, [{ path: '', message: 'no such file' }])
  const content = isGiven ? parseConfigText(source, variables.readFile(source)) : {}
  const parsed = parseConfigContent(content, source, variables, { role, signs: callbackSecret, withoutKeys })
  const file = parsed.content
  const [folder, found]: [string, ConfigProblem[]] = [dirname(source), []]
  const pricesFile = file.prices === undefined ? shippedPrices : resolve(folder, file.prices)
  const prices = pricesFrom(pricesFile, variables, found)
  const reading = { folder, role, variables, problems: found }
  const { external, areEmbedded } = externalFrom(file, reading)
  const providers = providersFrom(file, { ...reading, isSandboxDefault: areEmbedded, prices })
  const logName = file.log?.name ?? 'GATEWAY'
  const dataFolder = resolve(options.dataFolder ?? env['GATEWAY_DATA'] ?? file.data_folder ?? 'data')
  const audit = auditFrom(file, { folder, role, logName, problems: found })
  const [admins, alertDestinations] = [adminsFrom(file, role, found), alertDestinationsFrom(file, role, found)]
  const tls = certificateFrom(file, { folder, role }, found)
  const listen = { host: file.listen?.host ?? '127.0.0.1', port: options.port ?? file.listen?.port ?? 8787, tls }
  const [observe, telemetry] = [observeFrom(file, options.observePort), telemetryFrom(file, reading)]
  found.push(...problemsOfPorts(listen, observe, role))
  const problems = [
    ...parsed.problems,
    ...variables.problems,
    ...found.filter(({ path }) => !parsed.invalidSections.has(sectionOf(path))),
  ]
  if (problems.length > 0) throw new ConfigError(isGiven ? source : 'the configuration', problems)
  for (const secretFile of secretFilesOf(file, external, { folder, role })) variables.noteSecretFile(secretFile)
  return Object.freeze({
    listen,
    dataFolder,
    external,
    natsServerBin: env['NATS_SERVER_BIN'],
    log: { name: logName, replicas: file.log?.replicas ?? 1, durability: file.log?.durability ?? 'synced' },
    ...providers,
    ...{ files: [...new Set([source, pricesFile, ...variables.files])], fileTexts: variables.texts },
    reread: (texts?: Config['fileTexts']) => readConfig(env, { ...options, fileTexts: texts }),
    memberDigests: digestMembers(content as object),
    prices,
    requestsPerMinute: file.limits?.requests_per_minute ?? null,
    connectionsPerAddress: file.limits?.connections_per_address ?? null,
    openBytesMax: bytesOf(file.limits?.open_megabytes) ?? sharedLimits.openBytesMax,
    workspaceOpenBytesMax: bytesOf(file.limits?.workspace_open_megabytes) ?? sharedLimits.workspaceOpenBytesMax,
    workspaceOutcomeBytesMax:
      bytesOf(file.limits?.workspace_idempotency_megabytes) ?? sharedLimits.workspaceOutcomeBytesMax,
    corsOrigins: file.cors?.origins ?? [],
    ...{ tagNames: file.tags ?? [], invoicing: file.invoices ?? null, signIn: signInOf(file, role) },
    ...{ alertDestinations, approvalAbovePicos: picosOf(file.adjustments?.approval_above) },
    requestDeadlineMs: msOf(file.limits?.request_deadline_seconds) ?? sharedLimits.requestDeadlineMs,
    taskDeadlineMs: msOf(file.limits?.task_deadline_seconds) ?? configLimits.taskDeadlineMs,
    callbacks: callbacksFrom(file, areEmbedded, callbackSecret),
    withdrawMs: msOf(file.limits?.withdraw_seconds) ?? sharedLimits.withdrawMs,
    drainMs: msOf(options.drainSeconds ?? file.limits?.drain_seconds) ?? sharedLimits.stopMs,
    audit,
    auditStateFile:
      file.audit?.state === undefined ? join(dataFolder, 'audit.state') : resolve(folder, file.audit.state),
    firstSeal: options.firstSeal ?? false,
    ...{ logLevel: file.log_level ?? 'info', demo: file.demo ?? true, workers: file.workers ?? null },
    logRequests: file.log_requests ?? true,
    ...{ admins, observe, telemetry },
    ...{ exposedFiles: variables.exposed, warnings: findConfigWarnings(file, prices) },
  })
}
