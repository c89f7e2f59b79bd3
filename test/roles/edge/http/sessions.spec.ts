import { hash } from 'node:crypto'
import { request as send } from 'node:http'
import t from 'tap'
import type { AdminIdentity } from '../../../../src/roles/edge/http/authenticate.ts'
import { MemoryEndUserKeys } from '../../../support/memory-end-users.ts'
import { openSession, type SessionHeaders } from '../browser-session.ts'
import { errorOf, plainAsk, revokedSecret, secret, startEdge, type TestEdge, workspaceId } from '../edge-fixture.ts'

const token = 'a-token-of-ana-that-no-one-else-has'
const adminWith = (text: string, role: AdminIdentity['role'] = 'owner'): AdminIdentity => ({
  name: 'ana',
  sha256: hash('sha256', text),
  role,
})

const path = '/dashboard/session'
const wallet = '/v1/ledger/wallet'
const administrator = '/admin/v1/administrator'
const shown = (edge: Pick<TestEdge, 'url'>, headers: Readonly<Record<string, string>>) =>
  fetch(edge.url + path, { headers }).then((response) => response.json())
const statusOf = (edge: Pick<TestEdge, 'url'>, where: string, headers: Readonly<Record<string, string>>) =>
  fetch(edge.url + where, { headers }).then(({ status }) => status)
const credit = (edge: Pick<TestEdge, 'url'>, headers: Readonly<Record<string, string>>) =>
  fetch(`${edge.url}/admin/v1/workspaces/${workspaceId}/credits`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ amount: '1', reference: 'once' }),
  })
const adminOf = { actor: 'admin:ana', role: 'owner' }

t.test('a key or a token starts a session, whose cookie scripts cannot read and other sites cannot send', async (t) => {
  const edge = await startEdge(t, { admins: [adminWith(token)] })
  for (const [text, who] of [
    [secret, { administrator: null, workspace: { id: workspaceId, name: 'Acme' } }],
    [token, { administrator: adminOf, workspace: null }],
  ] as const) {
    const response = await fetch(edge.url + path, { method: 'POST', headers: { authorization: `Bearer ${text}` } })
    t.equal(response.status, 201)
    const cookies = response.headers.getSetCookie()
    t.same(
      cookies.map((cookie) => cookie.replace(/=[\w-]+;/, '=sealed;')),
      ['/dashboard/session', '/admin/v1', '/v1'].map(
        (where) => `gateway_session=sealed; Path=${where}; Max-Age=28800; HttpOnly; SameSite=Strict`,
      ),
    )
    t.notMatch(Buffer.from(cookies.join(), 'base64url').toString('latin1'), /sk-|ana|key-1/)
    t.match(await response.json(), { object: 'session', signed_in: { ...who, csrf_token: /^[\w-]{43}$/ } })
    const headers = await openSession(edge.url, text)
    t.match(await shown(edge, headers), { signed_in: { ...who, csrf_token: headers['x-csrf-token'] } }, 'a reload')
  }
  t.same(edge.logged.filter(({ event }) => event === 'session.started').length, 4)
  t.notMatch(JSON.stringify(edge.logged), /sk-test|a-token-of/)
})

t.test('an expired key is refused, and so is a session of it, before it is revoked', async (t) => {
  let nowMs = Date.now()
  const edge = await startEdge(t, { clock: () => nowMs })
  const bearer = { authorization: `Bearer ${secret}` }
  const session = await openSession(edge.url, secret)
  const expiresAt = new Date(nowMs + 1_000).toISOString()
  const { sequence } = await edge.log.append([
    { type: 'KeyExpirySet', data: { keyId: 'key-1', workspaceId, expiresAt } },
  ])
  await edge.tail.waitForSequence(sequence)
  t.equal((await edge.post(plainAsk)).status, 200)
  t.equal(await statusOf(edge, '/v1/models', bearer), 200)
  nowMs += 1_000
  t.match(await errorOf(await edge.post(plainAsk)), { code: 'invalid_api_key' })
  t.equal(await statusOf(edge, '/v1/models', bearer), 401)
  t.equal(await statusOf(edge, wallet, session), 401)
  t.match(await shown(edge, session), { signed_in: null })
})

