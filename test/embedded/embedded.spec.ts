import { statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findEmbedded, type ServerExit, startEmbedded } from '../../src/embedded/embedded.ts'
import { readStartTime } from '../../src/embedded/processes.ts'
import { readRecord } from '../../src/embedded/record.ts'
import { recordingLogger, silentLogger } from '../support/log-lines.ts'
import { publish, readMessages, readRows, showSetting, writeRow } from './clients.ts'
import { freshFolder, preparedDataFolder } from './fresh-folder.ts'
import { spawnGateway } from './spawn-gateway.ts'

const freshDataFolder = (test: Test) => join(freshFolder(test), 'data')
const start = (dataFolder: string) => startEmbedded({ dataFolder, clock: Date.now, logger: silentLogger })
const pidsOf = (folder: string) => readRecord(folder)!.servers.map(({ pid }) => pid)

t.test('state survives a restart, and nothing runs after a stop', async (test) => {
  const folder = freshDataFolder(test)
  const coldMs = performance.now()
  const first = await start(folder)
  const stopped = performance.now()
  await writeRow(first, 1)
  await publish(first, 'one')
  const pids = pidsOf(folder)
  await first.stop()
  test.strictSame(pids.map(readStartTime), [null, null], 'both servers ended')
  const warmMs = performance.now()
  const second = await start(folder)
  test.comment(`cold start ${Math.round(stopped - coldMs)} ms, warm ${Math.round(performance.now() - warmMs)} ms`)
  test.teardown(() => second.stop())
  test.strictSame(await readRows(second), [1])
  test.strictSame(await readMessages(second), ['one'])
})

t.test('the servers are set up as the design says', async (test) => {
  const folder = freshDataFolder(test)
  const embedded = await start(folder)
  test.teardown(() => embedded.stop())
  const shown = async (name: string) => [name, await showSetting(embedded, name)] as const
  const names = [
    'fsync',
    'synchronous_commit',
    'wal_level',
    'max_connections',
    'listen_addresses',
    'password_encryption',
  ]
  test.strictSame(Object.fromEntries(await Promise.all(names.map(shown))), {
    fsync: 'on',
    synchronous_commit: 'off',
    wal_level: 'minimal',
    max_connections: '50',
    listen_addresses: '127.0.0.1',
    password_encryption: 'scram-sha-256',
  })
  const { config } = (await (await fetch(`${embedded.natsMonitoringUrl}/jsz?config=1`)).json()) as {
    readonly config: { readonly sync_always: boolean }
  }
  test.equal(config.sync_always, true)
  for (const name of ['credentials.json', 'embedded.json', 'nats.conf'])
    test.equal(statSync(join(folder, name)).mode & 0o777, 0o600, `${name} is private`)
})

t.test('a wrong password is refused by both servers', async (test) => {
  const embedded = await start(await preparedDataFolder(test))
  test.teardown(() => embedded.stop())
  const wrong = (url: string) => Object.assign(new URL(url), { password: 'wrong' }).href
  const stranger = { ...embedded, databaseUrl: wrong(embedded.databaseUrl), natsUrl: wrong(embedded.natsUrl) }
  await test.rejects(readRows(stranger), { code: '28P01' })
  await test.rejects(readMessages(stranger), /authorization/i)
})

t.test('a second gateway on the folder is refused, and told whose it is', async (test) => {
  const folder = await preparedDataFolder(test)
  const embedded = await start(folder)
  test.teardown(() => embedded.stop())
  const message = `the data folder ${folder} is in use by the gateway with pid ${process.pid}: stop it first, or choose another folder`
  await test.rejects(start(folder), { message }, 'in the same process')
  const other = spawnGateway('serve', folder)
  test.strictSame(await other.nextLine(), { error: message }, 'in another process')
  await other.exited
  await writeRow(embedded, 1)
  test.strictSame(await readRows(embedded), [1], 'the first one is unharmed')
})

t.test('another process finds the servers of a living gateway only', async (test) => {
  const folder = await preparedDataFolder(test)
  const find = async () => {
    const process = spawnGateway('find', folder)
    const line = await process.nextLine()
    await process.exited
    return line
  }
  test.strictSame(await find(), { found: null }, 'no folder yet')
  const embedded = await start(folder)
  const { databaseUrl, natsUrl, natsMonitoringUrl } = embedded
  test.strictSame(await find(), { found: { databaseUrl, natsUrl, natsMonitoringUrl } })
  await embedded.stop()
  test.strictSame(await find(), { found: null }, 'stopped')
  test.equal(await findEmbedded(folder), null)
})

t.test('a server that dies is told', async (test) => {
  const folder = await preparedDataFolder(test)
  const { promise, resolve } = Promise.withResolvers<ServerExit>()
  const logger = recordingLogger()
  const embedded = await startEmbedded({ dataFolder: folder, clock: Date.now, logger, onChildExit: resolve })
  const alive = setInterval(() => {}, 60_000) // The servers alone do not keep a process alive.
  test.teardown(() => embedded.stop().finally(() => clearInterval(alive)))
  process.kill(readRecord(folder)!.servers.find(({ name }) => name === 'nats')!.pid, 'SIGKILL')
  test.strictSame(await promise, { name: 'nats', code: null, signal: 'SIGKILL' })
  test.match(
    logger.lines.filter(({ level }) => level === 'error'),
    [{ event: 'embedded.server_exited', fields: { name: 'nats' } }],
  )
})

t.test('Ctrl-C reaches the gateway and not its servers', async (test) => {
  const folder = await preparedDataFolder(test)
  const gateway = spawnGateway('serve', folder)
  await gateway.nextLine()
  const pids = pidsOf(folder)
  process.kill(-gateway.child.pid!, 'SIGINT')
  test.strictSame(await gateway.nextLine(), { serversAliveAfterInterrupt: true })
  test.strictSame(await gateway.exited, [0, null])
  test.strictSame(pids.map(readStartTime), [null, null], 'stopped by the gateway')
})
