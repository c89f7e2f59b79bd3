import { connectNats } from '../adapters/nats/connect.ts'
import { type OpenLog, openLog } from '../adapters/nats/log.ts'
import { ensureOutcomes, type OutcomesOptions } from '../adapters/nats/outcomes/open.ts'
import { ensureRates, type RatesOptions } from '../adapters/nats/rates/open.ts'
import { ensureWorkQueues, type QueueOptions } from '../adapters/nats/work-queue/open.ts'
import { defaultSchema, type SchemaLocation } from '../adapters/postgres/connection.ts'
import type { Database } from '../adapters/postgres/database.ts'
import type { Config, NatsConfig } from '../config/config.ts'
import { initialLedger, type Ledger } from '../domain/ledger/ledger.ts'
import { findEmbedded, readCallbackSecret, startEmbedded } from '../embedded/embedded.ts'
import { currentVersion, type EventType } from '../events/envelope.ts'
import { LedgerTail } from '../log/ledger-tail.ts'
import { assertSameLog, ForeignTables } from '../log/log-identity.ts'
import type { AllowedWriters } from '../log/read-frame.ts'
import { manifests } from '../roles/manifests.ts'
import type { ProcessRole } from '../roles/role.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { Observer } from '../runtime/observer.ts'
import { CommandError, UsageError } from './report.ts'
import type { Runtime } from './runtime.ts'
import { ShutdownStack } from './shutdown-stack.ts'

type NatsConnection = Awaited<ReturnType<typeof connectNats>>

/** The servers a process stands on, and what it has open there. */
export interface Platform {
  readonly log: OpenLog
  /** Null for a role that needs none. */
  readonly tables: DatabaseAccess | null
  /** One more connection to the servers of the log; whoever asks for it closes it. */
  connect(purpose: string): Promise<NatsConnection>
  /** What the work queues of the log are opened with, on a connection of their own. */
  readonly queues: Omit<QueueOptions, 'connection'>
  /** And what the rate records are. */
  readonly rates: Omit<RatesOptions, 'connection'>
  /** The same of the outcomes that idempotency keys stand for. */
  readonly outcomes: Omit<OutcomesOptions, 'connection'>
  stop(): Promise<void>
}

export interface DatabaseAccess {
  readonly database: Database
  /** Where the live tables are. */
  readonly place: SchemaLocation
}

/**
 * Which embedded servers do, where no external ones are configured: `own` are started here, `running` belong to a process that runs on
 * the data folder already, `any` are the running ones or else our own.
 */
export type EmbeddedChoice = 'own' | 'running' | 'any'

export interface PlatformOptions {
  /** Names this process in the log. */
  readonly role: ProcessRole
  readonly embedded: EmbeddedChoice
  /** Says nothing in the log, and so makes none. The projector never does. */
  readonly readOnly?: boolean
  /** How long a taker of work may be silent; `limits.queueLeaseMs`. */
  readonly queueLeaseMs?: number | undefined
  readonly observer?: Observer
  readonly onFatal: (fault: Error) => void
}

interface Servers {
  readonly databaseUrl: string | null
  readonly nats: NatsConfig
  stop(): Promise<void>
}

const embeddedNats = (url: string, monitoringUrl: string): NatsConfig => ({
  url,
  monitoringUrl,
  user: undefined,
  password: undefined,
  credentialsFile: undefined,
  tls: undefined,
})
const noStop = async (): Promise<void> => undefined

const findRunningServers = async ({ dataFolder }: Config): Promise<Servers | null> => {
  const running = await findEmbedded(dataFolder)
  if (running === null) return null
  const { databaseUrl, natsUrl, natsMonitoringUrl } = running
  return { databaseUrl, nats: embeddedNats(natsUrl, natsMonitoringUrl), stop: noStop }
}

