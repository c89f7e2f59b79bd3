import { createPrivateKey, hash } from 'node:crypto'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { signingKeyText } from '../../src/audit/keys.ts'
import { createSigner, deriveVerifier, verifierText } from '../../src/audit/note.ts'
import { readConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/config-error.ts'
import { configLimits } from '../../src/config/limits.ts'
import { answeringSurfaces } from '../../src/config/providers.ts'
import { dialects } from '../../src/providers/dialects.ts'
import { roleNames } from '../../src/roles/role.ts'
import { sharedLimits } from '../../src/runtime/limits.ts'
import { makeCertificates } from '../support/certificates.ts'

const example = fileURLToPath(new URL('../../deploy/gateway.yaml', import.meta.url))
const nats = { GATEWAY_NATS_USER: 'someone', GATEWAY_NATS_PASSWORD: 'something' }
const database = { DATABASE_URL: 'postgres://someone@db/gateway' }
const seed = Buffer.alloc(32, 7)
const signingKey = { GATEWAY_SIGNING_KEY: signingKeyText(seed) }
const publicKey = {
  GATEWAY_PUBLIC_KEY: verifierText(deriveVerifier(createSigner('gateway.example.com/ledger', seed))),
}
const adminToken = { GATEWAY_ADMIN_TOKEN: 'a-token-of-ana-that-nobody-can-guess' }
const vendorKeys = { VV_ACCESS_KEY: 'ak-one', VV_SECRET_KEY: 'sk-vendor' }
const callbackSecret = { GATEWAY_CALLBACK_SECRET: 'a-secret-that-nobody-guesses' }
const keys = { OPENAI_API_KEY: 'sk-one', GEMINI_API_KEY: 'sk-two' }

const fileWith = (t: Test, content: object): string =>
  join(t.testdir({ 'gateway.yaml': JSON.stringify(content) }), 'gateway.yaml')

const thrownBy = (work: () => unknown): Error => {
  try {
    work()
  } catch (fault) {
    return fault as Error
  }
  throw new Error('nothing was thrown')
}

t.test('the example of a deployment holds for each role with the secrets of that role alone', async (t) => {
  for (const role of roleNames) {
    const env = {
      ...nats,
      ...publicKey,
      ...(role === 'proxy' ? keys : database),
      ...(role === 'video-poller' || role === 'proxy' ? vendorKeys : {}),
      ...(role === 'video-poller' ? callbackSecret : {}),
      ...(role === 'scheduler' ? signingKey : {}),
      ...(role === 'edge' ? adminToken : {}),
    }
    const config = readConfig(env, { file: example, role })
    t.equal(config.external?.databaseUrl, role === 'proxy' ? null : database.DATABASE_URL)
    t.same(
      config.providers.map(({ apiKey }) => apiKey),
      role === 'proxy' ? Object.values(keys) : [],
      `${role} holds no key that it does not use`,
    )
    t.equal(config.audit.signer === null, role !== 'scheduler')
    t.equal(verifierText(config.audit.verifier!), publicKey.GATEWAY_PUBLIC_KEY, `${role} can check a snapshot`)
    t.same(
      config.admins,
      role === 'edge' ? [{ name: 'ana', sha256: hash('sha256', adminToken.GATEWAY_ADMIN_TOKEN), role: 'owner' }] : [],
    )
    t.notMatch(JSON.stringify(config.admins), adminToken.GATEWAY_ADMIN_TOKEN)
    t.equal(config.audit.origin, 'gateway.example.com/ledger')
    t.same(
      config.videoVendors.map(({ credential }) => credential),
      role === 'video-poller' || role === 'proxy'
        ? [{ type: 'pair', accessKey: 'ak-one', secretKey: 'sk-vendor' }]
        : [],
    )
    t.same(config.callbacks, {
      secret: role === 'video-poller' ? callbackSecret.GATEWAY_CALLBACK_SECRET : null,
      allowPrivateAddresses: false,
    })
    t.same([...config.catalog.providers.keys()], ['openai', 'google', 'vv'])
    t.match(config.external?.nats, {
      user: 'someone',
      tls: { caFile: fileURLToPath(new URL('../../deploy/ca.pem', import.meta.url)) },
    })
  }
})

t.test('a role that misses a secret it needs says which', async (t) => {
  t.throws(() => readConfig({ ...nats, ...publicKey, ...database }, { file: example, role: 'proxy' }), {
    message:
      /4 problems\n.*openai\.api_key: the environment variable OPENAI_API_KEY is not set\n.*GEMINI_API_KEY.*\n.*VV_ACCESS_KEY/,
  })
  t.throws(() => readConfig({ ...nats, ...publicKey, ...database, ...keys }, { file: example, role: 'video-poller' }), {
    message:
      /3 problems\n.*VV_ACCESS_KEY is not set\n.*VV_SECRET_KEY.*\n.*callbacks\.secret: .* GATEWAY_CALLBACK_SECRET/,
  })
  t.throws(() => readConfig({ ...nats, ...publicKey, ...keys }, { file: example, role: 'edge' }), {
    message: /DATABASE_URL is not set/,
  })
  t.throws(() => readConfig({ ...nats, ...publicKey, ...database }, { file: example, role: 'scheduler' }), {
    message: /audit\.signing_key: the environment variable GATEWAY_SIGNING_KEY is not set/,
  })
})

t.test('a variable needs no quotes, whatever stands beside it', (t) => {
  const keyOf = (entry: string): string | undefined => {
    const file = join(t.testdir({ 'gateway.yaml': `providers:\n  openai: ${entry}\n` }), 'gateway.yaml')
    return readConfig({ MINE: `it's "one" #` }, { file, role: 'proxy' }).providers[0]?.apiKey
  }
  const flows = [
    '{ dialect: openai, base_url: "https://api.openai.com/v1", api_key: ${MINE} }',
    "{ api_key: ${MINE}, dialect: 'openai', base_url: https://api.openai.com/v1 } # ana's, { x: ${NOBODY} }",
    '{dialect: openai, # it\'s [${NOBODY}]\n    base_url: "https://api.openai.com/v1","api_key":${MINE}}',
    '{ dialect: openai, base_url: https://api.openai.com/v1, api_key: "${MINE}" }',
    '\n    { dialect: openai, base_url: https://api.openai.com/v1, api_key:\n      ${MINE} }',
    "\n    dialect: openai\n    base_url: 'https://api.openai.com/v1'\n    api_key: ${MINE} # { a: ${NOBODY} }",
  ]
  for (const flow of flows) t.equal(keyOf(flow), `it's "one" #`, flow)
  const text = keyOf('{ dialect: openai, base_url: "https://api.openai.com/v1", api_key: "{ a: ${MINE} }" }')
  t.equal(text, `{ a: it's "one" # }`, 'what is in quotes is a text')
  t.end()
})

t.test('a key that stands in the file or the environment stays out of an edge', async (t) => {
  const provider = { dialect: 'openai', base_url: 'https://api.example/v1', api_key: 'sk-literal', models: { a: 'b' } }
  const file = fileWith(t, { providers: { mine: provider } })
  const edge = readConfig({ ...keys }, { file, role: 'edge' })
  t.notMatch(JSON.stringify(edge), /sk-/)
  t.same(
    [...edge.catalog.providers],
    [['mine', { models: { a: 'b' }, surfaces: answeringSurfaces, profile: 'openai' }]],
  )
  const ofXai = fileWith(t, { providers: { mine: { ...provider, base_url: 'https://api.x.ai/v1' } } })
  t.equal(readConfig({ ...keys }, { file: ofXai, role: 'edge' }).catalog.providers.get('mine')?.profile, 'xai')
  t.equal(readConfig({ ...keys }, { file: ofXai, role: 'proxy' }).providers[0]?.profile, 'xai')
  const bare = readConfig({ OPENAI_API_KEY: 'sk-one' }, { file: fileWith(t, {}), role: 'edge' })
  t.notMatch(JSON.stringify(bare), /sk-/)
  t.same(
    [...bare.catalog.providers.keys()],
    ['openai', 'anthropic', 'grok', 'google'],
    'the proxies may have any of the known keys',
  )
})

t.test('a model that clouds sell too is known by its bare name as its maker’s', async (t) => {
  const { aliases } = readConfig({ ...keys }, { file: fileWith(t, {}) }).catalog
  for (const model of ['openai/gpt-5-mini', 'google/gemini-2.5-flash', 'anthropic/claude-sonnet-5'])
    t.equal(aliases[model.slice(model.indexOf('/') + 1)], model)
})

t.test('where its maker is not configured, a bare name is the model of a provider that is', async (t) => {
  const azure = { dialect: 'azure', base_url: 'https://example.openai.azure.com/openai/v1', api_key: 'k' }
  const openai = { dialect: 'openai', base_url: 'https://api.openai.com/v1', api_key: 'k' }
  const aliasesWith = (providers: object) => readConfig({}, { file: fileWith(t, { providers }) }).catalog.aliases
  t.match(aliasesWith({ azure }), { 'gpt-5-mini': 'azure/gpt-5-mini', 'claude-sonnet-5': 'anthropic/claude-sonnet-5' })
  t.match(aliasesWith({ azure, openai }), { 'gpt-5-mini': 'openai/gpt-5-mini' })
})

t.test('the way to a provider: its headers, an HTTP proxy and its authority, for those who call it', async (t) => {
  const authority = await makeCertificates()
  t.teardown(() => authority.remove())
  const provider = { dialect: 'openai', base_url: 'https://api.example', api_key: 'k' }
  const way = { headers: { 'x-team': '${TEAM}' }, proxy_url: '${PROXY}', ca_file: authority.caFile }
  const file = fileWith(t, { providers: { a: { ...provider, ...way }, b: provider } })
  const [a, b] = readConfig({ TEAM: 'search', PROXY: 'http://us:pw@proxy.example:3128' }, { file }).providers
  const ca = readFileSync(authority.caFile, 'utf8')
  t.match(a, { headers: { 'x-team': 'search' }, connection: { proxyUrl: 'http://us:pw@proxy.example:3128', ca } })
  t.notOk('headers' in b! || 'connection' in b!)
  t.same(readConfig({}, { file, role: 'edge' }).providers, [], 'an edge needs none of its variables')
  const wrong = {
    a: { ...provider, headers: { authorization: 'x' } },
    b: { ...provider, headers: { 'X-Team': 'x' } },
    c: { ...provider, headers: { 'x-team': 'a\nb' } },
    d: { ...provider, proxy_url: 'socks5://proxy.example' },
    e: { ...vendor, headers: {}, proxy_url: 'http://proxy.example' },
    f: { dialect: 'openai', api_key: 'k' },
  }
  const { problems } = thrownBy(() => readConfig({}, { file: fileWith(t, { providers: wrong }) })) as ConfigError
  t.same([...new Set(problems.map(({ path }) => path))].sort(), [
    'providers.a.headers',
    'providers.b.headers',
    'providers.c.headers.x-team',
    'providers.d.proxy_url',
    'providers.e.headers',
    'providers.e.proxy_url',
    'providers.f.base_url',
  ])
  const lost = { providers: { a: { ...provider, ca_file: 'none.pem' } } }
  t.throws(() => readConfig({}, { file: fileWith(t, lost) }), { message: /providers\.a\.ca_file: none\.pem cannot be/ })
})

t.test('deployments: what one leaves out is the provider’s', async (t) => {
  const provider = { dialect: 'openai', base_url: 'https://api.example/v1/', api_key: 'sk-one', retries: { max: 1 } }
  const deployments = [
    { name: 'eu', weight: 3, requests_per_minute: 60, tokens_per_minute: 9_000 },
    {
      ...{ name: 'us', base_url: 'https://us.example/v1/', api_key: '${US_KEY}', headers: { 'x-region': 'us' } },
      models: { 'gpt-5': 'gpt-5-us' },
    },
  ]
  const given = { ...provider, headers: { 'x-team': 'a' }, deployments }
  const file = fileWith(t, { providers: { openai: given } })
  const [read] = readConfig({ US_KEY: 'sk-two' }, { file }).providers
  t.match(read, { name: 'openai', baseUrl: 'https://api.example/v1', apiKey: 'sk-one' })
  t.match(read?.deployments, [
    {
      ...{ name: 'eu', weight: 3, requestsPerMinute: 60, tokensPerMinute: 9_000 },
      provider: {
        ...{ name: 'openai', deployment: 'eu', baseUrl: 'https://api.example/v1', apiKey: 'sk-one' },
        ...{ headers: { 'x-team': 'a' }, retries: { max: 1 } },
      },
    },
    {
      ...{ name: 'us', weight: 1, models: { 'gpt-5': 'gpt-5-us' } },
      provider: {
        ...{ name: 'openai', deployment: 'us', baseUrl: 'https://us.example/v1', apiKey: 'sk-two' },
        headers: { 'x-team': 'a', 'x-region': 'us' },
      },
    },
  ])
  t.notMatch(JSON.stringify(readConfig({}, { file, role: 'edge' })), /sk-/)
  const own = { base_url: 'https://eu.example', api_key: 'k' }
  const wrong = {
    a: { ...provider, deployments: [{ name: 'eu' }, { name: 'eu' }] },
    b: { dialect: 'openai', deployments: [{ name: 'eu', ...own }, { name: 'us' }] },
    c: { ...provider, deployments: [] },
    d: { ...provider, deployments: [{ name: 'eu', weight: 0 }] },
    e: { ...vendor, deployments: [{ name: 'eu' }] },
  }
  const { problems } = thrownBy(() => readConfig({}, { file: fileWith(t, { providers: wrong }) })) as ConfigError
  t.same(problems.map(({ path }) => path).sort(), [
    'providers.b.deployments[1].api_key',
    'providers.b.deployments[1].base_url',
    'providers.c.deployments',
    'providers.d.deployments[0].weight',
    'providers.e.deployments[0].deployments',
  ])
  const twice = { providers: { a: wrong.a } }
  t.throws(() => readConfig({}, { file: fileWith(t, twice) }), {
    message: /providers\.a\.deployments\[1\]\.name: `eu` is the name of another deployment/,
  })
})

t.test('authorities that were joined without a line break are all read, and a broken one is refused', async (t) => {
  const [one, other] = await Promise.all([makeCertificates(), makeCertificates()])
  t.teardown(() => Promise.all([one.remove(), other.remove()]))
  const [first, second] = [one, other].map(({ caFile }) => readFileSync(caFile, 'utf8').trim())
  const provider = { dialect: 'openai', base_url: 'https://api.example', api_key: 'k', ca_file: 'ca.pem' }
  const readWith = (pem: string) => {
    const folder = t.testdir({ 'gateway.yaml': JSON.stringify({ providers: { a: provider } }), 'ca.pem': pem })
    return readConfig({}, { file: join(folder, 'gateway.yaml') }).providers[0]?.connection?.ca
  }
  t.equal(readWith(`${first}${second}`), `${first}\n${second}`)
  const broken = second!.replace(/\n.{8}/, '\n')
  for (const pem of [broken, `${first}\n${broken}`, 'no certificate', ''])
    t.throws(() => readWith(pem), { message: /providers\.a\.ca_file: ca\.pem cannot be used/ })
})

t.test('a key of two lines is none, and is not shown', (t) => {
  const provider = { dialect: 'openai', base_url: 'https://api.example', api_key: '${KEY}' }
  const { message } = thrownBy(() =>
    readConfig({ KEY: 'sk-a\nsk-b' }, { file: fileWith(t, { providers: { a: provider } }) }),
  )
  t.match(message, /providers\.a\.api_key/)
  t.notMatch(message, /sk-/)
  t.end()
})

t.test('how long a stream is read on after its client has left', async (t) => {
  const provider = { dialect: 'openai', base_url: 'https://api.example', api_key: 'k' }
  const providers = { a: { ...provider, drain_seconds: 30, cancel_stops_billing: true }, b: provider }
  const [a, b] = readConfig({}, { file: fileWith(t, { providers }) }).providers
  t.match(a, { drainMs: 30_000, cancelStopsBilling: true })
  t.notOk('drainMs' in b! || 'cancelStopsBilling' in b!)
})

t.test('how long a call upstream may take, by provider and model, within the time of a request', async (t) => {
  const provider = { dialect: 'openai', base_url: 'https://api.example', api_key: 'k' }
  const timeouts = { connect_seconds: 0.5, first_byte_seconds: 20, models: { 'o-1': { answer_seconds: 900 } } }
  const providers = { a: { ...provider, timeouts }, b: provider }
  const limits = { request_deadline_seconds: 900 }
  const [a, b] = readConfig({}, { file: fileWith(t, { providers, limits }) }).providers
  t.same(a?.timeouts, { connectMs: 500, firstByteMs: 20_000, models: { 'o-1': { answerMs: 900_000 } } })
  t.notOk('timeouts' in b!)
  t.throws(() => readConfig({}, { file: fileWith(t, { providers }) }), {
    message: /providers\.a\.timeouts\.models\.o-1\.answer_seconds: is more than the 600 seconds of a whole request/,
  })
  const retries = { max: 2, budget_seconds: 601 }
  t.throws(() => readConfig({}, { file: fileWith(t, { providers: { c: { ...provider, retries } } }) }), {
    message: /providers\.c\.retries\.budget_seconds: is more than the 600 seconds/,
  })
  const slow = { ...provider, timeouts: { connect_seconds: 11 } }
  t.throws(() => readConfig({}, { file: fileWith(t, { providers: { slow } }) }), { message: /connect_seconds/ })
  const named = {
    ...provider,
    timeouts: { models: { 'c/o-1': {}, 'd/o-1': {} } },
    retries: { models: { 'c/o-2': {} } },
  }
  const { problems } = thrownBy(() => readConfig({}, { file: fileWith(t, { providers: { c: named } }) })) as ConfigError
  t.same(problems, [
    { path: 'providers.c.timeouts.models.c/o-1', message: 'is a name without its provider: write `o-1`' },
    { path: 'providers.c.retries.models.c/o-2', message: 'is a name without its provider: write `o-2`' },
  ])
  const sold = { ...named, models: { 'c/o-1': 'o-1' }, retries: {} }
  t.ok(readConfig({}, { file: fileWith(t, { providers: { c: sold } }) }), 'a model of the provider may begin so')
  const auto = { dialect: 'openai', base_url: 'https://api.example', api_key: 'k' }
  const [first] = (
    JSON.parse(readFileSync(new URL('../../prices.json', import.meta.url), 'utf8')) as {
      readonly prices: readonly object[]
    }
  ).prices
  const priced = { ...auto, timeouts: { models: { 'openrouter/auto': { answer_seconds: 60 } } } }
  const folder = t.testdir({
    'gateway.yaml': JSON.stringify({ prices: 'prices.json', providers: { openrouter: priced } }),
    'prices.json': JSON.stringify({ prices: [{ ...first, model: 'openrouter/openrouter/auto' }] }),
  })
  t.ok(readConfig({}, { file: join(folder, 'gateway.yaml') }))
})

t.test('a workspace never has more than half of the bytes that requests have open', async (t) => {
  const limitsOf = (limits: object) => readConfig({}, { file: fileWith(t, { limits }) })
  const mebibyte = 1024 * 1024
  t.match(limitsOf({ open_megabytes: 2_048, workspace_open_megabytes: 1_024 }), {
    openBytesMax: 2_048 * mebibyte,
    workspaceOpenBytesMax: 1_024 * mebibyte,
  })
  t.match(limitsOf({ open_megabytes: 40 }), { workspaceOpenBytesMax: 64 * mebibyte, warnings: [] })
  for (const [limits, all] of [
    [{ workspace_open_megabytes: 257 }, 512],
    [{ open_megabytes: 100, workspace_open_megabytes: 51 }, 100],
  ] as const)
    t.same(limitsOf(limits).warnings, [
      {
        path: 'limits.workspace_open_megabytes',
        message: `is more than half of the ${all} MiB of all workspaces (limits.open_megabytes), and acts as half`,
      },
    ])
})

t.test('a provider in a region whose prices the price file does not have', async (t) => {
  const warningsOf = (providers: object) => readConfig({}, { file: fileWith(t, { providers }) }).warnings
  const authentication = { type: 'google_credentials' }
  const at = (host: string, location: string) => ({
    base_url: `https://${host}/v1/projects/p/locations/${location}`,
    ...{ dialect: 'vertex', authentication },
  })
  const global = at('aiplatform.googleapis.com', 'global')
  const regional = at('europe-west1-aiplatform.googleapis.com', 'europe-west1')
  t.same(warningsOf({ vertex: global }), [])
  t.same(warningsOf({ 'vertex-eu': regional }), [], 'the price file has none under this name')
  const message =
    /^is in europe-west1, and \d+ prices of the price file, such as that of vertex\/\S+, are of elsewhere \(The global endpoint\)/
  t.match(warningsOf({ vertex: regional }), [{ path: 'providers.vertex.base_url', message }])
  const deployments = [global, regional].map(({ base_url }, place) => ({ name: `d-${place}`, base_url }))
  t.match(warningsOf({ vertex: { dialect: 'vertex', authentication, deployments } }), [
    { path: 'providers.vertex.deployments[1].base_url', message },
  ])
  const bedrock = (region: string, models = {}) => ({
    base_url: `https://bedrock-runtime.${region}.amazonaws.com`,
    ...{ dialect: 'bedrock', api_key: 'key', models },
  })
  t.same(warningsOf({ bedrock: bedrock('us-east-1', { sonnet: 'eu.anthropic.claude-sonnet-5' }) }), [])
  t.match(warningsOf({ bedrock: bedrock('eu-west-1') }), [
    { path: 'providers.bedrock.base_url', message: / 2 prices .* bedrock\/openai\.gpt-oss-120b-1:0, .*US East/ },
  ])
  const name = 'global.anthropic.claude-sonnet-5'
  t.same(warningsOf({ bedrock: bedrock('us-east-1', { [name]: 'eu.anthropic.claude-sonnet-5' }) }), [
    {
      path: `providers.bedrock.models.${name}`,
      message: `has the price of ${name}, and calls eu.anthropic.claude-sonnet-5`,
    },
  ])
})

const vendor = { dialect: 'vv-video', base_url: 'https://vendor.example/v1/', api_key: 'ak-literal' }

t.test('a video vendor, by its key or its pair, for those who call it', async (t) => {
  const pair = { ...vendor, api_key: undefined, access_key: 'ak-a', secret_key: 'sk-b', calls_per_second: 2.5 }
  const providers = { mine: { ...vendor, models: { v3: 'vendor-v3' } }, other: pair }
  const file = fileWith(t, { providers })
  for (const role of ['gateway', 'video-poller', 'proxy'] as const) {
    const config = readConfig({}, { file, role })
    t.same(config.providers, [])
    t.equal(config.sandbox, false)
    t.same(config.videoVendors, [
      {
        name: 'mine',
        baseUrl: 'https://vendor.example/v1',
        credential: { type: 'key', apiKey: 'ak-literal' },
        callsPerSecond: sharedLimits.vendorCallsPerSecond,
      },
      {
        name: 'other',
        baseUrl: 'https://vendor.example/v1',
        credential: { type: 'pair', accessKey: 'ak-a', secretKey: 'sk-b' },
        callsPerSecond: 2.5,
      },
    ])
  }
  for (const role of ['edge', 'projector', 'scheduler', 'operator'] as const) {
    const config = readConfig({}, { file, role })
    t.notMatch(JSON.stringify(config), /ak-|sk-/)
    t.same(
      [...config.catalog.providers],
      [
        ['mine', { models: { v3: 'vendor-v3' }, surfaces: ['video'] }],
        ['other', { models: {}, surfaces: ['video'] }],
      ],
    )
  }
})

t.test('secrets of an authentication are read by those that call providers alone', async (t) => {
  const authentication = { type: 'entra_application', tenant_id: 't', client_id: 'c', client_secret: '${ENTRA}' }
  const dated = { dialect: 'azure', base_url: 'https://r.openai.azure.com/openai', api_version: '2024-10-21' }
  const file = fileWith(t, { providers: { azure: { ...dated, authentication } } })
  const { providers } = readConfig({ ...nats, ENTRA: 'a-secret' }, { file, role: 'proxy' })
  t.match(providers, [
    {
      name: 'azure',
      dialect: 'azure',
      apiKey: '',
      apiVersion: '2024-10-21',
      authentication: {
        authority: 'https://login.microsoftonline.com',
        tenantId: 't',
        clientId: 'c',
        clientSecret: 'a-secret',
        scope: 'https://cognitiveservices.azure.com/.default',
      },
    },
  ])
  t.throws(() => readConfig({ ...nats }, { file, role: 'proxy' }), { message: /client_secret: .* ENTRA is not set/ })
  t.notMatch(JSON.stringify(readConfig({ ENTRA: 'a-secret' }, { file, role: 'edge' })), /a-secret/)

  const identity = { ...dated, api_version: undefined, authentication: { type: 'azure_managed_identity' } }
  const service = { IDENTITY_ENDPOINT: 'http://10.0.0.1/token', IDENTITY_HEADER: 'a-header' }
  const ofIdentity = readConfig(service, { file: fileWith(t, { providers: { azure: identity } }) }).providers[0]
  t.match(ofIdentity?.authentication, {
    type: 'azure_managed_identity',
    clientId: null,
    resource: 'https://ai.azure.com',
    endpoint: { url: 'http://10.0.0.1/token', header: 'a-header' },
    metadataUrl: 'http://169.254.169.254',
  })
})

t.test('a deployment has a credential of its own, of either kind', async (t) => {
  const base_url = 'https://r.openai.azure.com/openai/v1'
  const entra = (name: string) => ({
    ...{ type: 'entra_application', tenant_id: 't', client_id: name, client_secret: `\${${name.toUpperCase()}}` },
  })
  const deployments = [
    { name: 'key', api_key: '${KEY}' },
    { name: 'own', authentication: entra('own') },
    { name: 'inherited' },
  ]
  const azure = { dialect: 'azure', base_url, authentication: entra('all'), deployments }
  const file = fileWith(t, { providers: { azure } })
  const env = { KEY: 'key-of-one', OWN: 'own-secret', ALL: 'secret-of-all' }
  const upstreams = readConfig(env, { file }).providers[0]?.deployments?.map(({ provider }) => provider)
  t.match(upstreams, [
    { apiKey: 'key-of-one', authentication: undefined },
    { apiKey: '', authentication: { clientId: 'own', clientSecret: 'own-secret' } },
    { apiKey: '', authentication: { clientId: 'all', clientSecret: 'secret-of-all' } },
  ])
  t.notMatch(JSON.stringify(readConfig(env, { file, role: 'edge' })), /own-secret|secret-of-all|key-of-one/)
  const wrong = [
    { name: 'both', api_key: 'k', authentication: entra('own') },
    { name: 'other', authentication: { type: 'google_credentials' } },
    { name: 'less', authentication: { type: 'entra_application', tenant_id: 't', client_id: 'c' } },
  ]
  const { problems } = thrownBy(() =>
    readConfig(env, { file: fileWith(t, { providers: { azure: { ...azure, deployments: wrong } } }) }),
  ) as ConfigError
  t.same(problems.map(({ path }) => path).sort(), [
    'providers.azure.deployments[0].authentication',
    'providers.azure.deployments[1].authentication.type',
    'providers.azure.deployments[2].authentication.client_secret',
  ])
})

t.test('a model is served where a deployment lists it, or one lists none', async (t) => {
  const provider = { dialect: 'openai', base_url: 'https://api.example/v1', api_key: 'k' }
  const servedBy = (...deployments: readonly object[]) => {
    const file = fileWith(t, { providers: { openai: { ...provider, deployments } } })
    return readConfig({}, { file, role: 'edge' }).catalog.providers.get('openai')?.served
  }
  const eu = { name: 'eu', models: { a: 'a-eu' } }
  t.same(servedBy(eu, { name: 'us', models: { a: 'a', b: 'b' } }), new Set(['a', 'b']))
  t.equal(servedBy(eu, { name: 'us' }), undefined)
})

t.test('keys of AWS are named, in a file, or those of the machine or the container', (t) => {
  const region = 'eu-west-1'
  const base_url = `https://bedrock-runtime.${region}.amazonaws.com`
  const read = (env: Record<string, string>, authentication: object, role: 'proxy' | 'edge' = 'proxy') =>
    readConfig(
      { ...nats, ...env },
      { file: fileWith(t, { providers: { aws: { dialect: 'bedrock', base_url, authentication } } }), role },
    )
  const authenticationOf = (env: Record<string, string>, authentication: object) =>
    read(env, authentication).providers[0]?.authentication
  const keys = { type: 'aws_keys', region, access_key_id: '${ID}', secret_access_key: '${SECRET}' }
  const env = { ID: 'an-id-of-a-key', SECRET: 'a-secret' }
  t.same(authenticationOf(env, keys), {
    type: 'aws_keys',
    region,
    accessKeyId: 'an-id-of-a-key',
    secretAccessKey: 'a-secret',
  })
  t.notMatch(JSON.stringify(read(env, keys, 'edge')), /a-secret|an-id-of-a-key/)
  t.same(authenticationOf({ HOME: '/home/g' }, { type: 'aws_profile', region }), {
    type: 'aws_profile',
    region,
    profile: 'default',
    credentialsFile: '/home/g/.aws/credentials',
    configFile: '/home/g/.aws/config',
  })
  const machine = { type: 'aws_role', region, container: null, metadataUrl: 'http://169.254.169.254' }
  t.same(authenticationOf({}, { type: 'aws_role', region }), machine)
  const relative = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/1' }
  t.match(authenticationOf(relative, { type: 'aws_role', region }), {
    container: { url: 'http://169.254.170.2/v2/credentials/1', token: null, tokenFile: null },
  })
  const full = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/var/run/token',
  }
  t.match(authenticationOf(full, { type: 'aws_role', region }), {
    container: { url: full.AWS_CONTAINER_CREDENTIALS_FULL_URI, tokenFile: '/var/run/token' },
  })
  t.match(authenticationOf({}, { type: 'aws_profile', region, credentials_file: 'aws' }), {
    credentialsFile: /^\/.+\/aws$/,
  })
  t.throws(() => read({}, { type: 'aws_role', region: 'us-east-1' }), {
    message: /aws\.authentication: is for the region us-east-1, and base_url is in eu-west-1: name that one$/,
  })
  const webIdentity = { AWS_WEB_IDENTITY_TOKEN_FILE: '/var/run/web' }
  t.throws(() => read(webIdentity, { type: 'aws_role', region }), {
    message: /1 problem\n.*providers\.aws\.authentication: web identity .* is not supported: use EKS Pod Identity/,
  })
  t.doesNotThrow(() => read({ ...webIdentity, ...full }, { type: 'aws_role', region }))
  t.end()
})

