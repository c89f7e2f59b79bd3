import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { parseSigningKey, signingKeyText } from '../../../src/audit/keys.ts'
import { deriveVerifier, type Signer } from '../../../src/audit/note.ts'
import type { Config } from '../../../src/config/config.ts'
import { answeringSurfaces } from '../../../src/config/providers.ts'
import type { CatalogProvider } from '../../../src/domain/routing/plan.ts'
import { until } from '../../support/clients.ts'
import { bedrockRegion } from '../../support/clouds/bedrock.ts'
import { type CloudGate, startCloud } from '../../support/clouds/cloud.ts'
import { prepareDataFolder } from '../../support/clusters.ts'
import { configOf, openOperator, pricesOf, runtime, sheetOf, temporaryFolder } from '../../support/gateway.ts'
import { GatewayProcess } from '../../support/gateway-process.ts'
import { failing, healthAt, scrape } from '../../support/metrics.ts'
import { startReceiver } from '../../support/receiver.ts'
import { checkpointsOf } from '../../support/sealing.ts'
import { newVideo, pollVideo, quick, videoOptions } from '../../support/video.ts'

const planted = {
  prompt: 'PLANTED-PROMPT-7f3a',
  answer: 'planted-tool-91c2',
  upstreamKey: 'sk-upstream-secret',
  accessKey: 'PLANTED-ACCESS-20c4',
  secretKey: 'PLANTED-SECRET-b1e8',
  awsKeyId: 'AKIAPLANTED0000000C7',
  awsSecret: 'PLANTED-AWS-SECRET-4d2e',
  awsSession: 'PLANTED-AWS-SESSION-88f1',
  callback: 'PLANTED-CALLBACK-55d0',
  callbackSecret: 'PLANTED-SIGNER-0a9f',
  signingKey: signingKeyText(Buffer.from('a planted seed that signs things')),
}

const adminTokenFile = 'admin-token'

const signer = parseSigningKey('gateway.test/ledger', planted.signingKey)

/** The line of it that holds the key. */
const pemOf = ({ privateKey }: Signer): string =>
  String(privateKey.export({ type: 'pkcs8', format: 'pem' })).split('\n')[1]!

/** As the sandbox vendor words it where it is told to leak. */
const vendorLeak = 'API key sandbox'

/** What is asked for waits in the queues, and only there. */
const isOfQueue = (file: string): boolean => file.includes('_TASKS')

/** A vendor that does not know our key. */
const strangeVendor = (baseUrl: string): Config['videoVendors'][number] => ({
  name: 'vx',
  baseUrl,
  credential: { type: 'pair', accessKey: planted.accessKey, secretKey: planted.secretKey },
  callsPerSecond: 10,
})

/** A cloud that answers with all that it was sent, as a refusal of the request or of the credential. */
const echoingCloud: CloudGate = ({ path, headers }) => ({
  status: path.includes('denied') ? 403 : 400,
  json: { message: `Refused: ${JSON.stringify(headers)}` },
})

const awsProvider = (baseUrl: string): Config['providers'][number] => ({
  name: 'aws',
  dialect: 'bedrock',
  profile: 'openai',
  baseUrl,
  apiKey: '',
  models: {},
  authentication: {
    type: 'aws_keys',
    region: bedrockRegion,
    accessKeyId: planted.awsKeyId,
    secretAccessKey: planted.awsSecret,
    sessionToken: planted.awsSession,
  },
})

const filesBelow = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** A video of every outcome; resolves with what is told of those that failed. */
const runVideos = async (t: Test, { url }: GatewayProcess, secret: string): Promise<readonly string[]> => {
  const receiver = await startReceiver(t)
  receiver.answerWith(({ path }) => (path.startsWith('/failing') ? 500 : 200))
  const make = (path: string, directives: string, model = 'vv/v3'): Promise<string> =>
    newVideo(url, secret, {
      model,
      prompt: `${planted.prompt} ${directives}`,
      more: { callback_url: `${receiver.url}/${path}?token=${planted.callback}` },
    })
  await make('unknown', '', 'vx/v3')
  await make('made', '[[queue_ms=0;run_ms=0]]')
  await make('lost', '[[break;done;first=1]][[on=query;status=500;leak=see;first=2]]')
  const failing = [
    await make('failing', '[[queue_ms=0;run_ms=0;failed;fail_message=No.]]'),
    await make('refused', '[[code=1301;leak=see]]'),
  ]
  const calledBack = (): number => new Set(receiver.delivered.map(({ path }) => path)).size
  await until(() => calledBack() === 4)
  return Promise.all(failing.map(async (taskId) => JSON.stringify((await pollVideo(url, secret, taskId)).body)))
}