t.test('over TLS, also that of a proxy, the cookie is Secure', async (t) => {
  const edge = await startEdge(t)
  const { host } = new URL(edge.url)
  const headers = { authorization: `Bearer ${secret}`, origin: `https://${host}` }
  const response = await fetch(edge.url + path, { method: 'POST', headers })
  for (const cookie of response.headers.getSetCookie()) t.match(cookie, /; Secure$/)
})

t.test('what is no working key or token starts none', async (t) => {
  const edge = await startEdge(t, { admins: [adminWith(token)] })
  for (const authorization of ['', `Bearer ${revokedSecret}`, 'Bearer sk-none', 'Bearer none', `Basic ${token}`]) {
    const response = await fetch(edge.url + path, { method: 'POST', headers: { authorization } })
    t.equal(response.status, 401, authorization)
    t.same(response.headers.getSetCookie(), [])
  }
  t.same(await shown(edge, {}), { object: 'session', identity_provider: null, signed_in: null })
})

t.test('a session reads and calls as its key or token does', async (t) => {
  const edge = await startEdge(t, { admins: [adminWith(token)] })
  const [keyed, administers] = [await openSession(edge.url, secret), await openSession(edge.url, token)]
  t.equal(await statusOf(edge, wallet, keyed), 200)
  t.equal(await statusOf(edge, administrator, keyed), 403)
  t.equal(await statusOf(edge, administrator, administers), 200)
  t.equal(await statusOf(edge, wallet, administers), 403)
  t.equal((await edge.post(plainAsk, { authorization: '', ...keyed })).status, 200)
  t.equal((await credit(edge, administers)).status, 201)
  const credited = edge.log.events.findLast(({ type }) => type === 'WalletCredited')
  t.match(credited, { actor: 'admin:ana' })
})

t.test('another site cannot use a session', async (t) => {
  const edge = await startEdge(t, { admins: [adminWith(token)], corsOrigins: ['https://shop.example'] })
  const session = await openSession(edge.url, token)
  const { cookie } = session
  const refused: readonly (readonly [why: string, headers: Readonly<Record<string, string>>])[] = [
    ['without its token', { cookie }],
    [
      'with the token of another session',
      { cookie, 'x-csrf-token': (await openSession(edge.url, token))['x-csrf-token'] },
    ],
    ['of another origin', { ...session, origin: 'https://shop.example' }],
    ['of an opaque origin', { ...session, origin: 'null' }],
    ['of another site', { ...session, 'sec-fetch-site': 'cross-site' }],
    ['of a neighbour', { ...session, 'sec-fetch-site': 'same-site', origin: edge.url }],
    ['by a link', { ...session, 'sec-fetch-site': 'none' }],
  ]
  for (const [why, headers] of refused) {
    const response = await credit(edge, headers)
    t.equal(response.status, 403, why)
    t.equal((await errorOf(response)).code, 'access_denied')
  }
  t.equal(await statusOf(edge, administrator, { cookie, 'sec-fetch-site': 'cross-site' }), 403)
  t.equal(await statusOf(edge, administrator, { cookie, 'sec-fetch-site': 'none' }), 200, 'an address that was typed')
  t.equal(
    (await credit(edge, { ...session, 'sec-fetch-site': 'same-origin', origin: 'https://behind.example' })).status,
    201,
  )
  const signIn = { authorization: `Bearer ${token}`, origin: 'https://shop.example' }
  t.equal((await fetch(edge.url + path, { method: 'POST', headers: signIn })).status, 403, 'or start one')
})

