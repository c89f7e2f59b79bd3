import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { parseSigningKey } from '../../src/audit/keys.ts'
import { deriveVerifier, parseVerifier, verifierText } from '../../src/audit/note.ts'
import { resolveSealing } from '../../src/cli/audit-keys.ts'
import { startGateway } from '../../src/cli/gateway.ts'
import { readConfig } from '../../src/config/config.ts'
import { findEmbedded } from '../../src/embedded/embedded.ts'
import { until } from '../support/clients.ts'
import { prepareDataFolder } from '../support/clusters.ts'
import { runtime, temporaryFolder } from '../support/gateway.ts'
import { recordingLogger } from '../support/log-lines.ts'
import { type Ended, runProgram } from '../support/program.ts'

const gateway = (folder: string, ...words: readonly string[]): Promise<Ended> =>
  runProgram(folder, join(folder, 'data'), ...words)

t.test('a new key pair, and the public key of the one that is configured', async (t) => {
  const folder = await temporaryFolder(t)
  t.match(await gateway(folder, 'audit', 'key'), { code: 1, err: /no key: .*`--new` makes a pair/ })
  const made = await gateway(folder, 'audit', 'key', '--new', '--json')
  t.match(made, { code: 0, err: /shown once/ })
  const { signing_key: signingKey, public_key: publicKey } = JSON.parse(made.out)
  t.equal(verifierText(deriveVerifier(parseSigningKey('gateway.local/gateway', signingKey))), publicKey)
  const other = await gateway(folder, 'audit', 'key', '--new')
  t.match(other.out, /^signing_key: \S{44}\npublic_key: gateway\.local\/gateway\+\S+\n$/)
  t.notMatch(other.out, signingKey)

  const file = join(folder, 'gateway.yaml')
  await writeFile(file, JSON.stringify({ audit: { signing_key: signingKey } }))
  t.match(await gateway(folder, 'audit', 'key'), { code: 0, out: `${publicKey}\n` }, 'from the private one')
  await writeFile(file, JSON.stringify({ audit: { public_key: publicKey, signing_key: '${NOT_HERE}' } }))
  const printed = await gateway(folder, 'audit', 'key', '--json')
  t.same(JSON.parse(printed.out), { public_key: publicKey }, 'without it')
  await writeFile(file, JSON.stringify({ audit: { signing_key: '${NOT_HERE}' } }))
  t.match(await gateway(folder, 'audit', 'key'), { code: 2, err: /NOT_HERE is not set/ })
})

t.test('new keys are of the log that is named, or of the one that the configuration names', async (t) => {
  const folder = await temporaryFolder(t)
  const newKey = (...options: readonly string[]) => gateway(folder, 'audit', 'key', '--new', ...options)
  const origin = 'gateway.example.com/ledger'
  t.match(await newKey('--origin', origin), { code: 0, out: /\npublic_key: gateway\.example\.com\/ledger\+/ })
  const keys = { public_key: '${NOT_HERE}', signing_key_file: 'not-here' }
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ audit: { origin, ...keys } }))
  t.match(await newKey(), { code: 0, out: /\npublic_key: gateway\.example\.com\/ledger\+/ }, 'keys are yet to be made')
  t.match(await newKey('--origin', 'not a name'), { code: 2, err: /without spaces/ })
  t.match(await gateway(folder, 'audit', 'key', '--origin', origin), { code: 2, err: /add --new/ })
  const of = await newKey('--origin', 'example.com/other', '--json')
  const { public_key } = JSON.parse(of.out)
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ audit: { origin, public_key } }))
  t.match(await gateway(folder, 'audit', 'key'), { code: 2, err: /`gateway audit key --new --origin gateway\.example/ })
})

t.test('an embedded gateway makes a key of its own, seals, and reports how far', async (t) => {
  const folder = await temporaryFolder(t)
  const dataFolder = join(folder, 'data')
  await prepareDataFolder(dataFolder)
  const config = readConfig({}, { dataFolder, port: 0 })
  const running = await startGateway(config, runtime, (fault) => t.fail(fault.message))
  t.teardown(() => running.stop())
  const { out } = await gateway(folder, 'audit', 'key')
  t.equal(parseVerifier(out).name, 'gateway.local/gateway')
  const statusOf = async () => JSON.parse((await gateway(folder, 'status', '--json')).out)
  await until(async () => (await statusOf()).unsealed === 1, 60_000)
  t.match(await statusOf(), { sealed_to: Number, unsealed: 1 }, 'the last checkpoint is the only frame after itself')

  await t.test('also while the tables are behind', async (t) => {
    await until(async () => (await statusOf()).behind === 0, 60_000)
    const { databaseUrl } = (await findEmbedded(config.dataFolder))!
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    t.teardown(() => client.end())
    await client.query('begin; lock table ledger.checkpoint in exclusive mode') // Which can be read, and not written.
    const { sealed_to: sealedTo } = await statusOf()
    t.match(await gateway(folder, 'workspace', 'open', 'acme'), { code: 0 })
    await until(async () => (await statusOf()).sealed_to > sealedTo, 30_000)
    await until(async () => (await statusOf()).unsealed === 1, 30_000)
    t.ok((await statusOf()).behind > 1)
  })
})

t.test('external servers without a key: a warning, and nothing is sealed', async (t) => {
  const env = { DATABASE_URL: 'postgres://u@db/gateway', NATS_URL: 'nats://h', OPENAI_API_KEY: 'sk-one' }
  const folder = await temporaryFolder(t)
  const file = join(folder, 'gateway.yaml')
  const sealingWith = async (audit: object) => {
    await writeFile(file, JSON.stringify({ audit }))
    const logger = recordingLogger()
    return { sealing: resolveSealing(readConfig(env, { file }), null, { ...runtime, logger }), lines: logger.lines }
  }
  t.match(await sealingWith({}), {
    sealing: null,
    lines: [{ level: 'warn', event: 'audit.sealing_disabled' }],
  })
  t.same(await sealingWith({ sealing: false }), { sealing: null, lines: [] })
  const key = Buffer.alloc(32, 7).toString('base64')
  t.match(await sealingWith({ signing_key: key }), { sealing: { signer: { name: String } }, lines: [] })
  t.equal((await sealingWith({ signing_key: key, sealing: false })).sealing, null)
})
