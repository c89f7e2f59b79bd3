import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { type Credentials, ensureCredentials } from './credentials.ts'
import { type FolderLock, lockFolder, openDataFolder } from './folder-lock.ts'
import { withFreshPorts } from './free-ports.ts'
import { embeddedLimits } from './limits.ts'
import { findNatsServer, hasDiskSpace, natsArguments, readWriteError, startNats } from './nats.ts'
import { findPostgres, postgresArguments, startPostgres } from './postgres.ts'
import { endProcess, identify, isAlive, type ProcessIdentity, pidsWithArguments } from './processes.ts'
import {
  type EmbeddedAddresses,
  readRecord,
  removeRecord,
  type ServerName,
  type ServerRecord,
  writeRecord,
} from './record.ts'
import { type ServerCommand, type ServerExit, ServerProcess, stopSignals } from './server-process.ts'

export { readCallbackSecret } from './credentials.ts'
export type { EmbeddedAddresses as Addresses } from './record.ts'
export type { ServerExit } from './server-process.ts'

interface EmbeddedOptions {
  readonly dataFolder: string
  readonly clock: Clock
  readonly logger: Logger
  readonly natsServerBin?: string | undefined
  readonly onChildExit?: (exit: ServerExit) => void
}

export interface Embedded extends EmbeddedAddresses {
  stop(): Promise<void>
}

interface OrphanedServer extends ProcessIdentity {
  readonly name: ServerName
}

const findServersByArguments = (name: ServerName, ending: readonly string[]): OrphanedServer[] =>
  pidsWithArguments(ending).map((pid) => ({ name, ...identify(pid) }))

// A gateway killed between spawn and record left a server that is not recorded; its command line shows it.
const findOrphanedServers = (folder: string, recorded: readonly ServerRecord[]): OrphanedServer[] => {
  const found: OrphanedServer[] = [
    ...recorded.filter(isAlive),
    ...findServersByArguments('postgres', postgresArguments(folder)),
    ...findServersByArguments('nats', natsArguments(folder)),
  ]
  return [...new Map(found.map((server) => [server.pid, server])).values()]
}

const stopOrphanedServer = async (server: OrphanedServer, logger: Logger): Promise<void> => {
  logger.log('embedded.orphan_server_stopped', { name: server.name, pid: server.pid })
  await endProcess(server, stopSignals[server.name])
}

/** They stay recorded until each has ended. */
const stopOrphanedServers = async (folder: string, logger: Logger): Promise<void> => {
  const recorded = readRecord(folder)?.servers ?? []
  writeRecord(folder, { owner: identify(process.pid), servers: recorded, addresses: null })
  await Promise.all(findOrphanedServers(folder, recorded).map((server) => stopOrphanedServer(server, logger)))
}

class EmbeddedServers {
  readonly #folder: string
  readonly #lock: FolderLock
  readonly #options: EmbeddedOptions
  readonly #servers = new Map<ServerName, ServerProcess>()
  #restarting: ServerProcess | null = null
  #isCheckingHealth = false
  #healthTimer: NodeJS.Timeout | undefined
  #stopped: Promise<void> | null = null

  constructor(folder: string, lock: FolderLock, options: EmbeddedOptions) {
    this.#folder = folder
    this.#lock = lock
    this.#options = options
  }

