import { hash } from 'node:crypto'
import t from 'tap'
import { adminOperations } from '../../../src/administration/operations/table.ts'
import { type AdminRole, type Permission, permissionsOf } from '../../../src/http/admin-roles.ts'
import { ledgerPrefixes, ledgerRoutes } from '../../../src/read-api/routes.ts'
import { openSession, type SessionHeaders } from '../../roles/edge/browser-session.ts'
import { secret, startEdge, workspaceId } from '../../roles/edge/edge-fixture.ts'

const roles = Object.keys(permissionsOf) as AdminRole[]
const tokenOf = (role: AdminRole): string => `the-token-of-the-${role}-that-nobody-can-guess`
const admins = roles.map((role) => ({ name: role, sha256: hash('sha256', tokenOf(role)), role }))

const edge = await startEdge(t, { admins })

const sessionOf = new Map<AdminRole, SessionHeaders>()
for (const role of roles) sessionOf.set(role, await openSession(edge.url, tokenOf(role)))

const ask = async (role: AdminRole, method: string, path: string, body?: object, headers?: object) => {
  const leaving = new AbortController()
  const response = await fetch(edge.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...(headers ?? { authorization: `Bearer ${tokenOf(role)}` }) },
    body: body === undefined ? null : JSON.stringify(body),
    signal: leaving.signal,
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const answer: ReturnType<typeof JSON.parse> = isStream ? {} : await response.json()
  leaving.abort()
  return { status: response.status, answer }
}

interface Row {
  readonly method: string
  readonly path: string
  readonly permission: Permission
}

const rows: readonly Row[] = [
  ...adminOperations.map(({ http: { method, path }, permission }) => ({ method, path, permission })),
  ...ledgerRoutes.flatMap(({ path, permission, ofAll }) => [
    { method: 'get', path: ledgerPrefixes.named + path, permission },
    ...(ofAll ? [{ method: 'get', path: ledgerPrefixes.all + path, permission }] : []),
  ]),
]

const nameless = (path: string): string => path.replace(/[:*]\w+/g, 'nothing-of-this-name')
const bodyOf = (method: string): object | undefined => (method === 'get' ? undefined : {})

t.test('each operation is for the roles that have its permission, and refused to the others', async (t) => {
  for (const { method, path, permission } of rows)
    for (const role of roles)
      for (const session of [undefined, sessionOf.get(role)]) {
        const { status, answer } = await ask(role, method.toUpperCase(), nameless(path), bodyOf(method), session)
        const mayDo = (permissionsOf[role] as readonly Permission[]).includes(permission)
        const what = `${role}${session === undefined ? '' : ' in a session'}: ${method} ${path}`
        const refused = { status: 403, answer: { error: { code: 'access_denied', message: role } } }
        if (mayDo) t.ok(status !== 403 && status !== 401, what)
        else t.match({ status, answer }, refused, what)
      }
})

t.test('no operation is for a token or session that has ended, or for a key', async (t) => {
  let nowMs = Date.now()
  const current = [...admins]
  const other = await startEdge(t, { admins: current, clock: () => nowMs })
  const statusOf = async ({ method, path }: Row, headers: Readonly<Record<string, string>>): Promise<number> => {
    const sent = { 'content-type': 'application/json', ...headers }
    const body = method === 'get' ? null : '{}'
    const response = await fetch(other.url + nameless(path), { method: method.toUpperCase(), headers: sent, body })
    await response.body?.cancel()
    return response.status
  }
  const removed = await openSession(other.url, tokenOf('owner'))
  const expired = await openSession(other.url, tokenOf('finance'))
  current.splice(0, 1)
  nowMs += 8 * 3_600_000
  const ofKey = await openSession(other.url, secret)
  const keyHeaders = { authorization: `Bearer ${secret}` }
  for (const row of rows) {
    const what = `${row.method} ${row.path}`
    t.equal(await statusOf(row, { authorization: `Bearer ${tokenOf('owner')}` }), 401, `${what}, removed token`)
    t.equal(await statusOf(row, ofKey), 403, `${what}, session of a key`)
    for (const headers of [removed, expired, keyHeaders, { cookie: 'gateway_session=AAAA' }])
      t.equal(await statusOf(row, headers), 401, what)
    t.equal(await statusOf(row, {}), 401, `${what}, no credential`)
  }
})

