import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startSandbox } from '../../sandbox/server.ts'
import { asText, type JsonObject } from '../../src/encoding/json.ts'
import { azureAccount, azureGate, entraApplication, entraGate } from '../support/clouds/azure.ts'
import { AwsAccount, bedrockGate, bedrockRegion, staticKeys } from '../support/clouds/bedrock.ts'
import { IssuedTokens, startCloud } from '../support/clouds/cloud.ts'
import { googleTokenGate, serviceAccount, vertexGate, vertexPath } from '../support/clouds/google.ts'
import { runtime, temporaryFolder } from '../support/gateway.ts'
import { type Ended, runWords } from '../support/program.ts'

const sandbox = await startSandbox(runtime)
t.teardown(() => sandbox.stop())
const tokens = new IssuedTokens()
const azure = await startCloud(t, azureGate(sandbox.url, tokens))
const authority = await startCloud(t, entraGate(tokens))
const vertex = await startCloud(t, vertexGate(sandbox.url, tokens))
const googleTokens = await startCloud(t, googleTokenGate(tokens))
const bedrock = await startCloud(t, bedrockGate(sandbox.url, new AwsAccount()))
const folder = await temporaryFolder(t)
await writeFile(join(folder, 'account.json'), JSON.stringify(serviceAccount(googleTokens)))

const wrongKey = 'azure-key-that-is-wrong-0123456789'
const { tenantId: tenant_id, clientId: client_id, clientSecret: client_secret } = entraApplication
const entra = { type: 'entra_application', authority, tenant_id, client_id, client_secret }
const dated = { dialect: 'azure', base_url: `${azure}/openai`, api_version: azureAccount.apiVersion }
const awsKeys = {
  type: 'aws_keys',
  region: bedrockRegion,
  access_key_id: staticKeys.accessKeyId,
  secret_access_key: staticKeys.secretAccessKey,
}
const providers = {
  openai: {
    dialect: 'openai',
    base_url: sandbox.url,
    api_key: 'sk-of-the-test-0123456789',
    deployments: [{ name: 'here' }, { name: 'gone', base_url: 'http://127.0.0.1:9/v1', models: { plain: 'plain' } }],
  },
  anthropic: { dialect: 'anthropic', base_url: sandbox.url, api_key: 'sk-ant-of-the-test' },
  google: { dialect: 'google', base_url: `${sandbox.url}beta`, api_key: 'a-google-key-of-the-test' },
  azure: { ...dated, authentication: entra },
  'azure-wrong': { ...dated, api_key: wrongKey },
  'azure-no-token': { ...dated, authentication: { ...entra, client_secret: 'the-wrong-secret-of-an-application' } },
  vertex: {
    dialect: 'vertex',
    base_url: vertex + vertexPath,
    authentication: { type: 'google_credentials', credentials_file: join(folder, 'account.json') },
  },
  bedrock: { dialect: 'bedrock', base_url: bedrock, authentication: awsKeys },
  'bedrock-wrong': {
    dialect: 'bedrock',
    base_url: bedrock,
    authentication: { ...awsKeys, secret_access_key: 'the-wrong-secret-of-an-account' },
  },
  'bedrock-region': { dialect: 'bedrock', base_url: bedrock, authentication: { ...awsKeys, region: 'us-east-1' } },
  'bedrock-no-file': {
    dialect: 'bedrock',
    base_url: bedrock,
    authentication: { type: 'aws_profile', region: bedrockRegion, credentials_file: join(folder, 'absent') },
  },
  vv: { dialect: 'vv-video', base_url: sandbox.url, api_key: 'wrong-key-of-a-vendor' },
}
await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ providers }))

const command = (...words: readonly string[]): Promise<Ended> =>
  runWords(folder, ['--config', join(folder, 'gateway.yaml'), 'provider', 'test', ...words])

interface Tested {
  readonly ended: Ended
  readonly results: readonly JsonObject[]
  /** By check, of the deployment `named`. */
  readonly of: (named?: string) => Readonly<Record<string, unknown>>
}

