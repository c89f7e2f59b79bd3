import { hash } from 'node:crypto'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import type { EventOf } from '../../../src/events/envelope.ts'
import { logLimits } from '../../../src/log/limits.ts'
import { until } from '../../support/clients.ts'
import { runtime, sheetOf, startTestGateway } from '../../support/gateway.ts'

const adminToken = 'a-token-of-ana-that-nobody-can-guess'
const clock = { aheadMs: 0 }
const running = await startTestGateway(t, {
  sheets: {
    'anthropic/plain': sheetOf(),
    'openai/vectors': sheetOf({ per_million_tokens: { input: '1', output: '0' }, max_output_tokens: 0 }),
  },
  config: { tagNames: ['team', 'env'], admins: [{ name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' }] },
  runtime: { ...runtime, clock: () => runtime.clock() + clock.aheadMs },
})
const { gateway, operator, sandbox, account } = running
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.secret, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: account.secret, maxRetries: 0 })
const messages = [{ role: 'user' as const, content: 'Which way is north?' }]

const tagged = (tags: string) => ({ headers: { 'X-Gateway-Tags': tags } })
const routed = async (): Promise<readonly EventOf<'RequestRouted'>['data'][]> =>
  (await operator.events()).flatMap((event) => (event.type === 'RequestRouted' ? [event.data] : []))

interface Row {
  readonly [member: string]: unknown
  readonly total: string
}

const ask = (path: string, token: string, method = 'GET'): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { method, headers: { authorization: `Bearer ${token}` } })

const list = async (query: string): Promise<readonly Row[]> => {
  const response = await ask(`/v1/ledger/${query}`, account.secret)
  const body = (await response.json()) as { readonly data?: readonly Row[] }
  if (body.data === undefined) throw new Error(JSON.stringify(body))
  return body.data
}

const refusalOf = async (query: string): Promise<unknown> => (await ask(`/v1/ledger/${query}`, account.secret)).json()

/** What the log charged for the requests that match. */
const chargedFor = async (matches: (request: EventOf<'RequestRouted'>['data']) => boolean): Promise<string> => {
  const ids = new Set((await routed()).filter(matches).map(({ requestId }) => requestId))
  const bills = (await operator.events()).flatMap((event) => (event.type === 'UsageRecorded' ? [event.data] : []))
  const sum = bills
    .filter(({ requestId }) => ids.has(requestId))
    .reduce((picos, bill) => picos + parseUsd(bill.total), 0n)
  return formatUsd(sum)
}

t.test('each surface notes tags and its end user, and the provider gets no tag', async (t) => {
  await openai.chat.completions.create(
    { model: 'openai/plain', messages, user: 'alice', metadata: { order: '7', team: 'support' } },
    tagged('env=prod'),
  )
  await openai.chat.completions.create({
    ...{ model: 'openai/plain', messages, safety_identifier: 'bob', user: 'ignored' },
    metadata: { team: 'search' },
  })
  await openai.responses.create({ model: 'openai/plain', input: 'Hello!', user: 'alice' }, tagged('team=search'))
  await openai.embeddings.create({ model: 'openai/vectors', input: 'Hello!', user: 'alice' }, tagged('team=search'))
  await anthropic.messages.create(
    { model: 'anthropic/plain', max_tokens: 20, messages, metadata: { user_id: 'alice' } },
    tagged('team=search,env=test'),
  )
  await openai.chat.completions.create({ model: 'openai/plain', messages })
  const all = await routed()
  t.same(
    all.map(({ surface, tags }) => [surface, tags]),
    [
      ['chat', { team: 'support', env: 'prod' }],
      ['chat', { team: 'search' }],
      ['responses', { team: 'search' }],
      ['embeddings', { team: 'search' }],
      ['messages', { team: 'search', env: 'test' }],
      ['chat', undefined],
    ],
  )
  const [alice, bob, ...others] = all.map(({ endUser }) => endUser)
  t.match(alice, /^[0-9a-f]{64}$/)
  t.not(alice, bob)
  t.same(others, [alice, alice, alice, undefined])
  t.notMatch(JSON.stringify(await operator.events()), /alice|bob|ignored/, 'no name is in the log')
  const bodies = sandbox.calls().map(({ body }) => body as { readonly metadata?: unknown })
  t.same(
    bodies.map(({ metadata }) => metadata),
    [{ order: '7' }, undefined, undefined, undefined, { user_id: 'alice' }, undefined],
  )
})