/** Keys and prompts wherever a caller can put them: in bodies, headers, paths and queries. */
const askOtherSurfaces = async (url: string, secret: string): Promise<void> => {
  const key = { 'x-api-key': secret, 'anthropic-version': '2023-06-01', 'x-note': planted.prompt }
  const messages = [{ role: 'user', content: planted.prompt }]
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${url}${path}?key=${secret}&note=${planted.callback}`, {
      method: 'POST',
      headers: { ...key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const gemini = (target: string): Promise<Response> =>
    fetch(`${url}/v1beta/models/${target}key=${secret}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: planted.prompt }] }] }),
    })
  const ofGemini = await Promise.all([
    gemini('openai/plain:generateContent?'),
    gemini('openai/plain:streamGenerateContent?alt=sse&'),
    gemini('openai/plain:countTokens?'),
    gemini('openai/leaky:generateContent?'),
    gemini('openai/refused:streamGenerateContent?'),
    gemini('openai/plain:generateContent?alt=proto&'),
    gemini('openai/plain:unknown?'),
    gemini(`openai/plain:generateContent?key=${secret}&`),
    fetch(`${url}/v1beta/models?key=${secret}&pageSize=0`),
    fetch(`${url}/v1beta/models/openai/none?key=${secret}`),
  ])
  for (const answer of ofGemini) if ((await answer.text()).includes(secret)) throw new Error('an answer has the key')
  const prompt = `${planted.prompt} [[queue_ms=0;run_ms=0]]`
  const answers = await Promise.all([
    post('/v1/messages', { model: 'openai/plain', max_tokens: 5, messages }),
    post('/v1/messages/count_tokens', { model: 'openai/plain', messages }),
    post('/v1/responses', { model: 'openai/plain', input: planted.prompt }),
    post('/vv/v1/videos/text2video', { model_name: 'vv/v3', prompt }),
    post('/v1/videos', { model: 'vv/v3', prompt }),
    post(`/v1/${planted.prompt}`, {}),
    fetch(`${url}/v1/responses/${planted.prompt}?key=${secret}`, { headers: key }),
    fetch(`${url}/v1/video/generations/${planted.prompt}`, { headers: key }),
    fetch(`${url}/v1/models/${planted.prompt}?key=${secret}`),
    fetch(`${url}/v1/chat/completions`, { headers: { authorization: `Bearer ${planted.prompt}` } }),
  ])
  for (const answer of answers) await answer.text()
}