t.test('keys that do not fit their dialect are told all at once', async (t) => {
  const bare = { dialect: 'vv-video', base_url: 'https://vendor.example/v1' }
  const azure = { dialect: 'azure', base_url: 'https://r.openai.azure.com/openai/v1' }
  const bedrock = { dialect: 'bedrock', base_url: 'https://bedrock-runtime.eu-west-1.amazonaws.com' }
  const file = fileWith(t, {
    providers: {
      a: bare,
      b: { ...bare, access_key: 'x' },
      c: { ...bare, secret_key: 'x' },
      d: { ...vendor, access_key: 'x' },
      e: { ...vendor, profile: 'openai' },
      f: { dialect: 'openai', base_url: 'https://api.example', access_key: 'x', secret_key: 'y', calls_per_second: 1 },
      g: { dialect: 'other', base_url: 'https://api.example', api_key: 'x' },
      h: { dialect: 'openai', base_url: 'https://api.example', api_key: 'x', api_version: '2024-10-21' },
      i: { ...azure, api_key: 'x', authentication: { type: 'azure_managed_identity' } },
      j: { ...azure, authentication: { type: 'entra_application', client_id: 'x' } },
      k: { ...azure, authentication: { type: 'azure_managed_identity', client_secret: 'x' } },
      l: { ...azure, dialect: 'openai', authentication: { type: 'azure_managed_identity' } },
      m: { ...bedrock, authentication: { type: 'aws_role', profile: 'work' } },
    },
  })
  const { problems } = thrownBy(() => readConfig({}, { file })) as ConfigError
  t.same(
    problems.map(({ path, message }) => `${path} ${message}`),
    [
      'providers.g.dialect must be one of "openai", "anthropic", "google", "azure", "vertex", "bedrock", "vv-video"',
      'providers.a.api_key is required, or access_key and secret_key',
      'providers.b.secret_key is required beside the other of the pair',
      'providers.c.access_key is required beside the other of the pair',
      'providers.d.api_key excludes access_key and secret_key: give one or the other',
      'providers.e.profile is not for the dialect vv-video',
      'providers.f.api_key is required',
      'providers.f.access_key is only for the dialect vv-video',
      'providers.f.secret_key is only for the dialect vv-video',
      'providers.f.calls_per_second is only for the dialect vv-video',
      'providers.h.api_version is only for the dialect azure',
      'providers.i.authentication excludes api_key: give one or the other',
      'providers.j.authentication.tenant_id is required for entra_application',
      'providers.j.authentication.client_secret is required for entra_application',
      'providers.k.authentication.client_secret is not for azure_managed_identity',
      'providers.l.authentication.type azure_managed_identity is only for the dialect azure',
      'providers.m.authentication.region is required for aws_role',
      'providers.m.authentication.profile is not for aws_role',
    ],
  )
})

