import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { UndiciClient } from '../../../src/adapters/http/client.ts'
import { answeringSurfaces, type ProviderConfig } from '../../../src/config/providers.ts'
import { asText } from '../../../src/encoding/json.ts'
import { type Authentication, openAuthenticator } from '../../../src/providers/authentication/open-authenticator.ts'
import { callerOf } from '../../../src/providers/checks/call-provider.ts'
import type { Target } from '../../../src/providers/dialect/dialect.ts'
import type { ProviderDialect } from '../../../src/providers/dialect/provider.ts'
import { readUpstreamRequestId } from '../../../src/providers/dialect/upstream-request-id.ts'
import { dialectFor } from '../../../src/providers/dialects.ts'
import { until } from '../../support/clients.ts'
import { entraApplication, entraGate, imdsGate, managedResource } from '../../support/clouds/azure.ts'
import { AwsAccount, bedrockApiKey, bedrockRegion, containerGate, staticKeys } from '../../support/clouds/bedrock.ts'
import {
  type CloudAnswer,
  type CloudCall,
  type CloudGate,
  IssuedTokens,
  startCloud,
} from '../../support/clouds/cloud.ts'
import { authorizedUser, googleTokenGate, serviceAccount, vertexPath } from '../../support/clouds/google.ts'
import { configOf, runtime, sheetOf, startTestGateway, temporaryFolder } from '../../support/gateway.ts'
import { recordingLogger } from '../../support/log-lines.ts'

/** Whatever proves to any of these upstreams who calls, as they have seen it. */
const secrets = new Set<string>()

const note = (...seen: readonly string[]): void => {
  for (const secret of seen) if (secret.length >= 16) secrets.add(secret)
}

const credentialHeaders = ['authorization', 'api-key', 'x-amz-security-token', 'x-identity-header', 'x-own-secret']

/** The credential of a call in each of the forms in which it may come back. */
const credentialsIn = ({ headers }: CloudCall): readonly string[] => {
  const values = credentialHeaders.flatMap((name) => headers[name] ?? [])
  const bare = values.map((value) => /Signature=(\w+)/.exec(value)?.[1] ?? value.replace(/^Bearer /, ''))
  note(...bare)
  return bare
}

const inEveryForm = (secret: string): string =>
  [secret, encodeURIComponent(secret), JSON.stringify(secret), `Bearer ${secret}`, `key=${secret};`].join(' ')

/** Its end is cut off in the midst of the credential. */
const long = (text: string): string => `${'word '.repeat(396)}${text}`

const errorOf = (dialect: ProviderDialect, message: string, word: string): object => {
  if (dialect === 'bedrock') return { message }
  if (dialect === 'vertex') return { error: { code: 400, message, status: 'INVALID_ARGUMENT' } }
  return { error: { message, type: 'invalid_request_error', code: word, param: word } }
}

const wanted = /echo-(\d+)(-long)?/

/** The model's name says with which status an upstream refuses, showing the credential wherever it can. */
const echo =
  (dialect: ProviderDialect, known: () => readonly string[] = () => []): CloudGate =>
  (call): CloudAnswer => {
    const shown = [...credentialsIn(call), ...known()]
    const [, status = '500', isLong] = wanted.exec(call.path + call.body.toString()) ?? []
    const text = [...shown.map(inEveryForm), JSON.stringify(call.headers)].join(' and ')
    const word = shown[0]?.slice(0, 128) ?? ''
    return {
      status: Number(status),
      json: errorOf(dialect, isLong === undefined ? text : long(text), word),
      headers: { 'x-request-id': word.replace(/[^\w.:=+/-]/g, '_'), 'x-should-retry': 'false' },
    }
  }

/** An identity service that refuses, and shows what it was asked with. */
const refusing =
  (isLong: boolean): CloudGate =>
  (call) => {
    credentialsIn(call)
    const sent = new URLSearchParams(call.body.toString())
    const form = ['client_secret', 'refresh_token', 'assertion'].flatMap((name) => sent.get(name) ?? [])
    note(...form)
    const text = [...form.map(inEveryForm), call.body.toString(), JSON.stringify(call.headers)].join(' and ')
    const description = isLong ? `${'word '.repeat(90)}${text}` : text
    return { status: 400, json: { error: 'invalid_client', error_description: description, message: description } }
  }

interface Upstream {
  readonly name: string
  readonly dialect: ProviderDialect
  readonly path?: string
  readonly apiKey?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly authentication?: Authentication
  /** What the upstream knows of the credential beside what it is shown. */
  readonly known?: () => readonly string[]
}