/** Changes of every kind over the admin API, and what it refuses; resolves with the token and the secrets that it showed once. */
const administrate = async ({ url }: GatewayProcess, dataFolder: string): Promise<readonly string[]> => {
  const token = (await readFile(join(dataFolder, adminTokenFile), 'utf8')).trim()
  const ask = async (authorization: string, path: string, body: object): Promise<Record<string, string>> => {
    const headers = { authorization, 'content-type': 'application/json' }
    const response = await fetch(`${url}/admin/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as Record<string, string>
  }
  await ask(`Bearer ${token}`, 'workspaces', { id: 'globex' })
  const { id, secret } = await ask(`Bearer ${token}`, 'keys', { workspace: 'globex', name: 'ci' })
  const rotated = await ask(`Bearer ${token}`, `keys/${id}/rotate`, { grace_seconds: 60 })
  await ask(`Bearer ${token}`, 'keys', { workspace: token, name: token })
  await ask(token, 'workspaces', { id: 'initech' })
  return [token, secret, rotated['secret']].map(String)
}

const modelSheets = (models: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.keys(models).map((name) => [`openai/${name}`, sheetOf()]))

const awsModels = ['anthropic.refused', 'anthropic.denied', 'amazon.refused', 'amazon.denied']
const awsSheets = Object.fromEntries(awsModels.map((name) => [`aws/${name}`, sheetOf()]))

const configWith = (dataFolder: string, sandboxUrl: string, cloudUrl: string): Config => {
  const models = {
    leaky: 'leaky;status=401;leak',
    refused: 'refused;status=400;leak',
    broken: 'broken;break_after=3',
    mute: 'mute;no_usage',
  }
  const config = configOf(dataFolder, sandboxUrl, { models, ...videoOptions(modelSheets(models)) })
  const [film] = config.prices.prices.filter(({ model }) => model === 'vv/v3')
  return {
    ...config,
    providers: [...config.providers, awsProvider(cloudUrl)],
    videoVendors: [...config.videoVendors, strangeVendor(sandboxUrl)],
    catalog: {
      ...config.catalog,
      providers: new Map<string, CatalogProvider>([
        ...config.catalog.providers,
        ['vx', { models: {}, surfaces: ['video'] }],
        ['aws', { models: {}, surfaces: answeringSurfaces }],
      ]),
    },
    prices: {
      prices: [...config.prices.prices, { ...film!, model: 'vx/v3' }, ...pricesOf(awsSheets).prices],
    },
    audit: { sealing: true, origin: signer.name, signer, verifier: deriveVerifier(signer), previous: [] },
    callbacks: { secret: planted.callbackSecret, allowPrivateAddresses: true },
    observe: { host: '127.0.0.1', port: 0 },
  }
}

t.test('after a run with every kind of outcome, no planted secret is anywhere on disk', async (t) => {
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const settingsFolder = await temporaryFolder(t)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const config = configWith(dataFolder, sandbox.url, await startCloud(t, echoingCloud))
  const gateway = await GatewayProcess.start(config, { settingsFolder, logLevel: 'debug', bounds: quick })
  const operator = await openOperator(config, quick)
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
  const models = ['leaky', 'refused', 'broken', 'mute', 'plain', 'nowhere'].map((name) => `openai/${name}`)
  for (const model of [...models, ...awsModels.map((name) => `aws/${name}`)])
    for (const stream of [false, true]) seen.push(await (await ask(model, { stream })).text().catch(() => ''))
  seen.push(await (await ask('openai/plain', { [planted.prompt]: 1, temperature: planted.prompt })).text())
  await askOtherSurfaces(gateway.url, secret)
  seen.push(...(await runVideos(t, gateway, secret)))
  const shownOnce = await administrate(gateway, dataFolder)
  t.ok(shownOnce.every((text) => text.length > 40))
  await until(async () => (await checkpointsOf(operator.platform.log)).length > 0)
  await operator.caughtUp()
  await operator.stop()
  const health = await healthAt(gateway.observeUrl, '/readyz')
  t.same(failing(health), [])
  const told = [JSON.stringify(health), (await scrape(gateway.observeUrl)).text]
  t.equal(await gateway.end('SIGTERM'), 0)

  t.equal(seen.filter((body) => body.includes('Refused: ')).length, 4, 'the refusals of the cloud are shown')
  t.notOk(
    seen.some((body) =>
      [planted.upstreamKey, planted.awsKeyId, planted.awsSession, new URL(sandbox.url).host, vendorLeak].some((text) =>
        body.includes(text),
      ),
    ),
    'no answer tells what is upstream',
  )
  const requests = [planted.prompt, planted.answer, planted.callback]
  const { upstreamKey, accessKey, secretKey, callbackSecret, signingKey, awsKeyId, awsSecret, awsSession } = planted
  const keys = [
    upstreamKey,
    awsKeyId,
    awsSecret,
    awsSession,
    accessKey,
    secretKey,
    callbackSecret,
    signingKey,
    pemOf(signer),
    secret,
    ...shownOnce,
  ]
  const files = await filesBelow(dataFolder)
  t.ok(files.length > 100, 'the stores of NATS and PostgreSQL are searched')
  t.ok(files.some(isOfQueue), 'the work queues are found')
  for (const file of files) {
    const bytes = await readFile(file)
    if (file === join(dataFolder, adminTokenFile)) continue
    for (const text of isOfQueue(file) ? keys : [...keys, ...requests])
      if (bytes.includes(text)) t.fail(`${file} holds ${text.slice(0, 16)}…`)
  }
  for (const text of [...keys, ...requests, vendorLeak]) {
    t.notOk(gateway.logged.includes(text), 'nor our own log')
    t.notOk(
      told.some((each) => each.includes(text)),
      'nor what operators are told',
    )
  }
  const lines = gateway.logged.split('\n').filter((line) => line.includes('"event":"request.served"'))
  t.ok(lines.length > 20, 'requests have lines')
  for (const surface of ['chat', 'messages', 'responses', 'video', 'native-video', 'gemini', 'none'])
    t.ok(
      lines.some((line) => line.includes(`"surface":"${surface}"`)),
      surface,
    )
  t.match(gateway.logged, /"event":"video.vendor_failed"/)
})