t.test('the sandbox plays a video vendor only where it plays every provider', async (t) => {
  for (const role of roleNames) {
    const none = readConfig({}, { file: fileWith(t, {}), role })
    t.equal(none.sandbox, true)
    t.same(none.catalog.providers.get('vv'), { models: {}, surfaces: ['video'] })
    for (const [env, content] of [
      [keys, {}],
      [{}, { providers: { mine: { ...vendor, dialect: 'openai' } } }],
      [{}, { sandbox: false, providers: { mine: vendor } }],
    ] as const) {
      const config = readConfig(env, { file: fileWith(t, content), role })
      t.equal(config.sandbox, false)
      t.notOk(config.catalog.providers.has('vv'))
    }
  }
})

t.test('callbacks have a secret, or servers that keep one', async (t) => {
  const external = { ...database, NATS_URL: 'nats://one:4222' }
  const secret = 'a-secret-that-nobody-guesses'
  const file = fileWith(t, { callbacks: { secret, allow_private_addresses: true }, sandbox: true })
  for (const env of [{}, external]) {
    t.same(readConfig(env, { file }).callbacks, { secret, allowPrivateAddresses: true })
    t.same(readConfig(env, { file, role: 'edge' }).callbacks, { secret: null, allowPrivateAddresses: true })
    t.same(readConfig(env, { file, role: 'operator' }).callbacks?.secret, null)
    t.same(readConfig(env, { file, role: 'operator', callbackSecret: true }).callbacks?.secret, secret)
  }
  const without = fileWith(t, { sandbox: true })
  t.same(readConfig({}, { file: without }).callbacks, { secret: null, allowPrivateAddresses: false })
  t.equal(readConfig(external, { file: without }).callbacks, null)
  t.throws(() => readConfig({}, { file: fileWith(t, { callbacks: { secret: 'short' } }) }), {
    message: /callbacks.secret/,
  })
})

