import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { UndiciClient } from '../../../src/adapters/http/client.ts'
import { authenticationLimits } from '../../../src/providers/authentication/limits.ts'
import { type Authentication, openAuthenticator } from '../../../src/providers/authentication/open-authenticator.ts'
import type { Authenticator } from '../../../src/providers/dialect/authenticator.ts'
import { AwsAccount, bedrockRegion, containerGate, instanceGate, staticKeys } from '../../support/clouds/bedrock.ts'
import { type CloudCall, startCloud } from '../../support/clouds/cloud.ts'
import { temporaryFolder } from '../../support/gateway.ts'

const region = bedrockRegion
const path = '/model/eu.anthropic.claude-v1%3A0/invoke'
const body = Buffer.from('{"a":1}')
const request = {
  url: `https://bedrock-runtime.eu-west-1.amazonaws.com${path}`,
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-other': 'changed on the way' },
  body,
  signal: new AbortController().signal,
}

const open = (t: Test, authentication: Authentication, clock: () => number = Date.now): Authenticator => {
  const http = new UndiciClient()
  t.teardown(() => http.stop())
  return openAuthenticator(authentication, { http, metadataHttp: http, clock })
}

const callOf = async (authenticator: Authenticator, change: Partial<CloudCall> = {}): Promise<CloudCall> => ({
  method: 'POST',
  path,
  query: new URLSearchParams(),
  headers: {
    host: 'bedrock-runtime.eu-west-1.amazonaws.com',
    'content-type': 'application/json',
    ...(await authenticator.authorize(request)),
  },
  body,
  ...change,
})

const keys = { type: 'aws_keys', region, ...staticKeys } as const

t.test('a strict account takes what is signed, and nothing else', async (t) => {
  const account = new AwsAccount()
  const right = await callOf(open(t, keys))
  t.equal(account.problemOf(right), null)
  t.match(account.problemOf({ ...right, body: Buffer.from('{"a":2}') }), /does not match/)
  t.match(account.problemOf({ ...right, path: path.replace('v1', 'v2') }), /does not match/)
  t.match(account.problemOf({ ...right, method: 'GET' }), /does not match/)
  const wrongSecret = await callOf(open(t, { ...keys, secretAccessKey: 'another-secret' }))
  t.match(account.problemOf(wrongSecret), /does not match/)
  t.match(account.problemOf(await callOf(open(t, { ...keys, region: 'us-east-1' }))), /valid region/)
  t.match(account.problemOf(await callOf(open(t, keys, () => Date.now() - 600_000))), /expired/)
  t.match(account.problemOf(await callOf(open(t, { ...keys, accessKeyId: 'AKIAOTHER' }))), /invalid/)
})

t.test('keys of a profile: with their token, and again after the file changed', async (t) => {
  const account = new AwsAccount()
  const folder = await temporaryFolder(t)
  const credentialsFile = join(folder, 'credentials')
  const write = async () => {
    const { AccessKeyId, SecretAccessKey, Token } = account.issue()
    const lines = ['[work]', `aws_access_key_id=${AccessKeyId}`, `aws_secret_access_key = ${SecretAccessKey}`]
    await writeFile(credentialsFile, ['# ours', ...lines, `aws_session_token = ${Token}`, ''].join('\n'))
    return AccessKeyId
  }
  let nowMs = Date.now()
  const first = await write()
  const profile = {
    type: 'aws_profile',
    region,
    profile: 'work',
    credentialsFile,
    configFile: join(folder, 'no'),
  } as const
  const authenticator = open(t, profile, () => nowMs)
  t.equal(account.problemOf(await callOf(authenticator)), null)
  const second = await write()
  t.equal(account.problemOf(await callOf(authenticator)), null)
  t.same([...account.usedKeys], [first])
  nowMs += 3_000
  authenticator.discard()
  t.equal(account.problemOf(await callOf(authenticator)), null)
  t.same([...account.usedKeys], [first, second])
  await writeFile(credentialsFile, '[wor')
  nowMs += authenticationLimits.refusedPauseMs
  authenticator.discard()
  t.equal(account.problemOf(await callOf(authenticator)), null, 'keys of a file that is of no use now are used on')
  const absent = open(t, { ...profile, profile: 'absent' }).authorize(request)
  await t.rejects(absent, {
    kind: 'authentication',
    cause: { message: /profile absent of .* has no aws_access_key_id/ },
  })
})

t.test('a profile whose keys are had another way is refused by name', async (t) => {
  const folder = await temporaryFolder(t)
  const [credentialsFile, configFile] = [join(folder, 'credentials'), join(folder, 'config')]
  await writeFile(credentialsFile, '')
  for (const [line, way] of [
    ['role_arn = arn:aws:iam::123456789012:role/gateway', /assumes a role \(role_arn\)/],
    ['sso_session = company', /logs in by SSO \(sso_session\)/],
    ['credential_process = /bin/keys', /runs a program \(credential_process\)/],
    ['web_identity_token_file = /var/run/token', /has a web identity/],
    ['region = eu-west-1', /has no aws_access_key_id/],
  ] as const) {
    await writeFile(configFile, `[profile work]\n${line}\n`)
    const authenticator = open(t, { type: 'aws_profile', region, profile: 'work', credentialsFile, configFile })
    await t.rejects(authenticator.authorize(request), { kind: 'authentication', cause: { message: way } }, line)
  }
})

t.test('the role of a machine, by version 2 of its metadata service, and that of a container', async (t) => {
  const account = new AwsAccount()
  const metadataUrl = await startCloud(t, instanceGate(account))
  const machine = { type: 'aws_role', region, container: null, metadataUrl } as const
  const authenticator = open(t, machine)
  t.equal(account.problemOf(await callOf(authenticator)), null)
  t.equal(account.problemOf(await callOf(authenticator)), null)
  t.equal(account.usedKeys.size, 1, 'one issue serves both')

  const token = 'a-token-of-the-container'
  const url = await startCloud(t, containerGate(account, token))
  const tokenFile = join(await temporaryFolder(t), 'token')
  await writeFile(tokenFile, `${token}\n`)
  for (const container of [
    { url, token, tokenFile: null },
    { url, token: null, tokenFile },
  ])
    t.equal(account.problemOf(await callOf(open(t, { ...machine, container }))), null)
  const wrong = open(t, { ...machine, container: { url, token: 'another', tokenFile: null } })
  await t.rejects(wrong.authorize(request), { kind: 'authentication', cause: { message: /answers 403/ } })
})
