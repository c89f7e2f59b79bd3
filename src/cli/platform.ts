import { existsSync } from 'node:fs'
import { buildInboxPrefix, connectNats, findPermissionViolation } from '../adapters/nats/connect.ts'
import { type EndUsersOptions, ensureEndUsers } from '../adapters/nats/end-users/open.ts'
import { type OpenLog, openLog } from '../adapters/nats/log.ts'
import { ensureOutcomes, type OutcomesOptions } from '../adapters/nats/outcomes/open.ts'
import { ensureRates, type RatesOptions } from '../adapters/nats/rates/open.ts'
import { openSnapshots } from '../adapters/nats/snapshots/open.ts'
import { ensureWorkQueues, type QueueOptions } from '../adapters/nats/work-queue/open.ts'
import { defaultSchema, type SchemaLocation } from '../adapters/postgres/connection.ts'
import type { Database } from '../adapters/postgres/database.ts'
import { emptyHead } from '../audit/signed-head.ts'
import { restoreLedger, type SnapshotStore } from '../audit/snapshots.ts'
import type { Config } from '../config/config.ts'
import type { NatsConfig } from '../config/servers.ts'
import { initialLedger, type Ledger } from '../domain/ledger/ledger.ts'
import { findEmbedded, readCallbackSecret, startEmbedded } from '../embedded/embedded.ts'
import { faultText } from '../errors/gateway-error.ts'
import { currentVersion, type EventType } from '../events/envelope.ts'
import { logFormat } from '../events/log-format.ts'
import { LedgerTail } from '../log/ledger-tail.ts'
import type { AllowedWriters } from '../log/read-frame.ts'
import { manifests } from '../roles/manifests.ts'
import { type ProcessRole, writerRoleOf } from '../roles/role.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { Observer } from '../runtime/observer.ts'
import { headStores, listLogVerifiers } from './audit-keys.ts'
import { CommandError, UsageError } from './report.ts'
import type { Runtime } from './runtime.ts'
import { ShutdownStack } from './shutdown-stack.ts'

type NatsConnection = Awaited<ReturnType<typeof connectNats>>

export interface Platform {
  readonly log: OpenLog
  /** Null for a role without a database. */
  readonly tables: DatabaseAccess | null
  /** From the newest snapshot that a checkpoint confirms, at that sequence or before it, or empty, to be replayed. */
  openLedger(sequenceMax?: number): Promise<Ledger>
  readonly snapshots: SnapshotStore
  /** One more connection to the servers of the log; the caller closes it. */
  connect(purpose: string): Promise<NatsConnection>
  readonly queues: Omit<QueueOptions, 'connection'>
  readonly rates: Omit<RatesOptions, 'connection'>
  readonly outcomes: Omit<OutcomesOptions, 'connection'>
  readonly endUsers: Omit<EndUsersOptions, 'connection'>
  stop(): Promise<void>
}

export interface DatabaseAccess {
  readonly database: Database
  readonly place: SchemaLocation
}

/** `own`: started here. `running`: of a process on the data folder. `any`: the running ones, or else our own. */
type EmbeddedChoice = 'own' | 'running' | 'any'