t.test('every dialect has the surfaces of a provider', async (t) => {
  for (const dialect of ['openai', 'anthropic', 'google'] as const)
    t.same(Object.keys(dialects[dialect]), answeringSurfaces, dialect)
})

t.test('limits in seconds, and their bounds', async (t) => {
  const bounds = { request_deadline_seconds: 30, task_deadline_seconds: 60, withdraw_seconds: 5, drain_seconds: 0 }
  t.match(readConfig({}, { file: fileWith(t, { limits: bounds }) }), {
    requestDeadlineMs: 30_000,
    taskDeadlineMs: 60_000,
    withdrawMs: 5_000,
    drainMs: 0,
  })
  t.equal(readConfig({}, { file: fileWith(t, {}) }).taskDeadlineMs, configLimits.taskDeadlineMs)
  const file = fileWith(t, { limits: { request_deadline_seconds: 0, drain_seconds: 1.5 } })
  t.throws(() => readConfig({}, { file }), ConfigError)
  t.throws(() => readConfig({}, { file }), { message: /2 problems/ })
})

t.test('a certificate without its key is refused', async (t) => {
  const file = fileWith(t, { nats: { url: 'tls://one:4222', tls: { cert_file: 'a.pem' } } })
  t.throws(() => readConfig(database, { file }), { message: /key_file/ })
})