const startOwnServers = async (
  { dataFolder, natsServerBin }: Config,
  { clock, logger }: Runtime,
  onFatal: PlatformOptions['onFatal'],
): Promise<Servers> => {
  const own = await startEmbedded({
    dataFolder,
    clock,
    logger,
    natsServerBin,
    onChildExit: (exit) => onFatal(new Error(`an embedded server ended: ${JSON.stringify(exit)}`)),
  })
  return {
    databaseUrl: own.databaseUrl,
    nats: embeddedNats(own.natsUrl, own.natsMonitoringUrl),
    stop: () => own.stop(),
  }
}

const findServers = async (config: Config, runtime: Runtime, options: PlatformOptions): Promise<Servers> => {
  if (config.external !== null) return { ...config.external, stop: noStop }
  const running = options.embedded === 'own' ? null : await findRunningServers(config)
  if (running !== null) return running
  if (options.embedded !== 'running') return startOwnServers(config, runtime, options.onFatal)
  throw new UsageError(
    `no servers: set DATABASE_URL and NATS_URL, or run \`gateway servers\` on the data folder ${config.dataFolder} first`,
  )
}

const omitUndefined = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

const everything: ReadonlySet<EventType> = new Set(Object.keys(currentVersion) as EventType[])

/** A role is believed what its manifest lists. The log keeps what was said: a journal that ever held a type must go on to be believed it. */
const typesByRole: { readonly [Role in ProcessRole]: ReadonlySet<EventType> } = {
  edge: new Set(manifests.edge),
  proxy: new Set(manifests.proxy),
  'video-poller': new Set(manifests['video-poller']),
  projector: new Set(manifests.projector),
  scheduler: new Set(manifests.scheduler),
  gateway: everything,
  operator: everything,
}

/** Whom every reader of the log believes what, from an archive as from the server. */
export const permittedEventTypes: AllowedWriters = new Map(Object.entries(typesByRole))

/** A role finds what stands: a name that is misspelt must not make another log. */
const createsStreams = (role: ProcessRole): boolean => role === 'gateway' || role === 'operator'

const openLogOn = (
  connection: NatsConnection,
  monitoringUrl: string | undefined,
  config: Config,
  runtime: Runtime,
  { role, readOnly = role === 'projector', observer, onFatal }: PlatformOptions,
): Promise<OpenLog> =>
  openLog({
    connection,
    ...config.log,
    role,
    readOnly,
    create: !readOnly && createsStreams(role),
    permittedTypes: permittedEventTypes,
    monitoringUrl,
    observer,
    ...runtime,
    onFatal,
  })

/** Loads what works with a database only where there is one: a proxy has none. */
const openTables = async (databaseUrl: string | null): Promise<DatabaseAccess | null> => {
  if (databaseUrl === null) return null
  const { openDatabase } = await import('../adapters/postgres/database.ts')
  return { database: openDatabase(databaseUrl), place: { url: databaseUrl, schema: defaultSchema } }
}

/** Connects to the log and, where the role has one, the database. */
export const openPlatform = async (config: Config, runtime: Runtime, options: PlatformOptions): Promise<Platform> => {
  const { role } = options
  const servers = await findServers(config, runtime, options)
  const { url, monitoringUrl, user, password, credentialsFile, tls } = servers.nats
  const connect: Platform['connect'] = (purpose) =>
    connectNats({ url, role, name: `gateway-${purpose}`, ...omitUndefined({ user, password, credentialsFile, tls }) })
  const opened = new ShutdownStack()
  opened.push(servers)
  try {
    const connection = await connect(role)
    opened.push({ stop: () => connection.close() })
    const log = await openLogOn(connection, monitoringUrl, config, runtime, options)
    opened.push({ stop: () => log.close(sharedLimits.stopMs) })
    const lease = omitUndefined({ leaseMs: options.queueLeaseMs })
    const outcomes = { ...config.log, role, create: createsStreams(role), monitoringUrl, ...runtime }
    const queues = { ...outcomes, ...lease }
    const rates = { ...config.log, role, ...runtime }
    if (outcomes.create && !options.readOnly) {
      await ensureWorkQueues({ ...queues, connection })
      await ensureRates({ ...rates, connection })
      await ensureOutcomes({ ...outcomes, connection })
    }
    const tables = await openTables(servers.databaseUrl)
    if (tables !== null) opened.push({ stop: () => tables.database.close() })
    return { log, tables, connect, queues, rates, outcomes, stop: () => opened.stop() }
  } catch (fault) {
    await opened.stop()
    throw fault
  }
}

