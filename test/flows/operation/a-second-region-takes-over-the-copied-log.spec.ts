import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { newKeyPair } from '../../../src/cli/audit-keys.ts'
import { startGateway } from '../../../src/cli/gateway.ts'
import { type Config, readConfig } from '../../../src/config/config.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import { balancePicos } from '../../../src/domain/wallet/wallet.ts'
import { NatsServer } from '../../adapters/nats/server.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { type Account, openOperator, runtime, temporaryFolder, untilKeyIsKnown } from '../../support/gateway.ts'
import { freePort, startPostgres } from '../../support/postgres.ts'
import { runProgram } from '../../support/program.ts'
import { checkpointsAmong, framesOf } from '../../support/sealing.ts'

const stream = 'GATEWAY'
const [copied, lost] = [5, 2]
const model = 'openai/plain'
/** The client's type knows no update that takes a mirror away. */
const noMirror: object = { mirror: undefined }
const sheet = { currency: 'USD', per_million_tokens: { input: '1', output: '2' }, max_output_tokens: 1_000 }
const prices = { prices: [{ model, effective_from: '2026-01-01T00:00:00Z', source: 'a test', sheet }] }

interface Region {
  readonly folder: string
  readonly config: Config
}

/** With the keys of the other region, and a database of its own. */
const configureRegion = async (t: Test, nats: NatsServer, databaseUrl: string, shared: object): Promise<Region> => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'gateway.yaml')
  await writeFile(join(folder, 'prices.json'), JSON.stringify(prices))
  const servers = {
    database_url: databaseUrl,
    nats: { url: nats.url, monitoring_url: nats.monitoringUrl },
    data_folder: join(folder, 'data'),
    listen: { port: 0 },
    observe: { port: 'off' },
    prices: './prices.json',
  }
  await writeFile(file, JSON.stringify({ ...shared, ...servers }))
  return { folder, config: readConfig({}, { file, firstSeal: true }) }
}

const manage = async (t: Test, nats: NatsServer): Promise<JetStreamManager> => {
  const connection = await connectNats({ url: nats.url, name: 'test' })
  t.teardown(() => connection.close())
  return jetstreamManager(connection)
}

const readLog = async ({ config }: Region) => {
  const operator = await openOperator(config)
  const frames = await framesOf(operator.platform.log)
  const wallet = operator.tail.ledger.wallets.get('acme')!
  await operator.stop()
  return { frames, balance: formatUsd(balancePicos(wallet)) }
}

t.test('the copy of a lost region is promoted; what was copied is billed and proven, to the frame', async (t) => {
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const leafPort = await freePort()
  const [west, east] = [
    await NatsServer.create({ domain: 'west', leafnodes: `listen: "127.0.0.1:${leafPort}"` }),
    // Neither region's processes reach the log of the other, also once the link is back.
    await NatsServer.create({
      domain: 'east',
      leafnodes: `remotes: [{ url: "nats-leaf://127.0.0.1:${leafPort}", deny_exports: ["gateway.>"], deny_imports: ["gateway.>"] }]`,
    }),
  ]
  t.teardown(() => Promise.all([west.remove(), east.remove()]))
  const postgres = await startPostgres(t)
  const { signingKey, publicKey } = newKeyPair('gateway.test/ledger')
  const shared = {
    providers: { openai: { dialect: 'openai', base_url: sandbox.url, api_key: 'sk-upstream' } },
    audit: { origin: 'gateway.test/ledger', signing_key: signingKey, public_key: publicKey },
  }
  const first = await configureRegion(t, west, (await postgres.newDatabase()).url, shared)
  const second = await configureRegion(t, east, (await postgres.newDatabase()).url, shared)
  const start = ({ config }: Region) => startGateway(config, runtime, (fault) => t.fail(fault.message))
  const serve = async (url: string, { secret }: Account, requests: number): Promise<void> => {
    for (let request = 0; request < requests; request += 1)
      t.equal((await chat(url, secret, chatBody(model, false))).status, 200)
  }

  const gateway = await start(first)
  const operator = await openOperator(first.config)
  const account = await operator.openAccount('acme', '100')
  await operator.stop()
  await untilKeyIsKnown(gateway.url, account)
  const [ofWest, ofEast] = [await manage(t, west), await manage(t, east)]
  const { config: settings } = await ofWest.streams.info(stream)
  const { subjects, duplicate_window: _ofMirrorsNone, ...copiedSettings } = settings
  await ofEast.streams.add({ ...copiedSettings, mirror: { name: stream, domain: 'west' } })
  await serve(gateway.url, account, copied)
  const isCopied = async (): Promise<boolean> => {
    const [{ state: here }, { state: there }] = [await ofWest.streams.info(stream), await ofEast.streams.info(stream)]
    return here.last_seq === there.last_seq
  }
  await until(isCopied)
  await east.stop()
  await serve(gateway.url, account, lost)
  await gateway.stop()
  const before = await readLog(first)
  await west.stop('SIGKILL')

  await east.start()
  const promoting = await manage(t, east)
  const { duplicate_window } = settings
  const { mirror: _promoted, ...kept } = (await promoting.streams.info(stream)).config
  await promoting.streams.update(stream, { ...kept, subjects, duplicate_window, ...noMirror })
  const promoted = await start(second)
  await untilKeyIsKnown(promoted.url, account)
  await serve(promoted.url, account, 1)
  await promoted.stop()

  const after = await readLog(second)
  const same = after.frames.findIndex(
    ({ data }, index) => !before.frames[index]?.data || Buffer.compare(data, before.frames[index].data) !== 0,
  )
  t.ok(same > 0 && same < before.frames.length, 'the copy is the log of the lost region, up to where it ends')
  const bills = after.frames.filter(({ data }) => Buffer.from(data).includes('"type":"UsageRecorded"')).length
  t.equal(bills, copied + 1, 'what was not copied yet is lost, and nothing else')
  t.not(after.balance, before.balance)
  t.match(await runProgram(second.folder, second.config.dataFolder, 'verify'), { code: 0 })

  const checkpoint = checkpointsAmong(after.frames).at(-1)!
  await writeFile(join(first.folder, 'promoted.note'), checkpoint.note)
  await west.start()
  const verified = await runProgram(first.folder, first.config.dataFolder, 'verify', '--checkpoint', 'promoted.note')
  t.match(verified, { code: 1 }, 'the log of the lost region is found to be another one')
})