t.test('without a provider only embedded servers let the sandbox answer unasked', async (t) => {
  const external = { ...database, NATS_URL: 'nats://one:4222' }
  const none = { message: /providers: none is configured: set one of OPENAI_API_KEY.*`sandbox: true`/ }
  for (const role of ['gateway', 'proxy'] as const)
    for (const providers of [{}, { providers: {} }]) {
      const file = fileWith(t, providers)
      t.throws(() => readConfig(external, { file, role }), none, role)
      t.throws(() => readConfig({}, { file: fileWith(t, { ...providers, sandbox: false }), role }), none, role)
      t.same(readConfig(external, { file: fileWith(t, { ...providers, sandbox: true }), role }).providers, [])
      t.same(readConfig({}, { file, role }).providers, [])
      t.equal(readConfig({ ...external, OPENAI_API_KEY: 'sk-one' }, { file, role }).providers.length, 1)
    }
  for (const role of ['edge', 'video-poller', 'projector', 'scheduler', 'operator'] as const)
    t.equal(readConfig(external, { file: fileWith(t, {}), role }).external?.nats.url, 'nats://one:4222')
})

t.test('an address that is wrong is told by where it stands, without what it says', async (t) => {
  const natsUrls = [
    'nats://u:se#cret@h:1',
    'nats://u:12#cret@h:1',
    'nats://u:12/cret@h:1',
    'nats://u:12?cret@h:1',
    'nats://u:cret%zz@h:1',
    'nats://one:1,u:cret@two:1',
    'https://u:cret@h',
    'nats://',
  ]
  const databaseUrls = [
    'postgres://u:se#cret@h:1/db',
    'postgres://u:12#cret@h:1/db',
    'postgres://u:12/cret@h:1/db',
    'postgres://u:12?cret@h:1/db',
    'postgres://u:cret%zz@h/db',
    'mysql://u:cret@h/db',
    'cret',
  ]
  const monitoringUrls = ['http://u:cret@h', 'ftp://cret', 'cret']
  const right = { ...database, NATS_URL: 'nats://h:1', NATS_MONITORING_URL: 'http://h:2' }
  const cases = { NATS_URL: natsUrls, DATABASE_URL: databaseUrls, NATS_MONITORING_URL: monitoringUrls }
  for (const [variable, texts] of Object.entries(cases))
    for (const text of texts) {
      const fault = thrownBy(() => readConfig({ ...right, [variable]: text }, { file: fileWith(t, {}), role: 'edge' }))
      t.match(fault, { name: 'ConfigError', problems: [{ path: variable }] }, text)
      t.notMatch(fault.message, /cret/)
    }
  const env = { ...right, DATABASE_URL: 'postgres//x' }
  const filled = thrownBy(() =>
    readConfig(env, { file: fileWith(t, { database_url: '${DATABASE_URL}' }), role: 'edge' }),
  )
  t.equal((filled as ConfigError).problems.length, 1, 'one mistake is one problem')
  const file = fileWith(t, { nats: { url: 'nats://u:se#cret@h:1' }, database_url: 'postgres://u:se#cret@h/db' })
  const inFile = thrownBy(() => readConfig({}, { file, role: 'edge' }))
  t.match(inFile, { problems: [{ path: 'database_url' }, { path: 'nats.url' }] })
  t.notMatch(inFile.message, /cret/)
})

