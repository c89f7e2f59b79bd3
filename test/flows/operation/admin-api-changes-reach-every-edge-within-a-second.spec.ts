import { hash } from 'node:crypto'
import t from 'tap'
import type { Event, EventOf, EventType } from '../../../src/events/envelope.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { sheetOf } from '../../support/gateway.ts'
import { startRolesTogether } from '../../support/roles-together.ts'

const withinMs = 1_000
const token = 'a-token-of-ana-that-nobody-can-guess'

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

const ask = async (url: string, method: string, path: string, body?: object): Promise<Answer> => {
  const response = await fetch(`${url}/admin/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

const ofType = <T extends EventType>(events: readonly Event[], type: T): readonly EventOf<T>[] =>
  events.filter((event): event is Event & EventOf<T> => event.type === type)

t.test('workspaces, keys, credit, aliases, routers and prices over the admin API of one of two edges', async (t) => {
  const { direct } = await startExternalServers(t)
  const { operator, urls } = await startRolesTogether(t, {
    external: direct,
    counts: { edge: 2, scheduler: 2 },
    config: { admins: [{ name: 'ana', sha256: hash('sha256', token), role: 'owner' }] },
    sheets: { 'openai/other': sheetOf() },
  })
  const [one = '', other = ''] = urls
  const everywhere = (key: unknown, model: string, status: number) => async (): Promise<boolean> => {
    const seen = await Promise.all(urls.map((url) => chat(url, String(key), chatBody(model, false))))
    return seen.every((each) => each.status === status)
  }

  t.match(await ask(one, 'POST', 'workspaces', { id: 'acme', name: 'Acme' }), { status: 201 })
  const issued = await ask(other, 'POST', 'keys', { workspace: 'acme', name: 'production' })
  t.match(issued, { status: 201 })
  const { secret, id } = issued.body
  await until(everywhere(secret, 'openai/plain', 402), withinMs)
  await ask(one, 'POST', 'workspaces/acme/credits', { amount: '10', reference: 'invoice-1' })
  await until(everywhere(secret, 'openai/plain', 200), withinMs)

  await ask(one, 'PUT', 'aliases/quick', { model: 'openai/other' })
  await ask(other, 'PUT', 'routers/mixed', {
    candidates: [{ model: 'quick', weight: 9 }, 'openai/plain'],
    order: 'weighted',
  })
  await until(everywhere(secret, 'quick', 200), withinMs)
  await until(everywhere(secret, 'gateway/mixed', 200), withinMs)
  await ask(other, 'DELETE', 'aliases/quick')
  await until(everywhere(secret, 'quick', 404), withinMs)
  const prices = [{ model: 'openai/new', effective_from: '2026-01-01T00:00:00Z', source: 'a test', sheet: sheetOf() }]
  await ask(one, 'POST', 'prices', { prices })
  await until(everywhere(secret, 'openai/new', 200), withinMs)

  const limitsAt = `workspaces/acme/keys/${id}/limits`
  t.match(await ask(one, 'PUT', limitsAt, { allowed_models: ['openai/other'] }), { status: 200 })
  await until(everywhere(secret, 'openai/plain', 403), withinMs)
  t.match(await ask(other, 'DELETE', limitsAt), { status: 200 })
  await until(everywhere(secret, 'openai/plain', 200), withinMs)

  t.match(await ask(one, 'POST', 'workspaces', { id: 'poor', credit_limit: '5' }), { status: 201 })
  const poor = await ask(one, 'POST', 'keys', { workspace: 'poor', name: 'production' })
  await until(everywhere(poor.body['secret'], 'openai/plain', 200), withinMs)
  t.match(await ask(other, 'PATCH', 'workspaces/poor', { credit_limit: '0' }), { status: 200 })
  await until(everywhere(poor.body['secret'], 'openai/plain', 402), 10_000) // Allowances that were set aside before go back first.

  const rotated = await ask(one, 'POST', `keys/${id}/rotate`, { grace_seconds: 2 })
  t.match(rotated, { status: 201 })
  t.ok(await everywhere(secret, 'openai/plain', 200)(), 'both keys work for a while')
  await until(everywhere(rotated.body['secret'], 'openai/plain', 200), withinMs)
  await until(everywhere(secret, 'openai/plain', 401), 10_000)
  // An edge refuses an expired key by its own clock; a scheduler says so in the log later.
  await until(async () => ofType(await operator.events(), 'KeyRevoked').length === 1, 10_000)
  t.match(await ask(other, 'DELETE', `keys/${rotated.body['id']}`), { status: 200 })
  await until(everywhere(rotated.body['secret'], 'openai/plain', 401), withinMs)

  const events = await operator.events()
  t.match(
    ofType(events, 'KeyRevoked').map(({ data, actor, source }) => [
      data.keyId,
      data.reason,
      actor,
      source.split('/')[2],
    ]),
    [
      [id, 'expired', undefined, 'scheduler'],
      [rotated.body['id'], undefined, 'admin:ana', 'edge'],
    ],
    'two schedulers say once what time causes',
  )
  const changes = events.filter(
    ({ source, type }) => source.startsWith('/gateway/edge/') && !/^(?:Request|Hold)/.test(type),
  )
  t.ok(changes.length >= 12)
  t.same(
    changes.filter(({ actor }) => actor !== 'admin:ana'),
    [],
    'every change says who asked',
  )
  t.notMatch(JSON.stringify(events), token)

  const listed = async (query: string) =>
    (await ask(other, 'GET', `events?${query}`)).body['data'] as readonly { type: string; actor: string }[]
  const endings = 'workspace=acme&type=KeyRevoked,KeyExpirySet'
  await until(async () => (await listed(endings)).length === 3)
  t.match(
    (await listed(endings)).map(({ type, actor }) => [type, actor]),
    [
      ['KeyRevoked', 'admin:ana'],
      ['KeyRevoked', null],
      ['KeyExpirySet', 'admin:ana'],
    ],
  )
  t.match((await ask(one, 'GET', 'workspaces/acme/credits')).body, {
    data: [{ reference: 'invoice-1', actor: 'admin:ana' }],
  })
})

t.test('two edges that decide about one workspace at the same time decide one after the other', async (t) => {
  const { direct } = await startExternalServers(t)
  const { operator, urls } = await startRolesTogether(t, {
    external: direct,
    counts: { edge: 2 },
    config: { admins: [{ name: 'ana', sha256: hash('sha256', token), role: 'owner' }] },
  })
  const both = async (times: number, method: string, path: string, bodyOf: (edge: number) => object) => {
    const asked = Array.from({ length: times }, () => urls.map((url, edge) => ask(url, method, path, bodyOf(edge))))
    return (await Promise.all(asked.flat())).map(({ status }) => status).toSorted()
  }
  const opened = await both(1, 'POST', 'workspaces', (edge) => ({ id: 'acme', name: `of edge ${edge}` }))
  t.same(opened, [201, 409], 'a workspace is opened once')
  const issued = await both(8, 'POST', 'keys', () => ({ workspace: 'acme', name: 'production' }))
  t.same(issued, [201, ...Array.from({ length: 15 }, () => 409)], 'a workspace has one working key of a name')
  const [key] = [...operator.tail.ledger.accounts.keys.values()]
  const rotated = await both(4, 'POST', `keys/${key?.keyId}/rotate`, () => ({ grace_seconds: 60 }))
  t.same(rotated, [201, ...Array.from({ length: 7 }, () => 409)], 'a key is rotated once')
  const credited = await both(4, 'POST', 'workspaces/acme/credits', () => ({ amount: '1', reference: 'once' }))
  t.same(credited, [...Array.from({ length: 7 }, () => 200), 201])
  const events = await operator.events()
  t.equal(ofType(events, 'KeyIssued').length, 2)
  t.equal(ofType(events, 'WorkspaceOpened').length, 1)
})
