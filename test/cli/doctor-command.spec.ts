import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSandbox } from '../../sandbox/server.ts'
import { openHeadFile } from '../../src/adapters/audit-files.ts'
import { emptyHead } from '../../src/audit/signed-head.ts'
import { NatsServer } from '../adapters/nats/server.ts'
import { startEdge } from '../roles/edge/edge-fixture.ts'
import { makeCertificates } from '../support/certificates.ts'
import { runtime, startTestGateway, temporaryFolder } from '../support/gateway.ts'
import { runWords } from '../support/program.ts'

interface Found {
  readonly result: string
  readonly check: string
  readonly of: string
  readonly detail: string
}

const examine = async (
  folder: string,
  dataFolder: string,
  ...options: readonly string[]
): Promise<{ code: number; found: readonly Found[] }> => {
  const words = ['--config', join(folder, 'gateway.yaml'), '--data', dataFolder, 'doctor', '--json', ...options]
  const { code, out } = await runWords(folder, words)
  return {
    code,
    found: out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Found),
  }
}

const notOk = (found: readonly Found[]): readonly Found[] =>
  found.filter(({ result }) => result === 'failed' || result === 'skipped')

const takenPort = async (t: Test): Promise<number> => {
  const server = createServer((_request, response) => response.end('another service'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('nothing is found beside a gateway that runs well, and nothing is changed', async (t) => {
  const audit = { sealing: true, origin: 'gateway.local/gateway', signer: null, verifier: null, previous: [] }
  const { gateway, config } = await startTestGateway(t, { config: { observe: { host: '127.0.0.1', port: 0 }, audit } })
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const folder = await temporaryFolder(t)
  const openai = { dialect: 'openai', base_url: sandbox.url, api_key: 'sk-of-the-test-0123456789' }
  const listen = { port: Number(new URL(gateway.url).port) }
  const observe = { port: Number(new URL(gateway.observeUrl!).port) }
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ listen, observe, providers: { openai } }))
  const { code, found } = await examine(folder, config.dataFolder)
  t.same(notOk(found), [])
  t.equal(code, 0)
  const details = Object.fromEntries(found.map(({ check, of, detail }) => [`${check} ${of}`, detail]))
  t.match(details, {
    'ports listen': /a gateway listens/,
    'disk synced appends': /\d ms/,
    'log GATEWAY': /acknowledged frames are on the disk/,
    'clock this machine': /agrees/,
    'tables PostgreSQL': /written to frame/,
    'sealing gateway.local/gateway': /audit\.state$/,
  })
  t.ok(found.some(({ check, detail }) => check === 'provider' && detail === 'authentication'))
  t.equal(sandbox.calls().filter(({ path }) => path.includes('completions')).length, 0, 'no model is asked')

  const callbacks = { secret: `\${GATEWAY_CALLBACK_SECRET}` }
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ listen, observe, providers: { openai }, callbacks }))
  t.match(await examine(folder, config.dataFolder), { code: 1, found: [{ check: 'configuration', result: 'failed' }] })
  const ofEdge = await examine(folder, config.dataFolder, '--role', 'edge')
  t.same(notOk(ofEdge.found), [], 'it needs no secret of other roles')
  t.notOk(ofEdge.found.some(({ check }) => check === 'provider' || check === 'sealing'))

  const sealingOf = async (state: string): Promise<Found | undefined> => {
    await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ listen, observe, audit: { state } }))
    return (await examine(folder, config.dataFolder, '--role', 'scheduler')).found.find(
      ({ check }) => check === 'sealing',
    )
  }
  await openHeadFile(join(folder, 'foreign.state')).replace(emptyHead('example.com/other'))
  t.match(await sealingOf('foreign.state'), {
    result: 'failed',
    detail: /foreign\.state is of the log example\.com\/other, and the table \S+ of gateway\.local\/gateway/,
  })
  await writeFile(join(folder, 'file'), '')
  t.match(await sealingOf('file/audit.state'), { result: 'failed', detail: /cannot be read from .*audit\.state/ })
})