t.test('the table of roles', async (t) => {
  const may = (role: AdminRole, method: string, path: string, body?: object) =>
    ask(role, method, path, body).then(({ status }) => status !== 403)
  const credits = [`/admin/v1/workspaces/${workspaceId}/credits`, { amount: '1', reference: 'r' }] as const
  const rows: readonly (readonly [who: readonly AdminRole[], method: string, path: string, body?: object])[] = [
    [['owner', 'finance'], 'POST', ...credits],
    [['owner', 'operator'], 'POST', '/admin/v1/keys', { workspace: workspaceId, name: 'of-a-role' }],
    [['owner', 'operator'], 'PUT', '/admin/v1/aliases/of-a-role', { model: 'openai/gpt-4o' }],
    [['owner', 'operator', 'finance', 'auditor'], 'GET', `/admin/v1/workspaces/${workspaceId}/ledger/statement`],
    [['owner', 'operator', 'finance', 'auditor'], 'GET', '/admin/v1/events'],
    [roles, 'GET', '/admin/v1/keys'],
    [roles, 'GET', '/admin/v1/prices'],
  ]
  for (const [who, method, path, body] of rows)
    for (const role of roles)
      t.equal(await may(role, method, path, body), who.includes(role), `${role}: ${method} ${path}`)
})

t.test('an administrator is shown its role and permissions', async (t) => {
  for (const role of roles) {
    const { answer } = await ask(role, 'GET', '/admin/v1/administrator')
    t.same(answer, { object: 'administrator', actor: `admin:${role}`, role, permissions: permissionsOf[role] })
  }
})

t.test('a workspace is shown without its wallet to a role that reads no money', async (t) => {
  for (const path of ['', `/${workspaceId}`]) {
    const of = async (role: AdminRole) => {
      const { answer } = await ask(role, 'GET', `/admin/v1/workspaces${path}`)
      return path === '' ? answer.data[0] : answer
    }
    t.same(Object.keys(await of('support')), ['object', 'id', 'name', 'account', 'status'])
    t.match(await of('auditor'), { balance: /^\d/, available: /^\d/ })
  }
})

t.test('limits are shown without what is spent of them to a role that reads no money', async (t) => {
  const limits = `/admin/v1/workspaces/${workspaceId}/limits?tag=team%3Dsearch`
  t.equal((await ask('operator', 'PUT', limits, { spend: { month: '5' } })).status, 200)
  for (const path of [
    limits,
    ...['limits', 'ledger/limits'].map((each) => `/admin/v1/workspaces/${workspaceId}/${each}`),
  ]) {
    const of = async (role: AdminRole) => {
      const { answer } = await ask(role, 'GET', path)
      return answer.data.find((each: { tag?: string }) => each.tag === 'team=search')
    }
    t.same(Object.keys(await of('support')), ['object', 'workspace', 'key', 'tag', 'limits'], path)
    t.match(await of('auditor'), { spent: { month: '0' }, held: { month: '0' } }, path)
  }
})

t.test('what a plan costs and gives is money, and set by those roles alone that may', async (t) => {
  const publish = async (role: AdminRole, terms: object): Promise<number> =>
    (await ask(role, 'PUT', '/admin/v1/plans/of-a-role', terms)).status
  const paid = { price: '1', included_credit: '2' }
  t.equal(await publish('operator', paid), 403)
  t.equal(await publish('operator', { price: '0', included_credit: '0.01' }), 403)
  t.equal(await publish('operator', { price: '0', limits: { requests_per_minute: 60 } }), 200)
  t.equal(await publish('operator', paid), 403)
  t.equal(await publish('owner', paid), 200)
  t.equal(await publish('operator', { ...paid, name: 'Named', limits: { requests_per_minute: 90 } }), 200)
  t.equal(await publish('operator', { price: '1.00', included_credit: '2.0' }), 200, 'the same money')
  for (const terms of [
    { price: '1' },
    { ...paid, price: '0' },
    { ...paid, included_credit: '3' },
    { ...paid, period: 'day' },
  ])
    t.equal(await publish('operator', terms), 403)
})

t.test('credit on trust is money, and moved by those roles alone that may', async (t) => {
  const opened = { id: 'on-trust', name: 'On trust', credit_limit: '5' }
  t.equal((await ask('operator', 'POST', '/admin/v1/workspaces', opened)).status, 403)
  t.equal((await ask('operator', 'POST', '/admin/v1/workspaces', { ...opened, credit_limit: '0' })).status, 201)
  t.equal((await ask('operator', 'PATCH', '/admin/v1/workspaces/on-trust', { name: 'Trusted' })).status, 200)
  t.equal((await ask('operator', 'PATCH', '/admin/v1/workspaces/on-trust', { credit_limit: '5' })).status, 403)
  t.equal((await ask('owner', 'PATCH', '/admin/v1/workspaces/on-trust', { credit_limit: '5' })).status, 200)
  t.equal((await ask('finance', 'PATCH', '/admin/v1/workspaces/on-trust', { credit_limit: '6' })).status, 200)
  for (const change of [{ name: 'Lent' }, { name: 'Lent', credit_limit: '7' }, { account: 'other' }, {}])
    t.equal((await ask('finance', 'PATCH', '/admin/v1/workspaces/on-trust', change)).status, 403)
  t.match((await ask('auditor', 'GET', '/admin/v1/workspaces/on-trust')).answer, { name: 'Trusted', credit_limit: '6' })
})
