import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { Addresses } from '../../src/embedded/embedded.ts'
import { natsArguments } from '../../src/embedded/nats.ts'
import { postgresArguments } from '../../src/embedded/postgres.ts'
import { pidsWithArguments, readStartTime } from '../../src/embedded/processes.ts'
import { readRecord, writeRecord } from '../../src/embedded/record.ts'
import { databaseIdentity } from '../../src/embedded/run-as.ts'
import { publish, readMessages, readRows, writeRow } from './clients.ts'
import { freshFolder, preparedDataFolder } from './fresh-folder.ts'
import { type GatewayProcess, spawnGateway } from './spawn-gateway.ts'

/** `make chaos` sets it. */
const isLong = process.env['CHAOS_ROUNDS'] !== undefined
const rounds = Number(process.env['CHAOS_ROUNDS'] ?? 2)

const kill = async (gateway: GatewayProcess) => {
  gateway.child.kill('SIGKILL')
  await gateway.exited
}

const stop = async (gateway: GatewayProcess) => {
  gateway.child.kill('SIGTERM')
  await gateway.exited
}

/** 0 of a process that is gone. */
const parentOf = (pid: number): number =>
  Number(spawnSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' }).stdout)

// A process that PostgreSQL has just forked has its command line until it takes a title of its own.
const livingPostmasters = (folder: string): number => {
  const pids = pidsWithArguments(postgresArguments(folder))
  return pids.map(parentOf).filter((parent) => parent !== 0 && !pids.includes(parent)).length
}

const livingServers = (folder: string) => ({
  postgres: livingPostmasters(folder),
  nats: pidsWithArguments(natsArguments(folder)).length,
})

t.test(`${rounds} gateways killed one after the other lose nothing`, async (test) => {
  const folder = await preparedDataFolder(test)
  let left: number[] = []
  const expected: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const startedMs = performance.now()
    const gateway = spawnGateway('serve', folder)
    const addresses = (await gateway.nextLine<Addresses>())!
    test.comment(`round ${round}: ready after ${Math.round(performance.now() - startedMs)} ms, process start included`)
    test.ok(
      left.every((pid) => readStartTime(pid) === null),
      `round ${round}: the servers left behind are dead`,
    )
    test.strictSame(livingServers(folder), { postgres: 1, nats: 1 })
    expected.push(round)
    await Promise.all([writeRow(addresses, round), publish(addresses, String(round))])
    left = readRecord(folder)!.servers.map(({ pid }) => pid)
    await kill(gateway)
    test.ok(
      left.every((pid) => readStartTime(pid) !== null),
      `round ${round}: the servers outlive their gateway`,
    )
    test.strictSame(await readRows(addresses), expected)
  }
  const last = spawnGateway('serve', folder)
  const addresses = (await last.nextLine<Addresses>())!
  test.strictSame(await readRows(addresses), expected)
  test.strictSame(await readMessages(addresses), expected.map(String))
  await stop(last)
  test.strictSame(livingServers(folder), { postgres: 0, nats: 0 })
})

const momentsMs = (from: number, to: number, step: number) =>
  Array.from({ length: (to - from) / step + 1 }, (_, index) => from + index * step)

// While the cluster is made, at least once to its end, then while the servers start.
const killMomentsMs = isLong
  ? [...momentsMs(100, 800, 100), 3_000, ...momentsMs(80, 280, 10)]
  : [...momentsMs(100, 700, 300), 3_000, ...momentsMs(80, 280, 100)]

t.test('gateways killed at any moment of their start leave a folder that starts', async (test) => {
  const folder = join(freshFolder(test), 'data')
  for (const killAfterMs of killMomentsMs) {
    const gateway = spawnGateway('serve', folder)
    await delay(killAfterMs) // The moment is the input: there is nothing to await.
    await kill(gateway)
    const { postgres, nats } = livingServers(folder)
    test.ok(postgres <= 1 && nats <= 1, `killed after ${killAfterMs} ms: no server runs twice`)
  }
  const gateway = spawnGateway('serve', folder)
  await writeRow((await gateway.nextLine<Addresses>())!, 1)
  await stop(gateway)
  test.strictSame(livingServers(folder), { postgres: 0, nats: 0 })
})

const killServers = (folder: string) => {
  for (const { pid } of readRecord(folder)!.servers) process.kill(pid, 'SIGKILL')
}

t.test('servers killed together with their gateway start again', async (test) => {
  const folder = await preparedDataFolder(test)
  const first = spawnGateway('serve', folder)
  const before = (await first.nextLine<Addresses>())!
  await writeRow(before, 1)
  await publish(before, '1')
  await kill(first)
  killServers(folder)
  const second = spawnGateway('serve', folder)
  const after = (await second.nextLine<Addresses>())!
  test.strictSame(await readRows(after), [1])
  test.strictSame(await readMessages(after), ['1'])
  await stop(second)
})

t.test('a pid that a killed PostgreSQL had and a stranger has now is no obstacle', async (test) => {
  const folder = await preparedDataFolder(test)
  const first = spawnGateway('serve', folder)
  await first.nextLine()
  await kill(first)
  killServers(folder)
  const stranger = spawn('sleep', ['60'], { ...(await databaseIdentity('/bin/sleep', '/')), stdio: 'ignore' })
  test.teardown(() => stranger.kill())
  const pidFile = join(folder, 'postgres', 'postmaster.pid')
  writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^\d+/, String(stranger.pid)))
  const second = spawnGateway('serve', folder)
  test.match(await second.nextLine(), { databaseUrl: /^postgres:/ })
  test.equal(stranger.exitCode, null, 'the stranger is left alone')
  await stop(second)
})

t.test('a stranger that has the pid of a recorded server is left alone', async (test) => {
  const folder = await preparedDataFolder(test)
  const first = spawnGateway('serve', folder)
  await first.nextLine()
  await kill(first)
  killServers(folder)
  const stranger = spawn('sleep', ['60'], { stdio: 'ignore' })
  test.teardown(() => stranger.kill())
  const record = readRecord(folder)!
  const servers = record.servers.map((server) => ({ ...server, pid: stranger.pid! }))
  writeRecord(folder, { ...record, servers })
  const second = spawnGateway('serve', folder)
  test.match(await second.nextLine(), { databaseUrl: /^postgres:/ })
  test.ok(readStartTime(stranger.pid!), 'the stranger lives')
  await stop(second)
})
