import { hash } from 'node:crypto'
import t from 'tap'
import type { Limits } from '../../../../../src/events/types.ts'
import { errorOf, plainAsk, secret, startEdge, type TestEdge, workspaceId } from '../../edge-fixture.ts'
import { bodyOf, plainBody, plainNative, startVideoEdge } from '../../video-fixture.ts'

const setLimits = async ({ log, tail }: TestEdge, limits: Limits, keyId?: string): Promise<void> => {
  const { sequence } = await log.postToWallet(workspaceId, [
    { type: 'LimitsSet', data: { workspaceId, ...(keyId === undefined ? {} : { keyId }), limits } },
  ])
  await tail.waitForSequence(sequence)
}

const idsOf = async (response: Response): Promise<readonly string[]> => {
  const { data } = (await response.json()) as { readonly data: readonly { readonly id: string }[] }
  return data.map(({ id }) => id)
}

const messages = { model: 'openai/plain', max_tokens: 10, messages: plainAsk.messages }
const version = { 'anthropic-version': '2023-06-01' }

t.test('a model that the key may not use is refused on every surface, and nothing is routed', async (t) => {
  const edge = await startEdge(t)
  await setLimits(edge, { allowedModels: ['openai/other'] }, 'key-1')
  const rows: readonly [path: string, body: object][] = [
    ['/v1/chat/completions', plainAsk],
    ['/v1/messages', messages],
    ['/v1/messages/count_tokens', messages],
    ['/v1/responses', { model: 'openai/plain', input: 'Hello!' }],
  ]
  for (const [path, body] of rows) {
    const response = await edge.post(body, version, path)
    t.equal(response.status, 403, path)
    t.match(await errorOf(response), { code: 'model_not_allowed', type: 'permission_error', param: 'model' }, path)
  }
  t.equal(edge.calls.length, 0)
  t.equal((await edge.post({ ...plainAsk, model: 'openai/other' })).status, 200)
})

t.test('of a chain and of a router the models serve that the key may use', async (t) => {
  const edge = await startEdge(t)
  await setLimits(edge, { allowedModels: ['openai/*'] })
  await setLimits(edge, { allowedModels: ['openai/other', 'grok/*'] }, 'key-1')
  for (const change of [{ models: ['grok/plain', 'openai/plain', 'openai/other'] }, { model: 'gateway/auto' }]) {
    t.equal((await edge.post({ ...plainAsk, ...change })).status, 200)
    t.same(
      edge.calls.at(-1)?.candidates.map(({ model }) => model),
      ['openai/other'],
    )
  }
  const none = await edge.post({ ...plainAsk, models: ['grok/plain', 'openai/plain'] })
  t.match(
    { status: none.status, ...(await errorOf(none)) },
    { status: 403, code: 'model_not_allowed', param: 'extra_body.models' },
  )
  await setLimits(edge, {}, 'key-1')
  t.equal((await edge.post(plainAsk)).status, 200, 'as soon as the limits are lifted')
})

t.test('what was answered is sent again to the key that asked, also where it may use the model no more', async (t) => {
  const edge = await startEdge(t)
  const other = 'sk-another-key-of-the-workspace'
  const issued = { keyId: 'key-3', workspaceId, name: 'key-3', sha256: hash('sha256', other), prefix: 'sk-anoth' }
  await edge.log.postToWallet(workspaceId, [{ type: 'KeyIssued', data: issued }])
  const key = { 'idempotency-key': 'order-7' }
  t.equal((await edge.post(plainAsk, key)).status, 200)
  await setLimits(edge, { allowedModels: ['openai/other'] }, 'key-3')
  await setLimits(edge, { allowedModels: ['openai/other'] }, 'key-1')
  const again = await edge.post(plainAsk, key)
  t.same([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
  const crossing = await edge.post(plainAsk, { ...key, authorization: `Bearer ${other}` })
  t.match({ status: crossing.status, ...(await errorOf(crossing)) }, { status: 403, code: 'model_not_allowed' })
  await setLimits(edge, {}, 'key-3')
  t.equal((await edge.post(plainAsk, { ...key, authorization: `Bearer ${other}` })).status, 200)
  t.equal(edge.calls.length, 1)
})

t.test('a video of a model that the key may not use is not queued', async (t) => {
  const edge = await startVideoEdge(t)
  await setLimits(edge, { allowedModels: ['vv/v2-6'] }, 'key-1')
  for (const path of ['/v1/video/generations', '/v1/videos']) {
    const response = await edge.post(plainBody, {}, path)
    t.match({ status: response.status, ...(await bodyOf(response)) }, { status: 403, code: 'model_not_allowed' }, path)
  }
  const response = await edge.post(plainNative, {}, '/vv/v1/videos/text2video')
  t.match(
    { status: response.status, ...(await bodyOf(response)) },
    { status: 403, code: 1103, error: { code: 'model_not_allowed' } },
  )
  t.equal(edge.queued.size, 0)
})

t.test('models are listed to anybody, and to a key those that it may use', async (t) => {
  const edge = await startEdge(t)
  await setLimits(edge, { allowedModels: ['openai/*'] }, 'key-1')
  const all = ['grok/plain', 'openai/other', 'openai/plain']
  const own = ['openai/other', 'openai/plain']
  const list = (headers: Record<string, string>) => fetch(`${edge.url}/v1/models`, { headers })
  t.same(await idsOf(await list({})), all)
  t.same(await idsOf(await list({ authorization: `Bearer ${secret}` })), own)
  t.same(await idsOf(await list({ 'x-api-key': secret })), own)
  t.equal((await list({ authorization: 'Bearer sk-unknown' })).status, 401)
  const one = (headers: Record<string, string>) => fetch(`${edge.url}/v1/models/grok/plain`, { headers })
  t.equal((await one({})).status, 200)
  const refused = await one({ authorization: `Bearer ${secret}` })
  t.match({ status: refused.status, ...(await errorOf(refused)) }, { status: 404, code: 'model_not_found' })
})