const test = async (...words: readonly string[]): Promise<Tested> => {
  const ended = await command(...words, '--json')
  const results = ended.out
    .trim()
    .split('\n')
    .map((line): JsonObject => JSON.parse(line))
  const of = (named = '') =>
    Object.fromEntries(
      results.filter(({ deployment }) => deployment === named).map(({ check, result }) => [asText(check), result]),
    )
  return { ended, results, of }
}

const allWell = { reach: 'ok', authentication: 'ok', answer: 'ok', stream: 'ok', usage: 'ok' }

t.test('each deployment is called, and one that is not there fails', async (t) => {
  const { ended, results, of } = await test('openai', '--model', 'openai/plain')
  t.equal(ended.code, 1)
  t.match(ended.err, /can cost some tokens/)
  t.match(of('here'), { ...allWell, models: 'ok', count_tokens: 'skipped' })
  t.match(of('gone'), { reach: 'failed', authentication: 'skipped', answer: 'failed', usage: 'skipped' })
  const gone = results.find(({ deployment, check }) => deployment === 'gone' && check === 'reach')
  t.match(gone, { detail: /ECONNREFUSED/ })
  const other = await test('openai', '--model', 'other')
  t.equal(other.ended.code, 0)
  t.match(other.of('gone'), { answer: 'skipped' })
})

t.test('a model of embeddings is asked for a vector alone', async (t) => {
  const { of } = await test('openai', '--model', 'text-embedding-3-small')
  t.match(of('here'), { reach: 'ok', embeddings: 'ok' })
  t.notOk(of('here')['answer'])
})

for (const [name, model, expected] of [
  ['anthropic', 'claude-haiku-4-5', { ...allWell, models: 'ok', count_tokens: 'ok' }],
  ['google', 'gemini-2.5-flash', { ...allWell, models: 'ok', count_tokens: 'skipped' }],
  ['azure', 'plain', { ...allWell, models: 'skipped' }],
  ['vertex', 'claude-plain', { ...allWell, models: 'skipped', count_tokens: 'ok' }],
  ['vertex', 'gemini-plain', allWell],
  ['bedrock', 'eu.anthropic.claude-plain', { ...allWell, models: 'skipped' }],
  ['bedrock', 'amazon.nova-plain', { ...allWell, models: 'skipped', count_tokens: 'skipped' }],
] as const)
  t.test(`${name}: ${model}`, async (t) => t.match((await test(name, '--model', model)).of(), expected))

t.test('what an upstream refuses has its own words, and no secret', async (t) => {
  const key = await test('azure-wrong', '--model', 'plain')
  t.equal(key.ended.code, 1)
  t.match(key.of(), { reach: 'ok', authentication: 'failed', answer: 'failed' })
  t.match(
    key.results.find(({ check }) => check === 'answer'),
    { detail: /^401 Access denied due to invalid/ },
  )
  const token = await test('azure-no-token', '--model', 'plain')
  t.match(
    token.results.find(({ check }) => check === 'authentication'),
    { result: 'failed', detail: /AADSTS7000215/ },
  )
  const signature = await test('bedrock-wrong', '--model', 'amazon.nova-plain')
  t.match(signature.of(), { reach: 'ok', authentication: 'failed', answer: 'failed', models: 'skipped' })
  t.match(
    signature.results.find(({ check }) => check === 'authentication'),
    { detail: /^403 The request signature we calculated does not match/ },
  )
  const region = await test('bedrock-region', '--model', 'amazon.nova-plain')
  t.match(
    region.results.find(({ check }) => check === 'authentication'),
    { result: 'failed', detail: /^403 Credential should be scoped to a valid region/ },
  )
  const file = await test('bedrock-no-file', '--model', 'amazon.nova-plain')
  t.match(
    file.results.find(({ check }) => check === 'authentication'),
    { result: 'failed', detail: /has no aws_access_key_id|cannot be read/ },
  )
  const vendor = await test('vv')
  t.match(vendor.of(), { reach: 'ok', authentication: 'failed' })
  for (const { ended } of [key, token, signature, vendor])
    t.notMatch(ended.out + ended.err, /that-is-wrong|the-wrong-secret|wrong-key-of/)
})

t.test('a provider that is not configured is named with those that are', async (t) => {
  const { code, err } = await command('opnai')
  t.equal(code, 2)
  t.match(err, /no provider `opnai` is configured: there are openai, anthropic, google, azure/)
})
