import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parseSigningKey, signingKeyText } from '../../src/audit/keys.ts'
import { type Signer, verifierOf } from '../../src/audit/note.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { until } from '../clients.ts'
import { configOf, openOperator, runtime, sheetOf, temporaryFolder } from '../gateway.ts'
import { GatewayProcess } from '../gateway-process.ts'
import { checkpointsOf } from '../sealing.ts'

const planted = {
  prompt: 'PLANTED-PROMPT-7f3a',
  answer: 'planted-tool-91c2',
  upstreamKey: 'sk-upstream-secret',
  signingKey: signingKeyText(Buffer.from('a planted seed that signs things')),
}
const signer = parseSigningKey('gateway.test/ledger', planted.signingKey)

/** The line of it that holds the key. */
const pemOf = ({ privateKey }: Signer): string =>
  String(privateKey.export({ type: 'pkcs8', format: 'pem' })).split('\n')[1]!

const filesBelow = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

t.test('after a run with every kind of outcome, no planted secret is anywhere on disk', async (t) => {
  const dataFolder = await temporaryFolder(t)
  const settingsFolder = await temporaryFolder(t)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const models = {
    leaky: 'leaky;status=401;leak',
    refused: 'refused;status=400;leak',
    broken: 'broken;break_after=3',
    mute: 'mute;no_usage',
  }
  const audit = { sealing: true, origin: signer.name, signer, verifier: verifierOf(signer), previous: [] }
  const config = configOf(dataFolder, sandbox.url, {
    models,
    sheets: { 'openai/plain': sheetOf() },
    config: { audit },
  })
  const gateway = await GatewayProcess.start(config, { settingsFolder, logLevel: 'debug' })
  const operator = await openOperator(config)
  const { secret } = await operator.openAccount('acme', '10')
  const ask = (model: string, extra = {}): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: planted.prompt }],
        user: planted.answer,
        ...extra,
      }),
    })
  await until(async () => (await ask('openai/plain')).status === 200)
  const seen: string[] = []
  for (const model of ['leaky', 'refused', 'broken', 'mute', 'plain', 'nowhere'])
    for (const stream of [false, true])
      seen.push(await (await ask(`openai/${model}`, { stream })).text().catch(() => ''))
  seen.push(await (await ask('openai/plain', { [planted.prompt]: 1, temperature: planted.prompt })).text())
  await until(async () => (await checkpointsOf(operator.platform.log)).length > 0)
  await operator.caughtUp()
  await operator.stop()
  t.equal(await gateway.end('SIGTERM'), 0)

  t.notOk(
    seen.some((body) => body.includes(planted.upstreamKey) || body.includes(new URL(sandbox.url).host)),
    'no answer tells what is upstream',
  )
  const forbidden = [planted.prompt, planted.answer, planted.upstreamKey, secret, planted.signingKey, pemOf(signer)]
  const files = await filesBelow(dataFolder)
  t.ok(files.length > 100, 'the stores of NATS and PostgreSQL are searched')
  for (const file of files) {
    const bytes = await readFile(file)
    for (const text of forbidden) if (bytes.includes(text)) t.fail(`${file} holds ${text.slice(0, 12)}…`)
  }
  for (const text of forbidden) t.notOk(gateway.logged.includes(text), 'nor our own log')
  t.not(gateway.logged, '')
})
