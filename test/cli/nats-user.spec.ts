import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openPlatform } from '../../src/cli/platform.ts'
import { readConfig } from '../../src/config/config.ts'
import { withFreshPorts } from '../../src/embedded/free-ports.ts'
import type { ProcessRole } from '../../src/roles/role.ts'
import { type User, users } from '../adapters/nats/cluster.ts'
import { NatsProcess } from '../adapters/nats/server.ts'
import { runtime, temporaryFolder } from '../support/gateway.ts'
import { pickServerPorts } from '../support/ports.ts'
import { runWords } from '../support/program.ts'

const accounts = fileURLToPath(new URL('../../deploy/nats/accounts.conf', import.meta.url))

/** One server with the users of `deploy/nats`, as docs/deployment.md has it. Resolves with its addresses. */
const startServer = async (t: Test): Promise<{ readonly url: string; readonly monitoring_url: string }> => {
  const folder = await temporaryFolder(t)
  const passwords = users.map((user) => [`GATEWAY_${user.toUpperCase().replace('-', '_')}_PASSWORD`, `secret-${user}`])
  return withFreshPorts(async () => {
    const [port = 0, monitoringPort = 0] = await pickServerPorts(2)
    const file = join(folder, 'nats.conf')
    await writeFile(
      file,
      `listen: 127.0.0.1:${port}\nhttp: 127.0.0.1:${monitoringPort}\n` +
        `jetstream { store_dir: "${folder}/store", sync_interval: always, max_file_store: 64TB }\ninclude accounts.conf\n`,
    )
    await copyFile(accounts, join(folder, 'accounts.conf'))
    const server = new NatsProcess(file, monitoringPort, Object.fromEntries(passwords))
    t.teardown(() => server.stop())
    server.launch()
    await server.whenHealthy()
    return { url: `nats://127.0.0.1:${port}`, monitoring_url: server.monitoringUrl }
  })
}

t.test('a role that has the NATS user of another is refused, with the user that it needs', async (t) => {
  const server = await startServer(t)
  const folder = await temporaryFolder(t)
  const file = join(folder, 'gateway.yaml')
  const open = async (role: ProcessRole, user: User): Promise<void> => {
    const nats = { ...server, user, password: `secret-${user}` }
    await writeFile(file, JSON.stringify({ nats, database_url: 'postgres://u@127.0.0.1/none', sandbox: true }))
    const config = readConfig({}, { role, file, dataFolder: join(folder, 'data') })
    const platform = await openPlatform(config, runtime, { role, embedded: 'running', onFatal: () => undefined })
    await platform.stop()
  }
  await open('operator', 'operator')
  await open('edge', 'edge')
  for (const [role, user] of [
    ['edge', 'proxy'],
    ['proxy', 'edge'],
    ['projector', 'scheduler'],
    ['video-poller', 'operator'],
    ['gateway', 'edge'],
    ['operator', 'edge'],
  ] as const)
    await t.rejects(
      open(role, user),
      {
        message: new RegExp(
          `^NATS refuses the user \`${user}\` .* set \`nats.user\` .* those of the user \`${role}\` of deploy/nats/accounts.conf$`,
        ),
        cause: { message: /^Permissions Violation for Subscription/ },
      },
      `${role} as ${user}`,
    )
})

t.test('doctor checks the log by the user of what it examines, a whole gateway among them', async (t) => {
  const server = await startServer(t)
  const folder = await temporaryFolder(t)
  const file = join(folder, 'gateway.yaml')
  const configure = (user: User): Promise<void> =>
    writeFile(
      file,
      JSON.stringify({
        nats: { ...server, user, password: `secret-${user}` },
        database_url: 'postgres://u@127.0.0.1:1/none',
        observe: { port: 'off' },
        listen: { port: 0 },
        sandbox: true,
      }),
    )
  await configure('operator')
  const config = readConfig({}, { role: 'operator', file, dataFolder: join(folder, 'data') })
  const options = { role: 'operator', embedded: 'running', onFatal: () => undefined } as const
  await (await openPlatform(config, runtime, options)).stop()
  for (const [user, ...role] of [
    ['gateway'],
    ['edge', '--role', 'edge'],
    ['operator', '--role', 'operator'],
  ] as const) {
    await configure(user)
    const words = ['--config', file, '--data', join(folder, 'data'), 'doctor', '--json', ...role]
    const { out } = await runWords(folder, words)
    t.match(out, /"result":"ok","check":"log"/, `as ${user}`)
  }
})