  async start(): Promise<EmbeddedAddresses> {
    process.once('exit', this.#signalStop)
    const addresses = await this.#startServers(ensureCredentials(this.#folder))
    this.#writeRecord(addresses)
    for (const server of this.#servers.values()) this.#watch(server)
    this.#healthTimer = setInterval(
      () => void this.#restartNatsAfterDiskFull(addresses),
      embeddedLimits.embeddedHealthMs,
    ).unref()
    return addresses
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #startServers({ databasePassword, natsPassword }: Credentials): Promise<EmbeddedAddresses> {
    const folder = this.#folder
    const [natsServer, postgres] = await Promise.all([
      findNatsServer(this.#options.natsServerBin, this.#options.logger),
      findPostgres(folder),
    ])
    const starts = [
      withFreshPorts(() => startPostgres(folder, databasePassword, postgres, this.#spawn)),
      withFreshPorts(() => startNats(folder, natsPassword, natsServer, this.#spawn)),
    ] as const
    await Promise.allSettled(starts) // If one fails, the others must not still be starting afterwards.
    const [databaseUrl, nats] = await Promise.all(starts)
    return { databaseUrl, ...nats }
  }

  readonly #spawn = (command: ServerCommand): ServerProcess => {
    const server = new ServerProcess(command)
    this.#servers.set(command.name, server) // Replaces one that had lost its port.
    this.#writeRecord(null)
    return server
  }

  #writeRecord(addresses: EmbeddedAddresses | null): void {
    const servers = [...this.#servers.values()].map((server) => server.record)
    writeRecord(this.#folder, { owner: identify(process.pid), servers, addresses })
  }

  #watch(server: ServerProcess): void {
    server.exited.then((exit) => {
      if (server !== this.#restarting) this.#onChildExited(exit)
    })
  }

  /** A nats-server whose disk was full writes no more by itself, even when there is room again. */
  async #restartNatsAfterDiskFull(addresses: EmbeddedAddresses): Promise<void> {
    const server = this.#servers.get('nats')
    if (this.#isCheckingHealth || server === undefined) return
    this.#isCheckingHealth = true
    try {
      const reason = await readWriteError(addresses)
      if (reason !== null && (await hasDiskSpace(this.#folder))) await this.#restart(server, addresses, reason)
    } catch (fault) {
      this.#options.logger.log('embedded.nats_restart_failed', { fault })
    } finally {
      this.#isCheckingHealth = false
    }
  }

  async #restart(server: ServerProcess, addresses: EmbeddedAddresses, reason: string): Promise<void> {
    this.#options.logger.log('embedded.nats_restarted', { reason })
    this.#restarting = server
    try {
      await server.stop()
    } finally {
      this.#restarting = null
    }
    if (this.#stopped !== null) return
    try {
      this.#watch(this.#spawn(server.command))
    } catch (fault) {
      this.#onChildExited(await server.exited)
      throw fault
    }
    this.#writeRecord(addresses)
  }

  #onChildExited(exit: ServerExit): void {
    if (this.#stopped !== null) return
    this.#options.logger.log('embedded.server_exited', exit)
    this.#options.onChildExit?.(exit)
  }

  // On an exit without stop(), as on an uncaught error, the servers must not run on; the next start awaits their end.
  readonly #signalStop = (): void => {
    for (const server of this.#servers.values()) server.signalStop()
  }

  async #stop(): Promise<void> {
    clearInterval(this.#healthTimer)
    try {
      await Promise.all(Array.from(this.#servers.values(), (server) => server.stop()))
      removeRecord(this.#folder)
    } finally {
      process.off('exit', this.#signalStop)
      this.#lock.release()
    }
  }
}

/** Locks the data folder until `stop` or the process's end, and first stops what a killed gateway left running. */
export const startEmbedded = async (options: EmbeddedOptions): Promise<Embedded> => {
  const { clock, logger } = options
  const startedAtMs = clock()
  const folder = openDataFolder(options.dataFolder)
  const lock = lockFolder(folder)
  try {
    await stopOrphanedServers(folder, logger)
  } catch (error) {
    lock.release()
    throw error
  }
  const servers = new EmbeddedServers(folder, lock, options)
  try {
    const addresses = await servers.start()
    logger.log('embedded.servers_ready', { dataFolder: folder, tookMs: clock() - startedAtMs })
    return { ...addresses, stop: () => servers.stop() }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

/** The servers may belong to any living process; null when none is ready. */
export const findEmbedded = async (dataFolder: string): Promise<EmbeddedAddresses | null> => {
  const record = readRecord(dataFolder)
  return record !== null && isAlive(record.owner) ? record.addresses : null
}