const throwFatal = (fault: Error): void => {
  throw fault
}

type OperatorOptions = Pick<PlatformOptions, 'readOnly' | 'queueLeaseMs'>

/** The platform of an operator's command: on servers that run, or else on our own. Whatever ends these ends the process. */
export const openOperatorPlatform = (config: Config, runtime: Runtime, options: OperatorOptions): Promise<Platform> =>
  openPlatform(config, runtime, { role: 'operator', embedded: 'any', onFatal: throwFatal, ...options })

/** Runs `work` on an operator's platform, which is stopped behind it. */
export const withPlatform = async <T>(
  config: Config,
  runtime: Runtime,
  options: OperatorOptions,
  work: (platform: Platform) => Promise<T>,
): Promise<T> => {
  const platform = await openOperatorPlatform(config, runtime, options)
  try {
    return await work(platform)
  } finally {
    await platform.stop()
  }
}

/** What callbacks are signed with: as configured, or as the data folder keeps it; null where there is neither. */
export const findCallbackSecret = ({ callbacks, external, dataFolder }: Config): string | null =>
  callbacks?.secret ?? (external === null ? readCallbackSecret(dataFolder) : null)

/** The tables, for a role that has them. */
export const requireTables = ({ tables }: Platform): DatabaseAccess => {
  if (tables === null) throw new Error('this role was started without a database')
  return tables
}

/** By the code of a system call that failed, or of PostgreSQL's own refusal. */
const databaseErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'cannot be reached: connection refused',
  ECONNRESET: 'cannot be reached: the connection was reset',
  EHOSTUNREACH: 'cannot be reached: no route to the host',
  ENOTFOUND: 'cannot be reached: no such host name',
  EAI_AGAIN: 'cannot be reached: the host name cannot be looked up',
  ETIMEDOUT: 'cannot be reached: no answer',
  '28000': 'refuses this user',
  '28P01': 'refuses this user',
  '3D000': 'has no such database',
}

const describeDatabaseError = (fault: unknown): string | undefined => {
  if (!(fault instanceof Error)) return undefined
  if ('code' in fault) return databaseErrors[String(fault.code)]
  return /connect.*timeout|timeout.*connect/i.test(fault.message) ? 'does not answer' : undefined
}

/** Tells in words why the database at a URL, whose password is not told, cannot be worked with; any other fault passes as it is. */
export const withDatabaseErrors = async <T>(url: string, work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (fault) {
    const hindrance = describeDatabaseError(fault)
    if (hindrance === undefined) throw fault
    throw new CommandError(`PostgreSQL at ${new URL(url).host} ${hindrance}`, { cause: fault })
  }
}

/** The ledger as the tables have it; an empty one, to be replayed from the first frame, where they cannot be read. */
const loadSnapshot = async (platform: Platform, { logger }: Runtime): Promise<Ledger> => {
  const { log } = platform
  try {
    const found = await requireTables(platform).database.snapshot()
    if (found === null) return initialLedger()
    await assertSameLog(log, found, new AbortController().signal)
    return found.ledger
  } catch (fault) {
    if (fault instanceof ForeignTables) throw fault
    logger.warn({ fault }, 'the read models cannot be read; the ledger is replayed from the first frame')
    return initialLedger()
  }
}

/** A ledger in memory that has caught up with the log and follows it. */
export const openTail = async (platform: Platform, runtime: Runtime): Promise<LedgerTail> => {
  const tail = new LedgerTail(await loadSnapshot(platform, runtime), platform.log)
  await Promise.race([tail.reached(await platform.log.lastSequence()), tail.done])
  return tail
}
