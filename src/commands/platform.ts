import type { Config, NatsConfig } from '../config.ts'
import { initialLedger, type Ledger } from '../domain/ledger/ledger.ts'
import { findEmbedded, startEmbedded } from '../infrastructure/embedded/embedded.ts'
import { connectNats } from '../infrastructure/nats/connect.ts'
import { type OpenLog, openLog } from '../infrastructure/nats/log.ts'
import { defaultSchema, type Place } from '../infrastructure/postgres/connection.ts'
import { type Database, openDatabase } from '../infrastructure/postgres/database.ts'
import { limits } from '../limits.ts'
import { LedgerTail } from '../roles/ledger-tail.ts'
import type { Runtime } from './runtime.ts'

/** The servers a process stands on, and what it has open there. */
export interface Platform {
  readonly log: OpenLog
  readonly database: Database
  /** Where the live tables are. */
  readonly place: Place
  stop(): Promise<void>
}

interface Servers {
  readonly databaseUrl: string
  readonly nats: NatsConfig
  stop(): Promise<void>
}

const embeddedNats = (url: string, monitoringUrl: string): NatsConfig => ({
  url,
  monitoringUrl,
  user: undefined,
  password: undefined,
  credentialsFile: undefined,
})
const nothingToStop = async (): Promise<void> => undefined

/** External servers where they are configured, else those of a gateway that runs on the data folder, else servers of our own. */
const findServers = async (
  config: Config,
  { clock, logger }: Runtime,
  onFatal: (fault: Error) => void,
  adopt: boolean,
): Promise<Servers> => {
  if (config.external !== null) return { ...config.external, stop: nothingToStop }
  const { dataFolder, natsServerBin } = config
  const running = adopt ? await findEmbedded(dataFolder) : null
  if (running !== null)
    return {
      databaseUrl: running.databaseUrl,
      nats: embeddedNats(running.natsUrl, running.natsMonitoringUrl),
      stop: nothingToStop,
    }
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

const present = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

/**
 * Connects to the log and the database. `adopt` uses the embedded servers of a gateway that already runs; without it a second
 * process on the same data folder is refused. `role` names this process in the log.
 */
export const openPlatform = async (
  config: Config,
  runtime: Runtime,
  options: { readonly role: string; readonly adopt: boolean; readonly onFatal: (fault: Error) => void },
): Promise<Platform> => {
  const servers = await findServers(config, runtime, options.onFatal, options.adopt)
  try {
    const { url, monitoringUrl, user, password, credentialsFile } = servers.nats
    const connection = await connectNats({
      url,
      name: `gateway-${options.role}`,
      ...present({ user, password, credentialsFile }),
    })
    const log = await openLog({
      connection,
      ...config.log,
      role: options.role,
      monitoringUrl,
      ...runtime,
      onFatal: options.onFatal,
    })
    const database = openDatabase(servers.databaseUrl)
    return {
      log,
      database,
      place: { url: servers.databaseUrl, schema: defaultSchema },
      stop: async () => {
        await log.close(limits.stopMs)
        await connection.close()
        await database.close()
        await servers.stop()
      },
    }
  } catch (fault) {
    await servers.stop()
    throw fault
  }
}

/** The ledger as the tables have it; an empty one, to be replayed from the first frame, where they cannot be read. */
const snapshot = async ({ database }: Platform, { logger }: Runtime): Promise<Ledger> => {
  try {
    return (await database.projectionStore().load()).ledger
  } catch (fault) {
    logger.warn({ fault }, 'the read models cannot be read; the ledger is replayed from the first frame')
    return initialLedger()
  }
}

/** A ledger in memory that has caught up with the log and follows it. */
export const openTail = async (platform: Platform, runtime: Runtime): Promise<LedgerTail> => {
  const tail = new LedgerTail(await snapshot(platform, runtime), platform.log)
  await Promise.race([tail.reached(await platform.log.lastSequence()), tail.done])
  return tail
}