const startUpstreams = async (): Promise<readonly ProviderConfig[]> => {
  const tokens = new IssuedTokens()
  const account = new AwsAccount()
  const folder = await temporaryFolder(t)
  const write = async (name: string, content: object): Promise<string> => {
    await writeFile(join(folder, name), JSON.stringify(content))
    return join(folder, name)
  }
  const authority = await startCloud(t, entraGate(tokens))
  const metadataUrl = await startCloud(t, imdsGate(tokens))
  const tokenOrigin = await startCloud(t, googleTokenGate(tokens))
  const [container, keys] = ['container-token-0123456789', account.issue()]
  const containerUrl = await startCloud(t, containerGate(account, container))
  const [refusal, longRefusal] = [await startCloud(t, refusing(false)), await startCloud(t, refusing(true))]
  const [region, own] = [{ region: bedrockRegion }, { 'x-own-secret': 'a-header-of-its-own-0123456789' }]
  const user = authorizedUser(tokenOrigin)
  note(
    ...[entraApplication.clientSecret, staticKeys.secretAccessKey, keys.SecretAccessKey, keys.Token, container],
    ...[asText(user['client_secret']), asText(user['refresh_token']), own['x-own-secret']],
    ...asText(serviceAccount('')['private_key']).split('\n').slice(1, -2),
  )
  const google = (file: string): Authentication => ({ type: 'google_credentials', file, metadataUrl: refusal })
  const azureIdentity = { type: 'azure_managed_identity', clientId: null, resource: managedResource } as const
  const awsRole = (url: string): Authentication => ({
    ...{ type: 'aws_role', ...region, metadataUrl: url },
    container: { url, token: container, tokenFile: null },
  })
  const upstreams: readonly Upstream[] = [
    { name: 'plain-key', dialect: 'openai', apiKey: 'an-opaque-key-0123456789', headers: own },
    { name: 'azure-key', dialect: 'azure', apiKey: 'azure-key-0123456789abcdef' },
    {
      name: 'azure-entra',
      dialect: 'azure',
      authentication: { type: 'entra_application', authority, ...entraApplication },
    },
    { name: 'azure-machine', dialect: 'azure', authentication: { ...azureIdentity, endpoint: null, metadataUrl } },
    {
      name: 'vertex-account',
      dialect: 'vertex',
      path: vertexPath,
      authentication: google(await write('account.json', serviceAccount(tokenOrigin))),
    },
    {
      name: 'vertex-user',
      dialect: 'vertex',
      path: vertexPath,
      authentication: google(await write('user.json', user)),
    },
    { name: 'bedrock-key', dialect: 'bedrock', apiKey: bedrockApiKey },
    {
      name: 'bedrock-keys',
      dialect: 'bedrock',
      authentication: {
        ...{ type: 'aws_keys', ...region, accessKeyId: keys.AccessKeyId },
        ...{ secretAccessKey: keys.SecretAccessKey, sessionToken: keys.Token },
      },
      known: () => [keys.SecretAccessKey, keys.Token],
    },
    { name: 'bedrock-role', dialect: 'bedrock', authentication: awsRole(containerUrl) },
    ...[refusal, longRefusal].flatMap((url, index): readonly Upstream[] => [
      {
        name: `entra-refused-${index}`,
        dialect: 'azure',
        authentication: { type: 'entra_application', authority: url, ...entraApplication },
      },
      {
        name: `machine-refused-${index}`,
        dialect: 'azure',
        authentication: {
          ...{ ...azureIdentity, metadataUrl: url },
          endpoint: { url, header: 'an-identity-header-0123456789' },
        },
      },
      { name: `role-refused-${index}`, dialect: 'bedrock', authentication: awsRole(url) },
    ]),
    { name: 'account-refused', dialect: 'vertex', authentication: google(await write('a', serviceAccount(refusal))) },
    { name: 'user-refused', dialect: 'vertex', authentication: google(await write('b', authorizedUser(refusal))) },
  ]
  return Promise.all(
    upstreams.map(async ({ name, dialect, path = '', apiKey = '', headers, authentication, known }) => ({
      ...{ name, dialect, apiKey, profile: 'openai' as const, models: {} },
      baseUrl: (await startCloud(t, echo(dialect, known))) + path,
      ...(headers === undefined ? {} : { headers }),
      ...(authentication === undefined ? {} : { authentication }),
    })),
  )
}

