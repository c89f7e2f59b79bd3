import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import t, { type Test } from 'tap'
import { createIdentityProvider } from '../../../../src/adapters/openid/identity-provider.ts'
import type { PersonSignIn } from '../../../../src/roles/edge/http/authenticate.ts'
import { startEdge, type TestEdge, workspaceId } from '../edge-fixture.ts'

const clientSecret = 'the-secret-of-the-gateway-at-the-provider'
const people: Readonly<Record<string, object>> = {
  ana: { email: 'ana@example.com', email_verified: true, groups: ['staff', 'gateway-finance'] },
  eve: { email: 'ana@example.com', email_verified: false, groups: 'gateway-audit' },
  bob: { email: 'bob@example.com', email_verified: true, groups: ['staff'] },
  ida: { email: 'ana@example.com', groups: 'gateway-audit' },
}

/** A browser, as far as redirects, forms and cookies go. */
class Visitor {
  readonly #cookies = new Map<string, string>()

  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  async send(url: string, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { ...init.headers, cookie: this.cookie },
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return response
  }

  /** Where the redirects end, before anything but them; or at an address that begins with `until`. */
  async follow(url: string, until: string): Promise<string> {
    for (let at = url; ; ) {
      if (at.startsWith(until)) return at
      const response = await this.send(at)
      const next = response.headers.get('location')
      if (next === null) return at
      at = new URL(next, at).href
    }
  }
}

interface World {
  readonly edge: TestEdge
  /** From the page's button to the address with the provider's answer. */
  readonly authorize: (visitor: Visitor, name: string) => Promise<string>
  readonly configure: (change: Partial<PersonSignIn> | null) => void
  readonly passMs: (ms: number) => void
}

const openWorld = async (t: Test): Promise<World> => {
  let handle: ReturnType<Provider['callback']> | null = null
  const server = createServer((request, response) => void handle?.(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  t.teardown(() => server.closeAllConnections())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let [signIn, passedMs]: [PersonSignIn | null, number] = [null, 0]
  const edge = await startEdge(t, { signIn: () => signIn, clock: () => Date.now() + passedMs })
  const redirectUrl = `${edge.url}/dashboard/session/oidc/callback`
  const clientId = 'gateway'
  const provider = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUrl] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    pkce: { required: () => true },
    cookies: { keys: ['of-the-test'] },
  })
  handle = provider.callback()
  const settings = {
    label: 'Example',
    issuer,
    isTls: false,
    sessionMs: 3_600_000,
    nameClaim: 'email',
    roleClaim: 'groups',
    roles: { 'gateway-audit': 'auditor', 'gateway-finance': 'finance' } as const,
    provider: createIdentityProvider({
      ...{ issuer, clientId, clientSecret, redirectUrl },
      scopes: ['openid', 'email', 'groups'],
    }),
  }
  signIn = settings
  const authorize: World['authorize'] = async (visitor, name) => {
    let at = await visitor.follow(`${edge.url}/dashboard/session/oidc`, redirectUrl)
    for (const fields of [{ prompt: 'login', login: name, password: 'any' }, { prompt: 'consent' }]) {
      if (at.startsWith(redirectUrl)) break
      const answered = await visitor.send(at, { method: 'POST', body: new URLSearchParams(fields) })
      at = await visitor.follow(new URL(answered.headers.get('location') ?? '', at).href, redirectUrl)
    }
    return at
  }
  const configure: World['configure'] = (change) => {
    signIn = change === null ? null : { ...settings, ...change }
  }
  return { edge, authorize, configure, passMs: (ms) => (passedMs += ms) }
}

const arriveAt = async (visitor: Visitor, answer: string): Promise<string | null> =>
  (await visitor.send(answer)).headers.get('location')

const shown = async ({ edge }: World, visitor: Visitor) => {
  const response = await visitor.send(`${edge.url}/dashboard/session`)
  return (await response.json()) as { readonly signed_in: { readonly csrf_token: string } | null }
}

const adjust = async ({ edge }: World, visitor: Visitor) => {
  const { signed_in: signedIn } = await shown({ edge } as World, visitor)
  return visitor.send(`${edge.url}/admin/v1/workspaces/${workspaceId}/credits`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': signedIn?.csrf_token ?? '' },
    body: JSON.stringify({ amount: '1', reference: 'once' }),
  })
}

const reads = async ({ edge }: World, visitor: Visitor): Promise<number> =>
  (await visitor.send(`${edge.url}/admin/v1/administrator`)).status

t.test(
  'a person signs in at the provider, has the role of their claim, and changes are recorded by name',
  async (t) => {
    const world = await openWorld(t)
    const visitor = new Visitor()
    t.match(await shown(world, visitor), { identity_provider: 'Example', signed_in: null })
    t.equal(await arriveAt(visitor, await world.authorize(visitor, 'ana')), '/dashboard')
    const who = { actor: 'person:ana@example.com', role: 'finance' }
    t.match(await shown(world, visitor), { signed_in: { administrator: who, workspace: null } })
    t.equal((await adjust(world, visitor)).status, 201)
    t.match(
      world.edge.log.events.findLast(({ type }) => type === 'WalletCredited'),
      { actor: 'person:ana@example.com' },
    )
    t.match(
      world.edge.logged.filter(({ event }) => event === 'session.started'),
      [{ fields: { actor: 'person:ana@example.com' } }],
    )
    t.notMatch(JSON.stringify(world.edge.logged), new RegExp(`${clientSecret}|code=`))
  },
)