t.test('addresses as people write them', async (t) => {
  const env = {
    DATABASE_URL: 'postgresql://u%40x:p%23w@db:5432/gateway?sslmode=verify-full&sslrootcert=/etc/ca.pem',
    NATS_URL: 'tls://u:p%2F%40@one:4222, tls://two:4222,nats://[::1]:4222/',
    NATS_MONITORING_URL: 'http://127.0.0.1:8222',
  }
  const { external } = readConfig(env, { file: fileWith(t, {}), role: 'edge' })
  t.match(external, { databaseUrl: env.DATABASE_URL, nats: { url: env.NATS_URL } })
  t.throws(() => readConfig({ NATS_URL: 'nats://h' }, { file: fileWith(t, {}), role: 'edge' }), {
    message: /database_url: set both DATABASE_URL and NATS_URL/,
  })
})

t.test('a password that YAML takes for an alias is not shown', async (t) => {
  const file = join(t.testdir({ 'gateway.yaml': 'nats:\n  url: nats://h\n  password: *cret\n' }), 'gateway.yaml')
  const fault = thrownBy(() => readConfig({}, { file }))
  t.match(fault, { name: 'ConfigError', message: /begins with \* needs quotes/ })
  t.notMatch(fault.message, /cret/)
})

t.test('a certificate is read before anything starts, by the roles that answer clients', async (t) => {
  const certificates = await makeCertificates()
  t.teardown(() => certificates.remove())
  const { server } = certificates
  const other = await certificates.newClient('other')
  const read = (tls: object, role: 'gateway' | 'edge' | 'projector' = 'gateway') =>
    readConfig(role === 'gateway' ? {} : { ...database, NATS_URL: 'nats://nats' }, {
      file: fileWith(t, { listen: { tls } }),
      role,
    })
  t.same(read({ cert_file: server.certFile, key_file: server.keyFile }).listen.tls, server)
  const wrong = { cert_file: server.certFile, key_file: other.keyFile }
  const secret = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' } as const
  const protectedKey = join(server.certFile, '..', 'protected.key')
  writeFileSync(protectedKey, createPrivateKey(readFileSync(server.keyFile)).export(secret))
  const rows: readonly (readonly [tls: object, message: RegExp])[] = [
    [wrong, /listen\.tls: .*other\.key is not the key of .*localhost\.pem/],
    [
      { cert_file: server.keyFile, key_file: server.keyFile },
      /listen\.tls: .*localhost\.key: it holds no certificate in PEM: /,
    ],
    [{ cert_file: server.certFile, key_file: server.certFile }, /localhost\.pem: it holds no private key in PEM: /],
    [{ cert_file: server.certFile, key_file: protectedKey }, /listen\.tls: .*protected\.key has a passphrase/],
    [{ cert_file: 'absent.pem', key_file: server.keyFile }, /listen\.tls: .*absent\.pem: ENOENT/],
    [{ cert_file: server.certFile }, /listen\.tls\.key_file/],
  ]
  for (const [tls, message] of rows)
    t.match(
      thrownBy(() => read(tls)),
      { name: 'ConfigError', message },
    )
  t.equal(read(wrong, 'projector').listen.tls, undefined)
})

const publicKeyOf = (name: string, byte = 7): string =>
  verifierText(deriveVerifier(createSigner(name, Buffer.alloc(32, byte))))