interface PlatformOptions {
  /** What the process runs as. */
  readonly role: ProcessRole
  readonly embedded: EmbeddedChoice
  /** Appends no events, and so does not create the log. Always so for the projector. */
  readonly readOnly?: boolean
  /** How long a worker may be silent; default: `queueLeaseMs`. */
  readonly queueLeaseMs?: number | undefined
  /** Whether a query may take as long as it needs: whole months are read. */
  readonly waits?: boolean
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

const everyType = Object.keys(currentVersion) as readonly EventType[]

/**
 * Accepted from each role, for every reader of the log, from an archive as from the server. Logs are kept: a journal that
 * ever held a type must keep it here.
 */
export const permittedEventTypes: AllowedWriters = new Map(
  [
    ...Object.entries({ ...manifests, gateway: everyType, operator: everyType }),
    ...Array.from({ length: logFormat - 1 }, (_, index) => [`format-${index + 2}`, ['LogFormatRaised']] as const),
  ].map(([role, types]) => [role, new Set<EventType>(types)]),
)

/** Other roles use existing streams: a misspelt name must not create another log. */
const createsStreams = (role: string): boolean => role === 'gateway' || role === 'operator'

const openLogOn = (
  connection: NatsConnection,
  monitoringUrl: string | undefined,
  config: Config,
  runtime: Runtime,
  { role: process, readOnly = process === 'projector', observer, onFatal }: PlatformOptions,
): Promise<OpenLog> => {
  const role = writerRoleOf(process)
  return openLog({
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
}

/** Imports the database code only where there is a database: a proxy has none. */
const openTables = async (databaseUrl: string | null, waits: boolean): Promise<DatabaseAccess | null> => {
  if (databaseUrl === null) return null
  const { openDatabase, patientPool } = await import('../adapters/postgres/database.ts')
  const options = waits ? patientPool : undefined
  return {
    database: openDatabase(databaseUrl, defaultSchema, options),
    place: { url: databaseUrl, schema: defaultSchema },
  }
}

/** Nothing of an empty log can have been signed: it needs no `--first-seal` later. */
const noteEmptyLog = async (
  config: Config,
  { log, tables }: Pick<Platform, 'log' | 'tables'>,
  { logger }: Runtime,
): Promise<void> => {
  if (!config.audit.sealing || (await log.lastSequence()) > 0) return
  for (const store of headStores(config, tables))
    try {
      if ((await store.read()) === null) await store.advance(emptyHead(config.audit.origin))
    } catch (fault) {
      logger.log('seal.state_unavailable', { fault })
    }
}

const createLedgerOpener =
  (config: Config, { log, snapshots }: Pick<Platform, 'log' | 'snapshots'>, { logger }: Runtime) =>
  async (sequenceMax?: number): Promise<Ledger> => {
    try {
      const ledger = await restoreLedger({
        store: snapshots,
        log,
        verifiers: listLogVerifiers(config),
        ...omitUndefined({ sequenceMax }),
        onRefused: ({ sequence }, fault) => logger.log('ledger.snapshot_refused', { sequence, fault }),
      })
      if (ledger === null) {
        if ((await log.lastSequence()) > 0) logger.log('ledger.replayed', {})
        return initialLedger()
      }
      logger.log('ledger.restored', { sequence: ledger.sequence })
      return ledger
    } catch (fault) {
      logger.log('ledger.snapshot_unavailable', { fault })
      return initialLedger()
    }
  }

/** The refusal of a role's inbox, as the user of another role gets it, names the user that is needed; any other fault is as it was. */
const describeNatsRefusal = (fault: unknown, role: string, user: string | undefined): unknown => {
  const violation = findPermissionViolation(fault)
  const isOfInbox = violation?.operation === 'subscription' && violation.subject.startsWith(buildInboxPrefix(role))
  if (!isOfInbox) return fault
  return new CommandError(
    `NATS refuses ${user === undefined ? 'this user' : `the user \`${user}\``} the replies to \`${role}\`: set \`nats.user\` and \`nats.password\` (GATEWAY_NATS_USER and GATEWAY_NATS_PASSWORD of deploy/gateway.yaml) to those of the user \`${role}\` of deploy/nats/accounts.conf`,
    { cause: fault },
  )
}

export const openPlatform = async (config: Config, runtime: Runtime, options: PlatformOptions): Promise<Platform> => {
  const role = writerRoleOf(options.role)
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
    const endUsers = { ...config.log, role }
    if (outcomes.create && !options.readOnly) {
      await ensureWorkQueues({ ...queues, connection })
      await ensureRates({ ...rates, connection })
      await ensureOutcomes({ ...outcomes, connection })
      await ensureEndUsers({ ...endUsers, connection })
    }
    const snapshots = await openSnapshots({
      connection,
      ...config.log,
      role,
      create: outcomes.create && options.readOnly !== true,
      logger: runtime.logger,
    })
    const tables = await openTables(servers.databaseUrl, options.waits === true)
    if (tables !== null) opened.push({ stop: () => tables.database.close() })
    if (outcomes.create && !options.readOnly) await noteEmptyLog(config, { log, tables }, runtime)
    const openLedger = createLedgerOpener(config, { log, snapshots }, runtime)
    return { log, tables, openLedger, snapshots, connect, queues, rates, outcomes, endUsers, stop: () => opened.stop() }
  } catch (fault) {
    await opened.stop()
    throw describeNatsRefusal(fault, role, user)
  }
}

const throwFatal = (fault: Error): void => {
  throw fault
}

/** After going back to that many frames. Those that stay all the same are refused: nothing confirms them. */
export const removeSnapshotsBeyond = ({ snapshots }: Pick<Platform, 'snapshots'>, frames: number): Promise<void> =>
  snapshots
    .removeBeyond(async () => frames)
    .catch((fault: unknown) => {
      console.error(`snapshots of a longer history were not removed, and are not used: ${faultText(fault)}`)
    })

type OperatorOptions = Pick<PlatformOptions, 'readOnly' | 'queueLeaseMs'>

/** For an operator's command: on running servers, or else on our own. A fatal fault of these ends the process. */
export const openOperatorPlatform = (config: Config, runtime: Runtime, options: OperatorOptions): Promise<Platform> =>
  openPlatform(config, runtime, { role: 'operator', embedded: 'any', waits: true, onFatal: throwFatal, ...options })

export const withPlatform = async <T>(
  config: Config,
  runtime: Runtime,
  options: OperatorOptions,
  work: (platform: Platform) => Promise<T>,
): Promise<T> => {
  if (config.external === null && !existsSync(config.dataFolder))
    throw new UsageError(
      `there is no data folder ${config.dataFolder}: name that of the gateway with --data; \`gateway serve\` makes one`,
    )
  const platform = await openOperatorPlatform(config, runtime, options)
  try {
    return await work(platform)
  } finally {
    await platform.stop()
  }
}

export const findCallbackSecret = ({ callbacks, external, dataFolder }: Config): string | null =>
  callbacks?.secret ?? (external === null ? readCallbackSecret(dataFolder) : null)

export const requireTables = ({ tables }: Platform): DatabaseAccess => {
  if (tables === null) throw new Error('this role was started without a database')
  return tables
}

/** Resolves when the ledger has caught up with the log; it then follows it. */
export const openTail = async (platform: Platform): Promise<LedgerTail> => {
  const tail = new LedgerTail(await platform.openLedger(), platform.log)
  await Promise.race([tail.waitForSequence(await platform.log.lastSequence()), tail.done])
  return tail
}
