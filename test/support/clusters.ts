import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { defaultSchema } from '../../src/adapters/postgres/connection.ts'
import { migrate } from '../../src/adapters/postgres/migrate.ts'
import { createRuntime } from '../../src/cli/runtime.ts'
import { startEmbedded } from '../../src/embedded/embedded.ts'

const copy = promisify(execFile)

const root = fileURLToPath(new URL('../..', import.meta.url))
const keptIn = join(root, 'node_modules', '.cache', 'clusters')

/** What decides how a cluster looks: where any of it changes, another is made. */
const sources = (): readonly string[] => [
  'package-lock.json',
  'src/adapters/postgres/migrate.ts',
  'src/embedded/embedded.ts',
  'src/embedded/postgres.ts',
  'test/support/postgres.ts',
  'test/support/clusters.ts',
  ...readdirSync(join(root, 'migrations')).map((name) => join('migrations', name)),
]

const versionOf = (names: readonly string[]): string => {
  const hash = createHash('sha256')
  for (const name of names) hash.update(name).update(readFileSync(join(root, name)))
  return hash.digest('hex').slice(0, 16)
}

/** Where the first of those who need it at once has put what `make` made. */
const kept = async (name: string, make: (folder: string) => Promise<void>): Promise<string> => {
  const folder = join(keptIn, `${name}-${versionOf(sources())}`)
  if (existsSync(folder)) return folder
  await mkdir(keptIn, { recursive: true })
  const draft = await mkdtemp(join(keptIn, 'draft-'))
  try {
    await make(draft)
    await rename(draft, folder)
  } catch (fault) {
    await rm(draft, { recursive: true, force: true })
    if (!existsSync(folder)) throw fault
  }
  return folder
}

/** Fills an empty folder with what `make` makes in another one: once for all tests, since initdb and the migrations cost more than a small test. */
export const copyOf = async (name: string, folder: string, make: (folder: string) => Promise<void>): Promise<void> => {
  await copy('cp', ['-a', `${await kept(name, make)}/.`, folder])
}

/** No test makes a database from one. */
export const dropDatabaseTemplate = async (name: string, query: (text: string) => Promise<unknown>): Promise<void> => {
  await query(`update pg_database set datistemplate = false where datname = '${name}'`)
  await query(`drop database ${name} with (force)`)
}

/** Leaves the databases that the gateway opens; answers with the file of the log of writes that a start reads. */
const shrinkDatabase = async (connectionString: string): Promise<string> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query('select pg_switch_wal()')
  for (const name of ['template0', 'template1']) await dropDatabaseTemplate(name, (text) => client.query(text))
  const { rows } = await client.query('select pg_walfile_name(pg_current_wal_insert_lsn()) as name')
  await client.end()
  return String(rows[0]?.name)
}

/** The zeros at its end take no room then, and no time in a copy. */
const makeSparse = async (file: string): Promise<void> => {
  const bytes = await readFile(file)
  const used = bytes.findLastIndex((byte) => byte !== 0) + 1
  await truncate(file, used)
  await truncate(file, bytes.length)
}

const makeDataFolder = async (folder: string): Promise<void> => {
  const { logger } = createRuntime('silent')
  const servers = await startEmbedded({ dataFolder: folder, clock: Date.now, logger })
  await migrate({ url: servers.databaseUrl, schema: defaultSchema })
  const needed = await shrinkDatabase(servers.databaseUrl)
  await servers.stop()
  const writes = join(folder, 'postgres', 'pg_wal')
  for (const name of readdirSync(writes).filter((each) => /^[0-9A-F]{24}$/.test(each) && each !== needed))
    await rm(join(writes, name))
  await makeSparse(join(writes, needed))
  const credentials = join(folder, 'credentials.json')
  const { databasePassword } = JSON.parse(await readFile(credentials, 'utf8')) as { readonly databasePassword: string }
  await writeFile(credentials, JSON.stringify({ databasePassword }))
  for (const entry of readdirSync(folder).filter((each) => each !== 'postgres' && each !== 'credentials.json'))
    await rm(join(folder, entry), { recursive: true })
}

/** Makes an empty folder a data folder whose PostgreSQL has the tables already; all else is made at the first start. */
export const prepareDataFolder = (folder: string): Promise<void> => copyOf('embedded', folder, makeDataFolder)