t.test('the key that seals the log: as text or in a file, for the roles that seal', async (t) => {
  const pem = String(createSigner('any', seed).privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const files = { seed: `${signingKeyText(seed)}\n`, pem }
  const origin = 'example.com/log'
  for (const role of ['scheduler', 'gateway', 'edge', 'operator'] as const)
    for (const audit of [
      { origin, signing_key: '${GATEWAY_SIGNING_KEY}' },
      { origin, signing_key: pem },
      { origin, signing_key_file: 'seed' },
      { origin, signing_key_file: './pem' },
    ]) {
      const seals = role === 'scheduler' || role === 'gateway'
      const env = seals ? { ...signingKey, OPENAI_API_KEY: 'sk-one' } : {}
      const folder = t.testdir({ ...files, 'gateway.yaml': JSON.stringify({ audit }) })
      const config = readConfig(env, { file: join(folder, 'gateway.yaml'), role })
      t.equal(config.audit.signer !== null, seals, role)
      t.equal(
        config.audit.verifier === null ? null : verifierText(config.audit.verifier),
        seals ? publicKeyOf(origin) : null,
      )
      t.notMatch(JSON.stringify(config), signingKeyText(seed))
    }
})

t.test('what names the log, and what is believed, where nothing is said and where it is', async (t) => {
  const without = readConfig({}, { file: fileWith(t, { log: { name: 'OURS' } }) }).audit
  t.same(without, { sealing: true, origin: 'gateway.local/ours', signer: null, verifier: null, previous: [] })
  t.equal(readConfig({}, { file: fileWith(t, { audit: { sealing: false } }) }).audit.sealing, false)
  const previous = [publicKeyOf('example.com/log', 8), publicKeyOf('example.com/before', 9)]
  const audit = { public_key: publicKeyOf('example.com/log'), previous_public_keys: previous }
  const known = readConfig({}, { file: fileWith(t, { audit }), role: 'operator' }).audit
  t.equal(known.origin, 'example.com/log', 'the name of the public key')
  t.equal(verifierText(known.verifier!), audit.public_key)
  t.same(
    known.previous.map((each) => verifierText(each)),
    previous,
  )
})

t.test('witnesses, who count once each, and as many as the quorum', async (t) => {
  const key = 'witness.example.com/w1+364939eb+BGFYVGj9VDM2aXLcbZWCPcnBjPp21QKqJYOVrzWpPTlu'
  const read = (witnesses: object, more = {}) =>
    readConfig({}, { file: fileWith(t, { audit: { witnesses, ...more } }), role: 'operator' }).audit.witnesses
  const list = [{ url: 'https://witness.example.com/prefix/', public_key: key }]
  t.match(read({ quorum: 1, list }), {
    quorum: 1,
    everyMs: 60_000,
    list: [{ url: 'https://witness.example.com/prefix' }],
  })
  t.equal(read({ quorum: 1, list }, { witness_every: 5 })!.everyMs, 5_000)
  const mldsa = `w+00000000+${Buffer.alloc(1313, 6).toString('base64')}`
  for (const [witnesses, message] of [
    [{ quorum: 2, list }, /audit\.witnesses\.quorum: is 2, and 1 witnesses are listed/],
    [{ quorum: 1, list: [...list, ...list] }, /list\[1\]\.public_key: is listed twice/],
    [
      { quorum: 1, list: [{ ...list[0], public_key: mldsa }] },
      /a key of type 6 \(ML-DSA-44 cosignatures\), which is not/,
    ],
    [
      { quorum: 1, list: [{ ...list[0], public_key: key.replace('364939eb', '00000000') }] },
      /not have the id beside it/,
    ],
    [{ quorum: 1, list: [{ ...list[0], url: 'ftp://x' }] }, /audit\.witnesses\.list\[0\]\.url/],
    [{ quorum: 0, list }, /audit\.witnesses\.quorum/],
  ] as const)
    t.match(
      thrownBy(() => read(witnesses)),
      { name: 'ConfigError', message },
    )
})

t.test('keys that are none, or do not belong together, are told with their paths and without their text', async (t) => {
  const origin = 'example.com/log'
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ signing_key: 'cret' }, /audit\.signing_key: not a private key/],
    [{ signing_key_file: 'nowhere' }, /audit\.signing_key_file: ENOENT/],
    [{ signing_key: signingKeyText(seed), signing_key_file: 'cret' }, /audit\.signing_key_file: excludes signing_key/],
    [{ public_key: 'cret' }, /audit\.public_key: not a public key/],
    [{ origin, public_key: publicKeyOf('example.com/other') }, /audit\.public_key: is of the log example.com\/other/],
    [
      { origin, signing_key: signingKeyText(seed), public_key: publicKeyOf(origin, 8) },
      /audit\.public_key: is not that of the signing key, which is example.com\/log\+/,
    ],
    [{ previous_public_keys: [publicKeyOf(origin), 'cret'] }, /audit\.previous_public_keys\[1\]: not a public key/],
    [{ origin: 'two words' }, /audit\.origin/],
    [{ key: 'cret' }, /audit\.key: is not known/],
  ]
  for (const [audit, message] of cases) {
    const fault = thrownBy(() => readConfig({}, { file: fileWith(t, { audit }) }))
    t.match(fault, { name: 'ConfigError', message })
    t.notMatch(fault.message, /: cret|"cret"/)
    t.notMatch(fault.message, signingKeyText(seed))
  }
})

t.test('where operators ask, and whether requests have lines', async (t) => {
  const read = (content: object, observePort?: number | 'off') =>
    readConfig({}, { file: fileWith(t, content), observePort })
  t.match(read({}), { observe: { host: '127.0.0.1', port: null }, logRequests: true })
  t.same(read({ observe: { host: '0.0.0.0', port: 9000 } }).observe, { host: '0.0.0.0', port: 9000 })
  t.equal(read({ observe: { port: 'off' } }).observe, null)
  t.same(read({ observe: { port: 'off' } }, 0).observe, { host: '127.0.0.1', port: 0 }, 'the command line wins')
  t.equal(read({ observe: { port: 9000 } }, 'off').observe, null)
  t.equal(read({ log_requests: false }).logRequests, false)
  for (const content of [
    { listen: { port: 9000 }, observe: { port: 9000 } },
    { listen: { host: '127.0.0.1', port: 9000 }, observe: { host: '0.0.0.0', port: 9000 } },
  ])
    t.match(thrownBy(() => read(content)).message, /observe\.port: is the port of the API, 9000/)
  const apart = { listen: { host: '127.0.0.1', port: 9000 }, observe: { host: '127.0.0.2', port: 9000 } }
  t.match(read(apart), apart)
  t.match(read({ listen: { port: 0 }, observe: { port: 0 } }).observe, { port: 0 }, 'each takes a free one')

  const wrong = thrownBy(() => read({ observe: { port: 'of', hosts: [] } }))
  t.match(wrong, ConfigError)
  t.match(wrong.message, /observe\.port/)
  t.match(wrong.message, /observe\.hosts/)
})