t.test('a session ends with its key', async (t) => {
  const edge = await startEdge(t, { admins: [adminWith(token)] })
  const session = await openSession(edge.url, secret)
  await edge.log.append([{ type: 'KeyRevoked', data: { keyId: 'key-1', workspaceId } }])
  await edge.tail.waitForSequence(await edge.log.lastSequence())
  t.equal(await statusOf(edge, wallet, session), 401)
  const response = await fetch(edge.url + path, { headers: session })
  t.match(await response.json(), { object: 'session', signed_in: null })
  t.match(response.headers.getSetCookie(), [/gateway_session=; .*Max-Age=0/])
})

t.test('a session ends with its token, and has the role of now', async (t) => {
  const admins = [adminWith(token)]
  const edge = await startEdge(t, { admins })
  const session = await openSession(edge.url, token)
  admins[0] = adminWith(token, 'auditor')
  t.match(await shown(edge, session), { signed_in: { administrator: { role: 'auditor' } } })
  t.equal((await credit(edge, session)).status, 403)
  admins[0] = adminWith('another-token-of-ana-after-a-rotation')
  t.equal(await statusOf(edge, administrator, session), 401, 'replaced')
  admins[0] = adminWith(token)
  t.equal(await statusOf(edge, administrator, session), 200)
  admins.pop()
  t.equal(await statusOf(edge, administrator, session), 401, 'removed')
})

t.test('a session ends in time, and by signing out', async (t) => {
  let nowMs = Date.now()
  const edge = await startEdge(t, { admins: [adminWith(token)], clock: () => nowMs })
  const session = await openSession(edge.url, token)
  t.equal((await fetch(edge.url + path, { method: 'DELETE', headers: { cookie: session.cookie } })).status, 403)
  const out = await fetch(edge.url + path, { method: 'DELETE', headers: session })
  t.equal(out.status, 200)
  t.equal(out.headers.getSetCookie().filter((cookie) => /^gateway_session=; .*Max-Age=0;/.test(cookie)).length, 3)
  nowMs += 8 * 3_600_000 - 1
  t.equal(await statusOf(edge, administrator, session), 200)
  nowMs += 1
  t.equal(await statusOf(edge, administrator, session), 401)
})

t.test(
  'every edge knows a session, without state; one of another deployment or one that was changed is none',
  async (t) => {
    const admins = [adminWith(token)]
    const endUserKeys = new MemoryEndUserKeys()
    const [first, second, other] = [
      await startEdge(t, { admins, endUserKeys }),
      await startEdge(t, { admins, endUserKeys }),
      await startEdge(t, { admins }),
    ]
    const session: SessionHeaders = await openSession(first.url, token)
    t.equal((await credit(second, session)).status, 201)
    t.equal(await statusOf(other, administrator, session), 401)
    const { cookie } = session
    for (let at = 'gateway_session='.length; at < cookie.length; at += 7) {
      const changed = `${cookie.slice(0, at)}${cookie[at] === 'A' ? 'B' : 'A'}${cookie.slice(at + 1)}`
      t.equal(await statusOf(first, administrator, { cookie: changed }), 401)
    }
  },
)

t.test('a client that leaves while the key of sessions is read leaves its place to the next request', async (t) => {
  const endUserKeys = new MemoryEndUserKeys()
  const session = await openSession((await startEdge(t, { endUserKeys })).url, secret)
  const reading = Promise.withResolvers<void>()
  const read = Promise.withResolvers<void>()
  class SlowKeys extends MemoryEndUserKeys {
    override async find(name: string): Promise<string | null> {
      reading.resolve()
      await read.promise
      return endUserKeys.find(name)
    }
  }
  const edge = await startEdge(t, {
    endUserKeys: new SlowKeys(),
    requestLines: true,
    bounds: { workspaceOpenRequestsMax: 1 },
  })
  const leaving = send(`${edge.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...session, 'content-type': 'application/json' },
  })
  leaving.on('error', () => undefined).end(JSON.stringify(plainAsk))
  await reading.promise
  leaving.destroy()
  while (!edge.logged.some(({ event }) => event === 'request.served')) await new Promise(setImmediate)
  read.resolve()
  await fetch(edge.url + wallet, { headers: session }) // What waited for the key is served before.
  t.equal((await edge.post(plainAsk)).status, 200)
})