t.test('an address that is not verified names no one', async (t) => {
  const world = await openWorld(t)
  const visitor = new Visitor()
  await arriveAt(visitor, await world.authorize(visitor, 'eve'))
  t.match(await shown(world, visitor), { signed_in: { administrator: { actor: 'person:eve', role: 'auditor' } } })
  t.equal((await adjust(world, visitor)).status, 403)

  const other = new Visitor()
  await arriveAt(other, await world.authorize(other, 'ida'))
  t.match(
    await shown(world, other),
    { signed_in: { administrator: { actor: 'person:ida' } } },
    'nothing says that it is',
  )

  world.configure({ roleClaim: 'email', roles: { 'ana@example.com': 'owner' } })
  for (const [name, signedIn] of [
    ['eve', '/dashboard?sign_in=no_role'],
    ['ida', '/dashboard?sign_in=no_role'],
    ['ana', '/dashboard'],
  ] as const) {
    const claiming = new Visitor()
    t.equal(await arriveAt(claiming, await world.authorize(claiming, name)), signedIn, name)
  }
})

t.test('a person without a role is refused', async (t) => {
  const world = await openWorld(t)
  const visitor = new Visitor()
  t.equal(await arriveAt(visitor, await world.authorize(visitor, 'bob')), '/dashboard?sign_in=no_role')
  t.match(await shown(world, visitor), { signed_in: null })
  t.equal(await reads(world, visitor), 401)
  t.match(
    world.edge.logged.filter(({ event }) => event === 'session.refused'),
    [{ fields: { actor: 'person:bob@example.com', reason: 'no_role' } }],
  )
})

t.test('an answer counts once, in the browser that asked', async (t) => {
  const world = await openWorld(t)
  const [visitor, other] = [new Visitor(), new Visitor()]
  const answer = await world.authorize(visitor, 'ana')
  t.equal(await arriveAt(other, answer), '/dashboard?sign_in=failed', 'another browser')
  await world.authorize(other, 'bob')
  t.equal(await arriveAt(other, answer), '/dashboard?sign_in=failed', 'the answer to another question')
  const changed = new URL(answer)
  changed.searchParams.set('state', 'another')
  const pending = visitor.cookie
  t.equal(await arriveAt(visitor, changed.href), '/dashboard?sign_in=failed')
  t.equal(await arriveAt(visitor, answer), '/dashboard?sign_in=failed', 'a question that was answered')
  const withPending = () => fetch(answer, { redirect: 'manual', headers: { cookie: pending } })
  t.equal((await withPending()).headers.get('location'), '/dashboard')
  t.equal((await withPending()).headers.get('location'), '/dashboard?sign_in=failed', 'the code was used')
  t.equal(await reads(world, visitor), 401)
})

t.test('a sign-in that takes too long, that another site begins, or without the provider, fails', async (t) => {
  const world = await openWorld(t)
  const visitor = new Visitor()
  const answer = await world.authorize(visitor, 'ana')
  world.passMs(600_000)
  t.equal(await arriveAt(visitor, answer), '/dashboard?sign_in=failed')
  const path = `${world.edge.url}/dashboard/session/oidc`
  t.equal((await visitor.send(path, { headers: { 'sec-fetch-site': 'cross-site' } })).status, 403)
  const gone = { issuer: 'http://127.0.0.1:9', clientId: 'gateway', clientSecret: null, scopes: ['openid'] }
  world.configure({ provider: createIdentityProvider({ ...gone, redirectUrl: `${path}/callback` }) })
  t.equal(await arriveAt(visitor, path), '/dashboard?sign_in=failed')
  world.configure(null)
  t.equal((await visitor.send(path)).status, 404)
})

t.test("a person's session ends with its hour, with the role's configuration and with the provider's", async (t) => {
  const world = await openWorld(t)
  const visitor = new Visitor()
  await arriveAt(visitor, await world.authorize(visitor, 'ana'))
  t.equal(await reads(world, visitor), 200)
  const ends: readonly (Partial<PersonSignIn> | null)[] = [
    { roles: { 'gateway-audit': 'auditor' } },
    { issuer: 'https://another.example' },
    null,
  ]
  for (const end of ends) {
    world.configure(end)
    t.equal(await reads(world, visitor), 401)
  }
  world.configure({ roles: { 'gateway-finance': 'support' } })
  t.match(await shown(world, visitor), { signed_in: { administrator: { role: 'support' } } })
  world.configure({})
  world.passMs(3_600_000)
  t.equal(await reads(world, visitor), 401)
})
