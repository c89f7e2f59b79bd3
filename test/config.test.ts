import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { ConfigError, readConfig, surfacesOf } from '../src/config.ts'
import { dialects } from '../src/providers/dialects.ts'
import { roleNames } from '../src/roles/role.ts'

const example = fileURLToPath(new URL('../deploy/gateway.yaml', import.meta.url))
const nats = { GATEWAY_NATS_USER: 'someone', GATEWAY_NATS_PASSWORD: 'something' }
const database = { DATABASE_URL: 'postgres://someone@db/gateway' }
const keys = { OPENAI_API_KEY: 'sk-one', GEMINI_API_KEY: 'sk-two' }

const fileWith = (t: Test, content: object): string =>
  join(t.testdir({ 'gateway.yaml': JSON.stringify(content) }), 'gateway.yaml')

t.test('the example of a deployment holds for each role with the secrets of that role alone', async (t) => {
  for (const role of roleNames) {
    const env = { ...nats, ...(role === 'proxy' ? keys : database) }
    const config = readConfig(env, { file: example, role })
    t.equal(config.external?.databaseUrl, role === 'proxy' ? null : database.DATABASE_URL)
    t.same(
      config.providers.map(({ apiKey }) => apiKey),
      role === 'proxy' ? Object.values(keys) : [],
      `${role} holds no key that it does not use`,
    )
    t.same([...config.catalog.providers.keys()], ['openai', 'google'])
    t.match(config.external?.nats, {
      user: 'someone',
      tls: { caFile: fileURLToPath(new URL('../deploy/ca.pem', import.meta.url)) },
    })
  }
})

t.test('a role that misses a secret it needs says which', async (t) => {
  t.throws(() => readConfig({ ...nats, ...database }, { file: example, role: 'proxy' }), {
    message: /providers\.openai\.api_key: the environment variable OPENAI_API_KEY is not set\n.*GEMINI_API_KEY/,
  })
  t.throws(() => readConfig({ ...nats, ...keys }, { file: example, role: 'edge' }), {
    message: /DATABASE_URL is not set/,
  })
})

t.test('a key that stands in the file or the environment stays out of an edge', async (t) => {
  const provider = { dialect: 'openai', base_url: 'https://api.example/v1', api_key: 'sk-literal', models: { a: 'b' } }
  const file = fileWith(t, { providers: { mine: provider } })
  const edge = readConfig({ ...keys }, { file, role: 'edge' })
  t.notMatch(JSON.stringify(edge), /sk-/)
  t.same([...edge.catalog.providers], [['mine', { models: { a: 'b' }, surfaces: ['chat', 'messages', 'responses'] }]])
  const bare = readConfig({ OPENAI_API_KEY: 'sk-one' }, { file: fileWith(t, {}), role: 'edge' })
  t.notMatch(JSON.stringify(bare), /sk-/)
  t.same(
    [...bare.catalog.providers.keys()],
    ['openai', 'anthropic', 'grok', 'google'],
    'the proxies may have any of the known keys',
  )
})

t.test('the surfaces of a provider are those that its dialect has', async (t) => {
  for (const dialect of ['openai', 'anthropic', 'google'] as const)
    t.same(surfacesOf(dialect, 'openai'), Object.keys(dialects[dialect]), dialect)
  t.same(surfacesOf('openai', 'gemini'), ['chat', 'messages'])
})

t.test('limits in seconds, and their bounds', async (t) => {
  const limits = { request_deadline_seconds: 30, drain_seconds: 0 }
  t.match(readConfig({}, { file: fileWith(t, { limits }) }), { requestDeadlineMs: 30_000, drainMs: 0 })
  const file = fileWith(t, { limits: { request_deadline_seconds: 0, drain_seconds: 1.5 } })
  t.throws(() => readConfig({}, { file }), ConfigError)
  t.throws(() => readConfig({}, { file }), { message: /2 problems/ })
})

t.test('a certificate without its key is refused', async (t) => {
  const file = fileWith(t, { nats: { url: 'tls://one:4222', tls: { cert_file: 'a.pem' } } })
  t.throws(() => readConfig(database, { file }), { message: /key_file/ })
})