t.test('usage grouped and filtered by tag and by end user equals the bills of the log', async (t) => {
  await until(async () => (await list('charges')).length === 6)
  const [first] = await routed()
  const search = await chargedFor(({ tags }) => tags?.['team'] === 'search')
  const support = await chargedFor(({ tags }) => tags?.['team'] === 'support')
  t.match(await list('usage?group_by=tag:team'), [
    { tag: 'unattributed', requests: 1 },
    { tag: 'search', requests: 4, total: search },
    { tag: 'support', requests: 1, total: support },
  ])
  t.match(await list('usage?group_by=surface&tag=team%3Dsearch'), [
    { surface: 'chat', requests: 1 },
    { surface: 'embeddings', requests: 1, tokens: { prompt_total: 1, output_total: 0 } },
    { surface: 'messages', requests: 1 },
    { surface: 'responses', requests: 1 },
  ])
  const ofAlice = await chargedFor(({ endUser }) => endUser === first?.endUser)
  t.match(await list('usage?group_by=model&user=alice'), [
    { model: 'anthropic/plain', requests: 1 },
    { model: 'openai/plain', requests: 2 },
    { model: 'openai/vectors', requests: 1 },
  ])
  t.match(await list(`usage?group_by=end_user&end_user=${first?.endUser}`), [
    { end_user: first?.endUser, requests: 4, total: ofAlice },
  ])
  t.match(await list('usage?group_by=end_user'), [{ end_user: 'unattributed', requests: 1 }, {}, {}])
  t.same(await list('usage?user=carol'), [])
  t.match(await list('usage?group_by=surface'), [{ requests: 3 }, {}, {}, {}], 'and all requests without a label')
  t.match(await refusalOf('usage?group_by=tag:team&user=alice'), { error: { param: 'group_by', message: /one tag/ } })
  t.match(await refusalOf('usage?group_by=tag:team,tag:env'), { error: { param: 'group_by' } })
  t.match(await refusalOf('usage?group_by=tag:teem'), { error: { param: 'group_by', message: /not configured.*team/ } })
  t.match(await refusalOf('usage?tag=teem%3Dsearch'), { error: { param: 'tag', message: /not configured.*team/ } })
  t.match(await refusalOf('usage?tag=team'), { error: { param: 'tag', message: /team=search/ } })
})

t.test('charges by tag and by end user', async (t) => {
  const charges = async (query: string): Promise<readonly (readonly unknown[])[]> =>
    (await list(`charges?${query}`)).map(({ surface, tags }) => [surface, tags])
  t.same(await charges('tag=env%3Dprod'), [['chat', { team: 'support', env: 'prod' }]])
  t.same(await charges('tag=team%3Dsearch&user=bob'), [['chat', { team: 'search' }]])
  t.equal((await charges('user=alice')).length, 4)
  t.equal((await charges('')).length, 6)
  t.same(await charges('user=carol'), [])
})

t.test('end users that were forgotten are anonymous, and new ones are others', async (t) => {
  const [before] = await routed()
  const path = '/admin/v1/workspaces/acme/end-users'
  t.equal((await ask(path, account.secret, 'DELETE')).status, 401, 'not for a key')
  t.match(await (await ask(path, adminToken, 'DELETE')).json(), { object: 'workspace', id: 'acme' })
  t.equal((await ask(path, adminToken, 'DELETE')).status, 200, 'again, without harm')
  t.equal((await ask('/admin/v1/workspaces/none/end-users', adminToken, 'DELETE')).status, 404)
  clock.aheadMs += logLimits.endUserKeyMs
  t.same(await list('usage?user=alice'), [])
  t.equal((await list(`usage?group_by=end_user&end_user=${before?.endUser}`)).length, 1, 'its sums stay')
  await openai.chat.completions.create({ model: 'openai/plain', messages, user: 'alice' })
  const after = (await routed()).at(-1)
  t.match(after?.endUser, /^[0-9a-f]{64}$/)
  t.not(after?.endUser, before?.endUser)
  await until(async () => (await list('usage?user=alice')).length === 1)
})

t.test('a tag that is not configured is refused, on each surface in its own words', async (t) => {
  const wrong = tagged('cost=7')
  await t.rejects(openai.chat.completions.create({ model: 'openai/plain', messages }, wrong), {
    status: 400,
    code: 'invalid_value',
    param: 'X-Gateway-Tags',
    message: /the tag `cost`, which is not configured/,
  })
  const refused: unknown = await anthropic.messages
    .create({ model: 'anthropic/plain', max_tokens: 9, messages }, wrong)
    .catch((fault: unknown) => fault)
  t.match(refused, {
    status: 400,
    error: { error: { type: 'invalid_request_error', message: /not configured/ } },
  })
})