t.test('each planted fault is found', async (t) => {
  const folder = await temporaryFolder(t)
  const dataFolder = join(folder, 'data')
  await mkdir(dataFolder)
  await chmod(dataFolder, 0o755)
  await writeFile(join(dataFolder, 'credentials.json'), '{}', { mode: 0o644 })
  const openai = { dialect: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-of-the-test-0123456789' }
  const listen = { port: await takenPort(t) }
  const file = {
    listen,
    sandbox: true,
    database_url: 'postgres://127.0.0.1:9/none',
    nats: { url: 'nats://127.0.0.1:9' },
  }
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ listen, providers: { openai } }))
  await chmod(join(folder, 'gateway.yaml'), 0o666)

  const embedded = await examine(folder, dataFolder)
  t.equal(embedded.code, 1)
  t.match(notOk(embedded.found), [
    { check: 'permissions', of: dataFolder, detail: /mode 0755/ },
    { check: 'permissions', of: /credentials\.json$/, detail: /mode 0644/ },
    { check: 'permissions', of: /gateway\.yaml$/, detail: /every user|other users can change it/ },
    { check: 'ports', of: 'listen', detail: /is taken by another process/ },
    { check: 'log', result: 'skipped', detail: /do not run/ },
    { check: 'provider', of: 'openai', detail: /^reach / },
    { check: 'provider', of: 'openai', result: 'skipped' },
    { check: 'provider', of: 'openai', detail: /^models / },
  ])

  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(file))
  const external = await examine(folder, dataFolder)
  t.match(notOk(external.found).at(-1), { check: 'log', result: 'failed', detail: /127\.0\.0\.1:9/ })

  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ listen: { port: 'none' } }))
  const broken = await examine(folder, dataFolder)
  t.match(broken, { code: 1, found: [{ check: 'configuration', result: 'failed', detail: /listen\.port/ }] })
})

t.test('a nats-server that keeps the connections of vanished machines for minutes is warned of', async (t) => {
  const folder = await temporaryFolder(t)
  const connectionsOf = async (pingInterval?: string, isMonitored = true): Promise<Found | undefined> => {
    const server = await NatsServer.create(pingInterval === undefined ? {} : { pingInterval })
    t.teardown(() => server.remove())
    const nats = { url: server.url, monitoring_url: isMonitored ? server.monitoringUrl : 'http://127.0.0.1:1' }
    await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ observe: { port: 'off' }, sandbox: true, nats }))
    const { found } = await examine(folder, join(folder, 'data'), '--role', 'proxy')
    return found.find(({ check }) => check === 'connections')
  }
  t.match(await connectionsOf(), { result: 'warning', detail: /after 360 s, .* `ping_interval: 5s`/ })
  t.match(await connectionsOf('5s'), { result: 'ok', detail: /after 15 s/ })
  t.match(await connectionsOf('5s', false), { result: 'failed', detail: /monitoring_url. does not report/ })
})

t.test('an edge that serves TLS is known at its port, which other roles need not have', async (t) => {
  const certificates = await makeCertificates()
  t.teardown(() => certificates.remove())
  const { port } = await startEdge(t, { tls: certificates.server })
  const folder = await temporaryFolder(t)
  const { certFile: cert_file, keyFile: key_file } = certificates.server
  const file = (listen: object): Promise<void> =>
    writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ listen, observe: { port: 'off' }, sandbox: true }))
  const portsOf = async (role: string): Promise<readonly Found[]> => {
    const { found } = await examine(folder, join(folder, 'data'), '--role', role)
    return found.filter(({ check }) => check === 'ports')
  }
  await file({ port, tls: { cert_file, key_file } })
  t.match(await portsOf('edge'), [{ of: 'listen', result: 'ok', detail: /a gateway listens/ }])
  await file({ port: await takenPort(t) })
  t.match(await portsOf('edge'), [{ of: 'listen', result: 'failed' }])
  t.same(await portsOf('projector'), [])
})
