import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Authentication } from '../../../src/providers/authentication/open-authenticator.ts'
import { billOf, checkReservations, startBilling } from '../../support/bills.ts'
import {
  AwsAccount,
  bedrockApiKey,
  bedrockGate,
  bedrockRegion,
  containerGate,
  countedUsage,
  instanceGate,
  slowOutputTokens,
  staticKeys,
} from '../../support/clouds/bedrock.ts'
import { startCloud } from '../../support/clouds/cloud.ts'
import { checkSurfaces, faultOf, openaiOf, question, startClouds } from '../../support/clouds/running.ts'
import { temporaryFolder } from '../../support/gateway.ts'

t.test('Amazon Bedrock: Claude and others, by keys, a profile, a machine, a container and an API key', async (t) => {
  const account = new AwsAccount()
  let sandboxUrl = ''
  const origin = await startCloud(t, (call) => bedrockGate(sandboxUrl, account)(call))
  const metadataUrl = await startCloud(t, instanceGate(account))
  const token = 'container-token-0123456789'
  const containerUrl = await startCloud(t, containerGate(account, token))
  const folder = await temporaryFolder(t)
  const credentialsFile = join(folder, 'credentials')
  const { AccessKeyId, SecretAccessKey, Token } = account.issue()
  await writeFile(
    credentialsFile,
    `[default]\naws_access_key_id = other\n\n[work]\naws_access_key_id = ${AccessKeyId}\naws_secret_access_key = ${SecretAccessKey}\naws_session_token = ${Token}\n`,
  )
  const inRegion = { region: bedrockRegion } as const
  const keys: Authentication = { type: 'aws_keys', ...inRegion, ...staticKeys }
  const role = { type: 'aws_role', ...inRegion, metadataUrl } as const
  const container = { url: containerUrl, token, tokenFile: null }
  const profile = { profile: 'work', credentialsFile, configFile: join(folder, 'absent') }
  const bedrock = { dialect: 'bedrock', baseUrl: origin, apiKey: '' } as const
  const [claude, nova] = ['eu.anthropic.claude-plain-v1:0', 'amazon.nova-plain-v1:0']
  const running = await startClouds(t, [
    { ...bedrock, name: 'bedrock-wrong', authentication: { ...keys, secretAccessKey: 'a-wrong-secret' }, model: nova },
    { ...bedrock, name: 'bedrock-region', authentication: { ...keys, region: 'us-east-1' }, model: nova },
    { ...bedrock, name: 'bedrock-keys', authentication: keys, model: claude },
    {
      ...bedrock,
      name: 'bedrock-profile',
      authentication: { type: 'aws_profile', ...inRegion, ...profile },
      model: nova,
    },
    { ...bedrock, name: 'bedrock-machine', authentication: { ...role, container: null }, model: nova },
    { ...bedrock, name: 'bedrock-container', authentication: { ...role, container }, model: claude },
    { ...bedrock, name: 'bedrock-bearer', apiKey: bedrockApiKey, model: nova },
  ])
  sandboxUrl = running.sandbox.url

  for (const [name, model] of [
    ['keys', claude],
    ['profile', nova],
    ['machine', nova],
    ['container', claude],
    ['bearer', nova],
  ])
    t.test(`${name}: ${model}`, (t) => checkSurfaces(t, running, `bedrock-${name}/${model}`))

  t.test('a wrong secret and another region are refused, and are not the caller’s fault', async (t) => {
    for (const name of ['wrong', 'region']) {
      const asked = { model: `bedrock-${name}/${nova}`, messages: question }
      t.match(await faultOf(openaiOf(running).chat.completions.create(asked)), { status: 502, code: 'upstream_error' })
    }
  })

  t.test('a model that is not there is ours; a prompt that is too long is the caller’s', async (t) => {
    const { completions } = openaiOf(running).chat
    const absent = await faultOf(completions.create({ model: 'bedrock-keys/absent', messages: question }))
    t.match(absent, { status: 502, code: 'upstream_error' })
    const messages = [{ role: 'user' as const, content: 'these are forbidden words' }]
    const long = await faultOf(completions.create({ model: `bedrock-keys/${claude}`, messages }))
    t.match(long, { status: 400, code: 'context_length_exceeded' })
    const model = `bedrock-keys/${claude.replace('plain', 'throttled')}`
    t.match(await faultOf(completions.create({ model, messages: question })), { status: 429 })
  })

  t.test('bills are what Bedrock counted, at the published price, whole and streamed', async (t) => {
    const { completions } = openaiOf(running).chat
    for (const name of [`bedrock-container/${claude}`, `bedrock-profile/${nova}`]) {
      const model = name.replace('plain', 'counted')
      const bills = await startBilling(running)
      await completions.create({ model, messages: question })
      await completions.stream({ model, messages: question }).finalChatCompletion()
      const { prompt, cacheRead, cacheWrite, output } = countedUsage
      const usage = { promptTotal: prompt, cacheRead, cacheWrite5m: cacheWrite, outputTotal: output }
      const total = ((prompt + output * 2) / 1_000_000).toFixed(6)
      for (const bill of await bills(t)) {
        t.match(bill, { source: 'reported', usage })
        t.equal(Number(bill.total).toFixed(6), total)
      }
    }
  })

  t.test('a stream that its client leaves is read to its metadata; one that breaks before is estimated', async (t) => {
    const { completions } = openaiOf(running).chat
    const leave = async (model: string, isEnough: (content: string) => boolean) => {
      const asked = { model, messages: question, stream: true as const }
      const { data, response } = await completions.create(asked).withResponse()
      const read = async (): Promise<void> => {
        for await (const { choices } of data) if (isEnough(choices[0]?.delta.content ?? '')) break
      }
      const fault = await faultOf(read())
      return { fault, bill: await billOf(running, response.headers.get('x-request-id')) }
    }
    for (const name of [`bedrock-keys/${claude}`, `bedrock-profile/${nova}`]) {
      const left = await leave(name.replace('plain', 'slow'), (content) => content !== '')
      t.match(left, { fault: undefined, bill: { source: 'reported', usage: { outputTotal: slowOutputTokens } } })
      const broken = await leave(name.replace('plain', 'broken'), () => false)
      t.ok(broken.fault, 'the client is informed')
      t.match(broken.bill, { source: 'estimated' })
    }
  })

  t.test('the attempt has the id that Bedrock gave it', async (t) => {
    const { response } = await openaiOf(running)
      .chat.completions.create({ model: `bedrock-profile/${nova}`, messages: question })
      .withResponse()
    const bill = await billOf(running, response.headers.get('x-request-id'))
    t.match(bill.attempts, [{ outcome: 'served', upstreamRequestId: /^[0-9a-f]{32}$/ }])
  })

  await checkReservations(t, running)
})