t.test('admin tokens: long enough, one for each, and never shown', async (t) => {
  const token = 'cret'.repeat(8)
  const ana = { name: 'ana', token }
  const cases: readonly (readonly [readonly object[], RegExp])[] = [
    [[{ name: 'ana', token: 'cret' }], /admin\.tokens\[0\]\.token: has fewer than 32 characters/],
    [[ana, { ...ana, token: `${token}x` }], /admin\.tokens\[1\]\.name: is listed twice/],
    [[ana, { ...ana, name: 'bob' }], /admin\.tokens\[1\]\.token: is listed twice/],
    [[{ ...ana, name: 'Ana Maria' }], /admin\.tokens\[0\]\.name/],
    [[{ token }], /admin\.tokens\[0\]\.name: is required/],
    [[{ ...ana, role: 'king' }], /admin\.tokens\[0\]\.role: /],
  ]
  for (const [tokens, message] of cases) {
    const fault = thrownBy(() => readConfig({}, { file: fileWith(t, { admin: { tokens } }) }))
    t.match(fault, { name: 'ConfigError', message })
    t.notMatch(fault.message, /cretcret|"cret"/)
  }
  t.match(readConfig({}, { file: fileWith(t, { admin: { tokens: [ana] } }) }).admins, [
    { name: 'ana', sha256: /^[0-9a-f]{64}$/, role: 'owner' },
  ])
  const { admins } = readConfig({}, { file: fileWith(t, { admin: { tokens: [{ ...ana, role: 'auditor' }] } }) })
  t.match(admins, [{ name: 'ana', role: 'auditor' }])
  t.same(readConfig({}, { file: fileWith(t, {}) }).admins, [])
})

t.test('a weighted router', async (t) => {
  const providers = { a: { dialect: 'openai', base_url: 'https://x', api_key: 'k' } }
  const candidates = [{ model: 'a/x', weight: 3 }, 'a/y']
  const routers = { auto: { candidates, order: 'weighted' } }
  t.same(readConfig({}, { file: fileWith(t, { providers, routers }) }).catalog.routers, routers)
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ candidates: [{ model: 'b/x' }] }, /routers\.auto\.candidates\[0\]: `b\/x` names no configured provider/],
    [{ candidates: [{ model: 'a/x', weight: 0 }] }, /routers\.auto\.candidates\[0\]\.weight/],
    [{ candidates, order: 'random' }, /routers\.auto\.order: must be one of "listed", "weighted"/],
  ]
  for (const [auto, message] of wrong)
    t.throws(() => readConfig({}, { file: fileWith(t, { providers, routers: { auto } }) }), { message })
})

t.test('a secret comes from the file that its variable names with _FILE, for the role that uses it', async (t) => {
  const content = {
    providers: { mine: { dialect: 'openai', base_url: 'https://api.example/v1', api_key: '${MINE}' } },
  }
  const folder = t.testdir({
    'gateway.yaml': JSON.stringify(content),
    'bare.yaml': '{}',
    mine: 'sk-from-a-file\n',
    url: database.DATABASE_URL,
  })
  const file = join(folder, 'gateway.yaml')
  const env = {
    MINE_FILE: join(folder, 'mine'),
    DATABASE_URL_FILE: join(folder, 'url'),
    NATS_URL: 'nats://one:4222',
  }
  const config = readConfig(env, { file })
  t.equal(config.providers[0]?.apiKey, 'sk-from-a-file')
  t.equal(config.external?.databaseUrl, database.DATABASE_URL)
  t.doesNotThrow(() => readConfig({ ...env, MINE_FILE: join(folder, 'absent') }, { file, role: 'edge' }))
  const bare = readConfig({ OPENAI_API_KEY_FILE: join(folder, 'mine') }, { file: join(folder, 'bare.yaml') })
  t.equal(bare.sandbox, false)
  t.match(bare.providers, [{ name: 'openai', apiKey: 'sk-from-a-file' }])
})

t.test('a file of a secret that cannot be had is told, and never what is in it', async (t) => {
  const folder = t.testdir({ 'gateway.yaml': '{}', some: 'sk-from-a-file', none: '\n' })
  const at = (name: string): string => join(folder, name)
  const file = at('gateway.yaml')
  const rows: readonly (readonly [env: Readonly<Record<string, string>>, problem: RegExp])[] = [
    [{ OPENAI_API_KEY_FILE: at('absent') }, /OPENAI_API_KEY_FILE: the file .*absent cannot be read: ENOENT$/],
    [{ OPENAI_API_KEY_FILE: at('none') }, /OPENAI_API_KEY_FILE: the file .*none is empty$/],
    [
      { OPENAI_API_KEY_FILE: at('some'), OPENAI_API_KEY: 'sk-other' },
      /OPENAI_API_KEY_FILE: excludes OPENAI_API_KEY: give one of them$/,
    ],
  ]
  for (const [env, problem] of rows) {
    const { message } = thrownBy(() => readConfig(env, { file }))
    t.match(message, /gateway\.yaml: 1 problem\n/)
    t.match(message, problem)
    t.notMatch(message, /sk-/)
  }
})

t.test('files with secrets that everybody can read are known', async (t) => {
  const provider = { dialect: 'openai', base_url: 'https://api.example/v1', api_key: 'sk-literal' }
  const external = { database_url: '${DATABASE_URL}', nats: { url: 'nats://one:4222', credentials_file: 'creds' } }
  const folder = await mkdtemp(join(tmpdir(), 'gateway-secrets-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const write = (name: string, text: string, mode: number): void => {
    writeFileSync(join(folder, name), text, { mode })
    chmodSync(join(folder, name), mode)
  }
  write('gateway.yaml', JSON.stringify({ providers: { mine: provider }, ...external }), 0o644)
  write('creds', 'a secret', 0o644)
  write('url', database.DATABASE_URL, 0o640)
  const exposed = (folderMode: number, role?: 'edge'): readonly string[] => {
    chmodSync(folder, folderMode)
    const env = { DATABASE_URL_FILE: join(folder, 'url') }
    return readConfig(env, { file: join(folder, 'gateway.yaml'), ...(role && { role }) }).exposedFiles
  }
  t.same(exposed(0o755), [join(folder, 'gateway.yaml'), join(folder, 'creds')])
  t.same(exposed(0o755, 'edge'), [join(folder, 'creds')], 'the key in the file is not the secret of an edge')
  t.same(exposed(0o700), [], 'nobody else comes into the folder')
})

t.test(
  'all mistakes of a file and of the environment are reported in one run, and nothing that follows from them',
  (t) => {
    const file = fileWith(t, {
      listen: { port: 'x' },
      providers: { openai: { dialect: 'openai', base_url: 'ftp://x', api_key: '${A_KEY}' } },
      aliases: { a: 'openai/b', b: 'other/b' },
      audit: { public_key: 'x' },
      admin: { tokens: [{ name: 'ana', token: 'short' }] },
      prices: 'missing.json',
      unknown: 1,
    })
    const { problems } = thrownBy(() => readConfig({ NATS_URL: 'http://x' }, { file })) as ConfigError
    t.same(
      problems.map(({ path }) => path.replace(/ .*/, '')),
      [
        'providers.openai.api_key',
        'providers.openai.base_url',
        'listen.port',
        'unknown',
        'prices:',
        'NATS_URL',
        'database_url',
        'audit.public_key',
        'admin.tokens[0].token',
      ],
    )
    t.end()
  },
)

t.test('workers are a number, auto, or left out', (t) => {
  const workersOf = (file: object) => readConfig({}, { file: fileWith(t, file) }).workers
  t.equal(workersOf({}), null)
  t.equal(workersOf({ workers: 4 }), 4)
  t.equal(workersOf({ workers: 'auto' }), 'auto')
  for (const workers of [0, 65, 1.5, 'many'])
    t.throws(() => workersOf({ workers }), { name: 'ConfigError', message: /workers/ })
  t.end()
})