const models = ['echo-400', 'echo-400-long', 'echo-401', 'echo-403', 'echo-404', 'echo-422', 'echo-500'] as const
const prompt = [{ role: 'user', content: 'Which way is north?' }]

const logger = recordingLogger()
const providers = await startUpstreams()
const { catalog } = configOf('/nowhere', 'http://nowhere', {})
const running = await startTestGateway(t, {
  runtime: { ...runtime, logger },
  sheets: Object.fromEntries(providers.flatMap(({ name }) => models.map((model) => [`${name}/${model}`, sheetOf()]))),
  config: {
    providers,
    catalog: {
      ...catalog,
      providers: new Map(
        providers.map(({ name }) => [name, { models: {}, surfaces: answeringSurfaces, profile: 'openai' }]),
      ),
      routers: {},
    },
  },
})

/** All that left the gateway by a way: none of it may hold a credential. */
const assertClean = (what: string, text: string): void => {
  const leaked = [...secrets].filter((secret) =>
    [secret, encodeURIComponent(secret), secret.slice(0, 16)].some((form) => text.includes(form)),
  )
  t.same(leaked, [], what)
}

const ask = async (path: string, body: object): Promise<string> => {
  const { gateway, account } = running
  const headers = { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' }
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { ...headers, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  })
  return JSON.stringify([...response.headers]) + (await response.text())
}

t.test('clients see none, whatever the status, the surface and the credential', async (t) => {
  const answers: string[] = []
  for (const { name } of providers)
    for (const model of models.map((each) => `${name}/${each}`)) {
      answers.push(await ask('/v1/chat/completions', { model, messages: prompt }))
      if (!model.includes('echo-400')) continue
      answers.push(
        await ask('/v1/chat/completions', { model, messages: prompt, stream: true }),
        await ask('/v1/messages', { model, messages: prompt, max_tokens: 10 }),
        await ask('/v1/messages/count_tokens', { model, messages: prompt }),
        await ask('/v1/responses', { model, input: 'Which way is north?' }),
        await ask(`/v1beta/models/${model}:generateContent`, { contents: [{ parts: [{ text: 'Which way?' }] }] }),
      )
    }
  t.ok(
    answers.some((answer) => answer.includes('[redacted]')),
    'they were shown the rest',
  )
  t.ok(secrets.size > 20, `${secrets.size} credentials were shown`)
  for (const answer of answers) assertClean('an answer', answer)
})

t.test('nor do the log, the events and what explains them', async (t) => {
  const { operator, gateway, account } = running
  const ended = async () => (await operator.events()).flatMap((e) => (e.type === 'RequestFailed' ? [e.data] : []))
  await until(async () => (await ended()).length >= providers.length * models.length)
  assertClean('the events', JSON.stringify(await operator.events()))
  assertClean('the log', inspect(logger.lines, { depth: 12, maxArrayLength: null, maxStringLength: null }))
  t.ok(
    logger.lines.some(({ fields }) => inspect(fields).includes('invalid_client')),
    'which has the services’ own words',
  )
  for (const { requestId } of (await ended()).slice(0, 40)) {
    const headers = { authorization: `Bearer ${account.secret}` }
    const response = await fetch(`${gateway.url}/v1/ledger/charges/${requestId}`, { headers })
    assertClean('an explanation', await response.text())
  }
})

t.test('nor does the test of a provider', async (t) => {
  const http = new UndiciClient()
  t.teardown(() => http.stop())
  const clock = Date.now
  for (const { authentication, ...config } of providers) {
    const provider = {
      ...config,
      authenticator: authentication && openAuthenticator(authentication, { http, metadataHttp: http, clock }),
    }
    const call = callerOf(provider, http)
    for (const model of models) {
      const target: Target = {
        ...{ provider, model: `${config.name}/${model}`, upstreamModel: model, sheet: sheetOf(), calledAtSeconds: 1 },
      }
      const dialect = dialectFor(provider, 'chat')
      const body = { model, messages: prompt }
      const request = dialect.buildRequest(target, { requestId: 'r', body, stream: false, outputCap: null })
      const { bytes, ...reply } = await call({ ...request, method: 'POST' }, dialect)
      t.ok(reply.error, `${config.name} ${model}`)
      assertClean('a reply', JSON.stringify([reply, dialect.readRefusal(provider, bytes)]))
    }
    t.equal(readUpstreamRequestId(provider, {}), null)
  }
})
