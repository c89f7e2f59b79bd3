import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../../src/cli/gateway.ts'
import { chat, chatBody, startClients, until } from '../../support/clients.ts'
import { configOf, openOperator, runtime, startTestGateway, temporaryFolder } from '../../support/gateway.ts'
import { runProgram } from '../../support/program.ts'
import { checkRebuilt } from '../../support/rebuilt-tables.ts'

/** As a program finds it without a file. */
const audit = { sealing: true, origin: 'gateway.local/gateway', signer: null, verifier: null, previous: [] }

t.test('a backup under load, restored on another machine', async (t) => {
  const running = await startTestGateway(t, { config: { audit } })
  const { gateway, operator, account, config } = running
  const folder = await temporaryFolder(t)
  const backup = join(folder, 'backup')
  const run = (dataFolder: string, ...words: readonly string[]) => runProgram(folder, dataFolder, ...words)
  const clients = startClients(t, gateway.url, account.secret)
  await until(() => clients.journal.length > 50)
  const made = await run(config.dataFolder, 'backup', backup)
  t.match(made, { code: 0, out: /holds frames 1 to \d+/ }, made.err)
  const first = JSON.parse(await readFile(join(backup, 'audit.state'), 'utf8'))

  const acknowledged = clients.journal.filter(({ status }) => status === 200).length
  const lastBefore = await operator.log.lastSequence()
  const again = await run(config.dataFolder, 'backup', backup, '--json')
  t.equal(again.code, 0, again.err)
  const { from, to } = JSON.parse(again.out)
  t.equal(from, first.size, 'it goes on where the first ended')
  t.ok(to >= lastBefore - 1, `frames to ${to} hold what was acknowledged by ${lastBefore}`)
  await clients.stop()
  const secrets = ['credentials.json', join('audit', 'signing-key')]
  for (const name of secrets) t.equal((await stat(join(backup, name))).mode & 0o077, 0, `${name} is its owner's alone`)

  const restored = join(folder, 'restored')
  t.match(await run(config.dataFolder, 'restore', backup), { code: 1, err: /a gateway runs on .*stop it/ })
  const put = await run(restored, 'restore', backup)
  t.match(put, { code: 0, out: /frames were put back/ }, put.err)
  t.notMatch(put.err, /bring audit/)

  const second = configOf(restored, running.sandbox.url, { config: { audit } })
  const other = await startGateway(second, runtime, (fault) => t.fail(fault.message))
  t.teardown(() => other.stop())
  const view = await openOperator(second)
  t.teardown(() => view.stop())
  const bills = (await view.events()).filter(({ type }) => type === 'UsageRecorded').length
  t.ok(bills >= acknowledged, `${bills} bills of ${acknowledged} answers before the backup began`)
  t.equal((await chat(other.url, account.secret, chatBody('openai/plain', false))).status, 200, 'the same key')
  const size = async (): Promise<number> => JSON.parse(await readFile(join(restored, 'audit.state'), 'utf8')).size
  await until(async () => (await size()) > to)
  await checkRebuilt(t, view)
  t.match(await run(restored, 'verify'), { code: 0 }, 'sealed on, with the same key')
})

t.test('what cannot be a backup or a place for one is refused, and nothing is changed', async (t) => {
  const folder = await temporaryFolder(t)
  const run = (...words: readonly string[]) => runProgram(folder, join(folder, 'data'), ...words)
  const backup = join(folder, 'backup')
  await mkdir(join(backup, 'log'), { recursive: true })
  await mkdir(join(backup, 'audit'))
  await writeFile(join(backup, 'log', 'manifest.json'), '{}')
  await writeFile(join(backup, 'audit', 'signing-key'), 'one')
  t.match(await run('restore', backup), { code: 1, err: /audit\.state is missing: the backup was not finished/ })
  await mkdir(join(folder, 'data', 'audit'), { recursive: true })
  await writeFile(join(folder, 'data', 'audit', 'signing-key'), 'another')
  t.match(await run('restore', backup), { code: 1, err: /signing-key is not that of the backup/ })
  t.equal(await readFile(join(folder, 'data', 'audit', 'signing-key'), 'utf8'), 'another')
  await rm(join(folder, 'data'), { recursive: true })
  t.match(await run('backup', join(folder, 'new')), { code: 1, err: /nothing was sealed on this data folder yet/ })
})
