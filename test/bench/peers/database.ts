/** A PostgreSQL for one peer, with PostgreSQL's own defaults for what is synced. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createDatabase, waitForDatabase } from '../../../src/adapters/postgres/wait-for-database.ts'
import { pickPorts } from '../../../src/embedded/free-ports.ts'
import { findPostgres } from '../../../src/embedded/postgres.ts'
import { startAs } from '../../../src/embedded/run-as.ts'

const startWithinMs = 30_000
const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

export const startDatabase = async (
  folder: string,
  stack: AsyncDisposableStack,
): Promise<{ readonly url: string; readonly pid: number }> => {
  const { postgres, initdb, identity } = await findPostgres(folder)
  const cluster = join(folder, 'postgres')
  await mkdir(cluster)
  if (identity.uid !== undefined && identity.gid !== undefined) await chown(cluster, identity.uid, identity.gid)
  const made = startAs(identity, initdb, ['-D', cluster, '-U', 'peer', '-E', 'UTF8', '--locale=C', '--auth=trust'])
  await promisify(execFile)(made.file, [...made.args], { ...made.user, cwd: cluster, env: environment })
  const [port = 0] = await pickPorts(1)
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200']
  const words = ['-D', cluster, ...settings.flatMap((setting) => ['-c', setting])]
  const { file, args, user } = startAs(identity, postgres, words)
  const child = spawn(file, args, { ...user, cwd: cluster, env: environment, stdio: 'ignore' })
  stack.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGQUIT')
    await ended
  })
  const urlOf = (name: string): string => `postgres://peer:peer@127.0.0.1:${port}/${name}`
  await waitForDatabase(urlOf('postgres'), startWithinMs)
  await createDatabase(urlOf('postgres'), 'peer')
  return { url: urlOf('peer'), pid: child.pid! }
}
