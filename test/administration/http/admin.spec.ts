import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import { adminOperations } from '../../../src/administration/operations/table.ts'
import { parseUsd } from '../../../src/domain/money.ts'
import type { CatalogProvider } from '../../../src/domain/routing/plan.ts'
import { getValidator } from '../../../src/encoding/schema-validation.ts'
import type { Event, EventOf, EventType } from '../../../src/events/envelope.ts'
import type { AdminChange, AdminChangeQuery } from '../../../src/projections/admin-changes/queries.ts'
import type { ReportQuery } from '../../../src/projections/statements/report.ts'
import type { Unfinished } from '../../../src/projections/unfinished.ts'
import type { AnswerPart, RoutedRequest } from '../../../src/roles/dispatch.ts'
import {
  answerJson,
  type EdgeOptions,
  errorOf,
  plainAsk,
  secret,
  sheetOf,
  startEdge,
  type TestEdge,
  workspaceId,
} from '../../roles/edge/edge-fixture.ts'
import { until } from '../../support/clients.ts'

const token = 'a-token-of-ana-that-nobody-can-guess'
const admins = [
  { name: 'bob', sha256: hash('sha256', 'a-token-of-bob-that-nobody-can-guess'), role: 'owner' as const },
  { name: 'ana', sha256: hash('sha256', token), role: 'owner' as const },
]

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

const asking =
  (edge: TestEdge, by = token): Ask =>
  async (method, path, body, headers = {}) => {
    const response = await fetch(`${edge.url}/admin/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${by}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

const start = async (
  t: Test,
  options: EdgeOptions = {},
): Promise<{ edge: TestEdge; ask: Ask; said: () => readonly Event[] }> => {
  const edge = await startEdge(t, { admins, ...options })
  const before = edge.log.events.length
  return { edge, ask: asking(edge), said: () => edge.log.events.slice(before) }
}

const only = <T extends EventType>(events: readonly Event[], type: T): EventOf<T>[] =>
  events.filter((event): event is Event & EventOf<T> => event.type === type)

const refused = (status: number, code: string, param?: string) => ({
  status,
  body: { error: { code, ...(param === undefined ? {} : { param }) } },
})

t.test('every route asks for an admin token, and takes nothing else for one', async (t) => {
  const { edge } = await start(t)
  for (const { http } of adminOperations) {
    const { method, path } = http
    const at = (headers: Record<string, string>) =>
      fetch(edge.url + path.replaceAll(/[:*](?:id|key)/g, 'acme'), { method: method.toUpperCase(), headers })
    const statuses = async (headers: Record<string, string>) => {
      const response = await at(headers)
      return { status: response.status, ...(await errorOf(response)) }
    }
    t.match(await statuses({}), { status: 401, code: 'missing_api_key' }, `${method} ${path}`)
    t.match(
      await statuses({ authorization: `Bearer ${secret}` }),
      { status: 401, code: 'invalid_api_key' },
      "a workspace's key",
    )
    t.match(await statuses({ 'x-api-key': token }), { status: 401, code: 'missing_api_key' })
    for (const wrong of [`Bearer ${token}x`, `Bearer ${token.slice(1)}`, token, 'Bearer', `Basic ${token}`])
      t.match(await statuses({ authorization: wrong }), { status: 401, code: 'invalid_api_key' }, wrong)
  }
  const asWorkspace = await edge.post(plainAsk, { authorization: `Bearer ${token}` })
  t.match({ status: asWorkspace.status, ...(await errorOf(asWorkspace)) }, { status: 401, code: 'invalid_api_key' })
  t.notMatch(JSON.stringify(edge.logged), token)
})

t.test('without tokens the admin API is closed, and says so', async (t) => {
  const { ask } = await start(t, { admins: [] })
  t.match(await ask('GET', 'workspaces'), {
    status: 403,
    body: { error: { code: 'access_denied', message: /No admin token is configured/ } },
  })
})

t.test('workspaces', async (t) => {
  const { ask, said } = await start(t)
  const open = { id: 'globex', name: 'Globex', credit_limit: '5.5' }
  const shown = {
    object: 'workspace',
    ...open,
    account: null,
    status: 'open',
    balance: '0',
    held: '0',
    available: '5.5',
  }
  t.same(await ask('POST', 'workspaces', open), { status: 201, body: shown })
  t.same(await ask('POST', 'workspaces', open), { status: 200, body: shown }, 'opened before')
  t.match(await ask('POST', 'workspaces', { ...open, name: 'Other' }), refused(409, 'conflict'))
  t.match(await ask('POST', 'workspaces', { id: 'initech' }), {
    status: 201,
    body: { name: 'initech', credit_limit: '0' },
  })
  t.match(await ask('PATCH', 'workspaces/globex', { account: 'globex-corp' }), { body: { account: 'globex-corp' } })
  t.match(await ask('PATCH', 'workspaces/globex', { account: 'no spaces' }), { status: 400 })
  t.match(await ask('PATCH', 'workspaces/globex', { credit_limit: '7' }), {
    status: 200,
    body: { name: 'Globex', available: '7' },
  })
  t.match(await ask('PATCH', 'workspaces/globex', { name: 'New' }), {
    status: 200,
    body: { name: 'New', credit_limit: '7' },
  })
  t.match(await ask('GET', 'workspaces/globex'), { status: 200, body: { name: 'New' } })
  for (const path of ['workspaces/nobody', 'workspaces/Nobody', 'workspaces/%00'])
    t.match(await ask('GET', path), refused(404, 'not_found'))
  t.match(await ask('PATCH', 'workspaces/nobody', { name: 'x' }), refused(404, 'not_found'))
  const first = await ask('GET', 'workspaces?limit=2')
  t.match(first.body, { object: 'list', data: [{ id: 'acme', balance: '100' }, { id: 'globex' }] })
  const rest = await ask('GET', `workspaces?limit=2&cursor=${first.body['next_cursor']}`)
  t.match(rest.body, { data: [{ id: 'initech' }], next_cursor: null })
  t.match(await ask('GET', 'workspaces?limit=0'), refused(400, 'invalid_value', 'limit'))
  t.match(await ask('GET', 'workspaces?page=2'), refused(400, 'unsupported_parameter', 'page'))

  t.same(
    said().map(({ type, actor }) => [type, actor]),
    [
      ['WorkspaceOpened', 'admin:ana'],
      ['WorkspaceOpened', 'admin:ana'],
      ['WorkspaceChanged', 'admin:ana'],
      ['WorkspaceChanged', 'admin:ana'],
      ['WorkspaceChanged', 'admin:ana'],
    ],
  )
})

t.test(
  'a suspended workspace reads and calls no model, a closed one nothing; what runs is served and billed',
  async (t) => {
    const started = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    async function* serve(call: RoutedRequest, bill: () => Promise<void>): AsyncGenerator<AnswerPart> {
      started.resolve()
      await goOn.promise
      yield* answerJson(call, bill)
    }
    const { edge, ask, said } = await start(t, { serve })
    const running = edge.post(plainAsk)
    await started.promise
    const at = `workspaces/${workspaceId}`
    const authorization = { headers: { authorization: `Bearer ${secret}` } }
    const called = async () => (await edge.post(plainAsk)).status
    const read = async () => (await fetch(`${edge.url}/v1/ledger/usage`, authorization)).status
    const listed = async () => (await fetch(`${edge.url}/v1/models`, authorization)).status

    t.match(await ask('POST', `${at}/suspend`), { status: 200, body: { status: 'suspended' } })
    t.same([await called(), await read(), await listed()], [403, 200, 200])
    t.match(await errorOf(await edge.post(plainAsk)), { code: 'access_denied', message: /is suspended/ })
    t.match(await ask('POST', `${at}/credits`, { amount: '1', reference: 'late' }), { status: 201 })
    t.match(await ask('POST', `${at}/resume`), { status: 200, body: { status: 'open' } })
    goOn.resolve()
    t.equal(await called(), 200)

    t.match(await ask('POST', `${at}/close`), { status: 200, body: { status: 'closed' } })
    t.match(await ask('POST', `${at}/close`), { status: 200, body: { status: 'closed' } })
    t.same([await called(), await read(), await listed()], [403, 403, 403])
    t.match(await errorOf(await edge.post(plainAsk)), { code: 'access_denied', message: /is closed/ })
    t.equal((await running).status, 200)
    t.equal(only(edge.log.events, 'UsageRecorded').length, 2)
    for (const [method, path, body] of [
      ['POST', `${at}/resume`],
      ['POST', `${at}/suspend`],
      ['PATCH', at, { name: 'x' }],
      ['POST', 'keys', { workspace: workspaceId, name: 'ci' }],
      ['POST', `${at}/credits`, { amount: '1', reference: 'later' }],
      ['POST', 'workspaces', { id: workspaceId, name: 'x' }],
    ] as const)
      t.match(await ask(method, path, body), refused(409, 'conflict'), path)
    const adjustment = { amount: '-1', reason: 'chargeback', reference: 'ticket-9' }
    t.match(await ask('POST', `${at}/adjustments`, adjustment), { status: 201 })
    t.match(await ask('GET', at), { status: 200, body: { status: 'closed' } })
    t.match(await ask('POST', 'workspaces/nobody/close'), refused(404, 'not_found'))
    t.same(
      said().flatMap(({ type, actor }) => (/^Workspace/.test(type) ? [[type, actor]] : [])),
      ['WorkspaceSuspended', 'WorkspaceResumed', 'WorkspaceClosed'].map((type) => [type, 'admin:ana']),
    )
  },
)

t.test('a month is closed once what it has is settled, and reopened', async (t) => {
  const totals = {
    ...{ workspaces: 1, requests: 2, opening: '0', credits: '10', charges: '1.5', corrections: '-0.5' },
    ...{ fees: '0', lapsed: '0', closing: '9' },
  }
  const journal = { digest: 'ab'.repeat(32), totals }
  const unfinished: Unfinished[] = [{ kind: 'open task', workspaceId, id: 'task_1' }]
  const reached: (number | undefined)[] = []
  const readModels = {
    listUnfinished: async (_month: string, sequence?: number) => {
      reached.push(sequence)
      return { sequence: 9, value: unfinished }
    },
    readPeriodJournal: async () => journal,
  }
  const { ask, said } = await start(t, { readModels })
  const inTwoYears = `${new Date().getUTCFullYear() + 2}-01`
  t.match(await ask('POST', `periods/${inTwoYears}/close`, {}), refused(409, 'conflict'))
  t.match(await ask('POST', 'periods/January/close', {}), refused(404, 'not_found'))
  t.match(await ask('POST', 'periods/2026-01/close', { force: true }), { status: 400 })
  const open = await ask('POST', 'periods/2026-01/close', {})
  t.match(open, { status: 409, body: { error: { message: /open task task_1 of acme/ } } })
  t.same(said(), [])
  t.ok(reached.length === 1 && reached[0]! > 0, 'by tables that come as far as the log')
  const listed = { object: 'unfinished', kind: 'open task', workspace: workspaceId, id: 'task_1' }
  t.match(await ask('GET', 'periods/2026-01/unfinished'), { status: 200, body: { data: [listed] } })
  t.match(await ask('GET', 'periods/January/unfinished'), refused(404, 'not_found'))
  t.match(await ask('GET', 'periods/2999-12'), {
    status: 200,
    body: { month: '2999-12', state: 'open', closable_from: '3000-01-01T00:10:00.000Z', sequence: null },
  })
  t.match(await ask('GET', 'periods/January'), refused(404, 'not_found'))
  const closed = { month: '2026-01', state: 'closed', ...journal, exceptions: 1 }
  t.match(await ask('POST', 'periods/2026-01/close', { with_exceptions: true }), { status: 201, body: closed })
  t.match(await ask('POST', 'periods/2026-01/close', {}), { status: 200, body: closed }, 'closed before')
  t.match(await ask('POST', 'periods/2026-03/close', {}), {
    status: 409,
    body: { error: { message: /Close 2026-02 first/ } },
  })
  t.match(await ask('POST', 'periods/2025-12/close', {}), refused(409, 'conflict'))
  t.match(await ask('GET', 'periods/2025-12'), {
    status: 200,
    body: { month: '2025-12', state: 'closed', closable_from: '2026-01-01T00:10:00.000Z', digest: null, totals: null },
  })
  unfinished.length = 0
  t.match(await ask('POST', 'periods/2026-02/close', {}), { status: 201, body: { exceptions: 0 } })
  t.match((await ask('GET', 'periods')).body, { data: [{ month: '2026-01' }, { month: '2026-02' }] })
  t.match(await ask('POST', 'periods/2026-01/reopen', { reason: 'x' }), refused(409, 'conflict'))
  t.match(await ask('POST', 'periods/2026-02/reopen', {}), { status: 400 })
  t.match(await ask('POST', 'periods/2026-02/reopen', { reason: 'x' }), { body: { state: 'open' } })
  t.match(await ask('POST', 'periods/2026-02/reopen', { reason: 'x' }), refused(404, 'not_found'))
  t.same(
    said().map(({ type, subject, actor }) => [type, subject, actor]),
    [
      ['PeriodCutOff', '2026-01', 'admin:ana'],
      ['PeriodClosed', '2026-01', 'admin:ana'],
      ['PeriodCutOff', '2026-02', 'admin:ana'],
      ['PeriodClosed', '2026-02', 'admin:ana'],
      ['PeriodReopened', '2026-02', 'admin:ana'],
    ],
  )
})

t.test('a closed month is invoiced once', async (t) => {
  const totals = {
    ...{ workspaces: 1, requests: 2, opening: '0', credits: '10', charges: '1.5', corrections: '0' },
    ...{ fees: '0', lapsed: '0', closing: '9' },
  }
  const row = { workspaceId, refersTo: '2026-01', kind: 'usage', model: 'openai/m', requests: 2 } as const
  const asked: unknown[] = []
  const changes: AdminChange[] = []
  const readModels = {
    listUnfinished: async () => ({ sequence: 9, value: [] }),
    readPeriodJournal: async () => ({ digest: 'ab'.repeat(32), totals }),
    readInvoiced: async (wanted: unknown) => {
      asked.push(wanted)
      return { rows: [{ ...row, picos: 1_505_000_000_000n }], tagged: [] }
    },
    listAdminChanges: async ({ subject, limit }: AdminChangeQuery) => ({
      sequence: 9,
      value: changes.filter((each) => subject === undefined || each.subject === subject).slice(0, limit),
    }),
  }
  const seller = { name: 'Gateway GmbH', address: ['Berlin'], tax_id: 'DE1' }
  const buyers = { [workspaceId]: { name: 'Acme', address: [], tax_rate: '7' } }
  const invoicing = () => ({ seller, tax_rate: '19', buyers })
  const { ask, edge, said } = await start(t, { readModels, invoicing, tagNames: ['team'] })
  const month = { month: '2026-01' }
  t.match(await ask('POST', 'invoices', month), refused(409, 'conflict'), 'an open month')
  t.match(await ask('POST', 'periods/2026-01/close', {}), { status: 201 })
  t.match(await ask('POST', 'invoices', { ...month, workspace: 'nobody' }), refused(404, 'not_found'))
  for (const body of [{}, { month: '2026-13' }, { ...month, tax_rate: '-1' }, { ...month, workspace: 'A b' }])
    t.match(await ask('POST', 'invoices', body), { status: 400 }, JSON.stringify(body))
  const figures = { net: '1.51', tax: '0.11', gross: '1.62', workspace: workspaceId, kind: 'invoice', number: 1 }
  const previewed = await ask('POST', 'invoices', { ...month, workspace: workspaceId, dry_run: true })
  t.match(previewed, { status: 200, body: { data: [{ id: 'INV-000001', ...figures }] } })
  t.same(only(said(), 'InvoiceIssued'), [], 'a dry run issues nothing')
  const issued = await ask('POST', 'invoices', { ...month, workspace: workspaceId })
  t.match(issued, { status: 201, body: { object: 'list', data: [{ id: 'INV-000001', ...figures }] } })
  t.same(asked.at(-1), { ...month, workspaceId, tagNames: ['team'] })
  t.match(await ask('POST', 'invoices', month), { status: 200, body: { data: [] } }, 'invoiced before')
  t.match(await ask('POST', 'periods/2026-01/reopen', { reason: 'x' }), refused(409, 'conflict'))
  const [event, ...others] = only(said(), 'InvoiceIssued')
  t.same(others, [])
  t.match(event, { subject: 'INV-000001', actor: 'admin:ana', data: { buyer: { name: 'Acme' }, taxRate: '7' } })

  const { subject, data: detail } = event!
  const place = { sequence: 9, eventIndex: 0, type: 'InvoiceIssued', workspaceId, subject, actor: null }
  changes.push({ ...place, eventId: 'event-9', detail: { ...detail }, time: new Date() })
  t.match(await ask('GET', 'invoices'), { status: 200, body: { data: [figures], next_cursor: null } })
  const shown = await ask('GET', 'invoices/INV-000001')
  t.match(shown.body, { ...figures, seller, lines: [{ model: 'openai/m', amount: '1.505' }], exact: '1.505' })
  t.match(await ask('GET', 'invoices/INV-000002'), refused(404, 'not_found'))
  const authorization = `Bearer ${token}`
  const document = await fetch(`${edge.url}/admin/v1/invoices/INV-000001/document`, { headers: { authorization } })
  t.match(document.headers.get('content-type'), /^text\/html/)
  t.match(document.headers.get('content-security-policy'), /^default-src 'none'/)
  t.equal(hash('sha256', await document.text()), shown.body['digest'])
})

t.test('a report of a month, by groups', async (t) => {
  const asked: ReportQuery[] = []
  const row = { requests: 2, chargesPicos: 5_000_000_000_000n, correctionsPicos: -1_000_000_000_000n, feesPicos: 0n }
  const readReport = async (wanted: ReportQuery) => {
    asked.push(wanted)
    return { sequence: 9, value: { rows: [{ group: ['acme', ''], ...row }], workspaces: 1 } }
  }
  const { ask } = await start(t, { readModels: { readReport }, tagNames: ['team'] })
  const figures = { requests: 2, charges: '5', corrections: '-1', fees: '0', net: '4' }
  t.same(await ask('GET', 'reports?month=2026-10&group_by=workspace,tag:team'), {
    status: 200,
    body: {
      object: 'report',
      month: '2026-10',
      group_by: ['workspace', 'tag:team'],
      workspaces: 1,
      rows: [{ group: { workspace: 'acme', 'tag:team': 'unattributed' }, ...figures }],
      total: { group: {}, ...figures },
    },
  })
  t.match(asked, [{ from: new Date('2026-10-01'), to: new Date('2026-11-01'), groupBy: ['workspace', 'tag:team'] }])
  const undeclared = await ask('GET', 'reports?month=2026-10&group_by=tag:teem')
  t.match(undeclared, { status: 200 }, 'one that was configured once is known by the requests that have it')
  t.match(await ask('GET', 'reports'), { status: 200, body: { group_by: ['workspace', 'model'] } })
  for (const [query, param] of [
    ['month=2026-13', 'month'],
    ['month=november', 'month'],
    ['month=9999-12', 'month'],
    ['month=2026-10&group_by=region', 'group_by'],
    ['month=2026-10&group_by=model,model', 'group_by'],
    ['month=2026-10&group_by=workspace,tag:teem', 'group_by'],
  ] as const)
    t.match(await ask('GET', `reports?${query}`), refused(400, 'invalid_value', param), query)
})

t.test('a report of too many rows is refused, and not for what it is grouped by', async (t) => {
  const figures = { requests: 1, chargesPicos: 0n, correctionsPicos: 0n, feesPicos: 0n }
  const rows = Array.from({ length: 10_001 }, (_, index) => ({ group: [`team-${index}`], ...figures }))
  const readReport = async () => ({ sequence: 9, value: { rows, workspaces: 1 } })
  const { ask } = await start(t, { readModels: { readReport }, tagNames: ['team'] })
  t.match(await ask('GET', 'reports?month=2026-10&group_by=tag:team'), {
    status: 400,
    body: { error: { code: 'invalid_value', param: null, message: /10001 rows.*more than 10000: use fewer groups/ } },
  })
})

t.test('a credit limit that is taken away is obeyed by the next hold', async (t) => {
  const { edge, ask } = await start(t, { creditUsd: '0.000001' })
  t.match(await ask('PATCH', `workspaces/${workspaceId}`, { credit_limit: '1' }), { status: 200 })
  t.equal((await edge.post(plainAsk)).status, 200)
  t.match(await ask('PATCH', `workspaces/${workspaceId}`, { credit_limit: '0' }), { status: 200 })
  t.equal(edge.tail.ledger.wallets.get(workspaceId)?.creditLimitPicos, 0n)
})

t.test('keys', async (t) => {
  const { edge, ask, said } = await start(t)
  const status = async (key: unknown): Promise<number> =>
    (await edge.post(plainAsk, { authorization: `Bearer ${key}` })).status
  const expiresAt = '2099-01-01T00:00:00.000Z'

  const issued = await ask('POST', 'keys', { workspace: workspaceId, name: 'ci', expires_at: expiresAt })
  t.match(issued, {
    status: 201,
    body: { object: 'key', workspace: workspaceId, name: 'ci', state: 'active', expires_at: expiresAt },
  })
  const { id, secret: first } = issued.body
  t.match(first, /^sk-[\w-]{48}$/)
  t.equal(await status(first), 200)
  t.match(await ask('POST', 'keys', { workspace: workspaceId, name: 'ci' }), refused(409, 'conflict'))
  t.match(await ask('POST', 'keys', { workspace: 'nobody', name: 'ci' }), refused(404, 'not_found'))
  const { secret: _, ...withoutSecret } = issued.body
  t.same((await ask('GET', `keys/${id}`)).body, withoutSecret, 'the secret is shown once')
  t.match(await ask('PATCH', `keys/${id}`, { expires_at: '2098-01-01T00:00:00Z' }), {
    status: 200,
    body: { expires_at: '2098-01-01T00:00:00.000Z' },
  })
  t.match(
    await ask('PATCH', `keys/${id}`, { expires_at: '2020-01-01T00:00:00Z' }),
    refused(400, 'invalid_value', 'expires_at'),
  )

  const rotated = await ask('POST', `keys/${id}/rotate`, { grace_seconds: 3600 })
  t.match(rotated, {
    status: 201,
    body: { name: 'ci', replaces: id, expires_at: '2098-01-01T00:00:00.000Z', secret: /^sk-/ },
  })
  t.same([await status(first), await status(rotated.body['secret'])], [200, 200], 'both work for a while')
  const [graceEnds] = only(said(), 'KeyExpirySet').slice(-1)
  t.ok(Math.abs(Date.parse(graceEnds!.data.expiresAt) - Date.now() - 3_600_000) < 60_000)
  t.match(await ask('POST', `keys/${id}/rotate`, { grace_seconds: 0 }), refused(409, 'conflict'))
  const again = await ask('POST', `keys/${rotated.body['id']}/rotate`, { grace_seconds: 0, expires_at: null })
  t.match(again, { status: 201, body: { expires_at: null } })
  t.same([await status(rotated.body['secret']), await status(again.body['secret'])], [401, 200], 'no grace: at once')

  t.match(await ask('DELETE', `keys/${id}`), { status: 200, body: { state: 'revoked' } })
  t.match(
    await ask('POST', `keys/${id}/revoke`),
    { status: 200, body: { state: 'revoked' } },
    'once more changes nothing',
  )
  t.equal(await status(first), 401)
  t.match(await ask('DELETE', 'keys/key_x'), refused(404, 'not_found'))
  t.match(await ask('POST', `keys/${id}/rotate`, { grace_seconds: 0 }), refused(409, 'conflict'))

  const listed = await ask('GET', `keys?workspace=${workspaceId}`)
  t.equal((listed.body['data'] as unknown[]).length, 5)
  t.notMatch(JSON.stringify(listed.body), /sha256|secret/)
  t.match(await ask('GET', 'keys?workspace=nobody'), refused(404, 'not_found'))
  const sequences = edge.log.frames.filter(({ events }) => events.some(({ type }) => type === 'KeyExpirySet'))
  t.ok(
    sequences.some(({ events, walletSubject }) => events[0]?.type === 'KeyIssued' && walletSubject === workspaceId),
    "a rotation is one frame, on the workspace's subject",
  )
  t.equal(only(said(), 'KeyRevoked').length, 2)
  t.ok(only(said(), 'KeyIssued').every(({ actor }) => actor === 'admin:ana'))
})

t.test('credits: once for each reference, which may be the header', async (t) => {
  const { edge, ask, said } = await start(t)
  const path = `workspaces/${workspaceId}/credits`
  const body = { amount: '2.5', reference: 'invoice-7', note: 'a test', expires_at: '2099-01-01T00:00:00Z' }
  t.match(await ask('POST', path, body), {
    status: 201,
    body: { object: 'credit', amount: '2.5', workspace: { balance: '102.5' } },
  })
  t.match(await ask('POST', path, body), { status: 200, body: { workspace: { balance: '102.5' } } })
  t.match(await ask('POST', path, { ...body, amount: '3' }), refused(409, 'conflict', 'reference'))
  t.match(await ask('POST', path, { amount: '1' }, { 'idempotency-key': 'payment-1' }), {
    status: 201,
    body: { reference: 'payment-1' },
  })
  t.match(await ask('POST', path, { amount: '1' }, { 'idempotency-key': 'payment-1' }), { status: 200 })
  t.match(await ask('POST', path, { amount: '1' }), refused(400, 'missing_required_parameter', 'reference'))
  for (const reference of [' invoice-7', 'invoice-7\n'])
    t.match(await ask('POST', path, { amount: '1', reference }), refused(400, 'invalid_value', 'reference'))
  t.match(
    await ask('POST', path, { amount: '1' }, { 'idempotency-key': 'x'.repeat(201) }),
    refused(400, 'invalid_value', 'reference'),
  )
  for (const amount of ['0', '0.00'])
    t.match(await ask('POST', path, { ...body, amount }), refused(400, 'invalid_value', 'amount'))
  t.match(await ask('POST', 'workspaces/nobody/credits', body), refused(404, 'not_found'))
  t.equal(edge.tail.ledger.wallets.has('nobody'), false, 'nothing is made for a workspace that nobody opened')
  t.match(only(said(), 'WalletCredited'), [
    { actor: 'admin:ana', data: { ...body, expiresAt: '2099-01-01T00:00:00.000Z', expires_at: undefined } },
    { data: { reference: 'payment-1', amount: '1' } },
  ])
  t.equal(edge.tail.ledger.wallets.get(workspaceId)?.creditsPicos, parseUsd('103.5'))
})

t.test('adjustments: once for each reference, on the side of their reason, of what exists', async (t) => {
  const moved = { sequence: 1, eventIndex: 0, line: 0, heldPicos: 0n, balanceAfterPicos: 0n, heldAfterPicos: 0n }
  const posted = { ...moved, reference: 'req-1', time: new Date(0), eventTime: new Date(0) }
  const charged = (['charge', 'excess'] as const).map((kind) => ({ ...posted, kind, amountPicos: -parseUsd('1') }))
  const refunded = { ...posted, kind: 'adjustment' as const, reference: 'operator:ticket-2', amountPicos: 0n }
  const movements = [...charged, refunded]
  const traced = { workspaceId, sequences: [1], isWhole: true, movements, seals: new Map() }
  const findTrace = async (id: string) => ({ sequence: 9, value: id === 'req-1' ? traced : undefined })
  const { edge, ask, said } = await start(t, { readModels: { findTrace } })
  const path = `workspaces/${workspaceId}/adjustments`
  await ask('POST', `workspaces/${workspaceId}/credits`, { amount: '2500', reference: 'invoice 7' })
  const body = { amount: '-2250', reason: 'correction', reference: 'ticket-1', of: 'credit:invoice 7', note: 'a typo' }
  t.match(await ask('POST', path, { ...body, amount: '-2501' }), refused(400, 'invalid_value', 'amount'))
  t.match(await ask('POST', path, { ...body, of: 'credit:invoice 8' }), refused(400, 'invalid_value', 'of'))
  t.match(await ask('POST', path, body), {
    status: 201,
    body: { object: 'adjustment', id: 'operator:ticket-1', of: 'credit:invoice 7', workspace: { balance: '350' } },
  })
  t.match(await ask('POST', path, body), { status: 200, body: { workspace: { balance: '350' } } })
  t.match(await ask('POST', path, { ...body, amount: '-1' }), refused(409, 'conflict', 'reference'))
  const refund = { amount: '1.5', reason: 'refund', of: 'req-1' }
  t.match(await ask('POST', path, refund, { 'idempotency-key': 'ticket-2' }), {
    status: 201,
    body: { reference: 'ticket-2' },
  })
  for (const [wrong, param, code = 'invalid_value'] of [
    [{ ...refund, reference: 'x', of: 'req-2' }, 'of'],
    [{ ...refund, reference: 'x', amount: '0.51' }, 'amount'],
    [{ ...refund, reference: 'x', amount: '-1.5' }, 'amount'],
    [{ ...refund, reference: 'x', amount: '0' }, 'amount'],
    [{ ...refund, reference: 'x', reason: 'chargeback' }, 'amount'],
    [{ ...refund, reference: 'x', reason: 'undelivered' }, 'reason'],
    [{ ...refund, reference: 'a ticket' }, 'reference'],
    [refund, 'reference', 'missing_required_parameter'],
  ] as const)
    t.match(await ask('POST', path, wrong), refused(400, code, param), JSON.stringify(wrong))
  for (const [wrong, message] of [
    [{ amount: '0.51' }, /of the charge of req-1, at most 0.5 USD is left to give back; more than that is goodwill/],
    [{ amount: 250 }, /a decimal number in quotes, such as "250.00"/],
    [{ amount: '250,00' }, /a decimal number in quotes, such as "250.00"/],
    [{ of: 'ticket-1' }, /no request, task or adjustment with the id ticket-1; it has operator:ticket-1/],
    [{ of: 'invoice 7' }, /; it has credit:invoice 7/],
    [{ reference: '' }, /must not be empty/],
  ] as const)
    t.match(await ask('POST', path, { ...refund, reference: 'x', ...wrong }), { body: { error: { message } } })
  const reversal = { amount: '-1.5', reason: 'correction', reference: 'reversed', of: 'operator:ticket-2' }
  t.match(await ask('POST', path, reversal), { status: 201 })
  t.match(await ask('POST', path, { ...refund, amount: '2.01', reference: 'again' }), refused(400, 'invalid_value'))
  t.match(await ask('POST', path, { ...refund, amount: '1.5', reference: 'again' }), { status: 201 }, 'it is reversed')
  t.match(await ask('POST', `workspaces/${workspaceId}/credits`, { amount: '-250', reference: 'x' }), {
    body: { error: { message: /a decimal number in quotes, zero or more/ } },
  })
  t.match(await ask('POST', 'workspaces/nobody/adjustments', body), refused(404, 'not_found'))
  t.match(only(said(), 'AdjustmentPosted'), [
    { actor: 'admin:ana', data: { amount: '-2250', corrects: 'credit:invoice 7', by: 'admin:ana' } },
    { data: { amount: '1.5', corrects: 'req-1', reason: 'refund' } },
    { data: { amount: '-1.5', corrects: 'operator:ticket-2' } },
    { data: { amount: '1.5', corrects: 'req-1', reason: 'refund' } },
  ])
  t.equal(edge.tail.ledger.wallets.get(workspaceId)?.adjustmentsPicos, -parseUsd('2248.5'))
})

t.test('an adjustment above the amount is posted when another administrator approves it', async (t) => {
  const { edge, ask, said } = await start(t, { approvalAbovePicos: () => parseUsd('100') })
  const askBob = asking(edge, 'a-token-of-bob-that-nobody-can-guess')
  const path = `workspaces/${workspaceId}/adjustments`
  const body = { amount: '100.01', reason: 'goodwill', reference: 'ticket-1' }
  t.match(await ask('POST', path, { ...body, amount: '-100', reason: 'correction', reference: 'small' }), {
    body: { status: 'posted' },
  })
  const before = edge.tail.ledger.wallets.get(workspaceId)?.adjustmentsPicos
  const proposed = await ask('POST', path, body)
  t.match(proposed, { status: 201, body: { id: 'operator:ticket-1', status: 'proposed', expires_at: /Z$/ } })
  t.match(await ask('POST', path, body), { status: 200, body: { status: 'proposed' } })
  t.match(await ask('POST', path, { ...body, amount: '100.02' }), refused(409, 'conflict', 'reference'))
  t.match(await ask('POST', path, { ...body, amount: '-500', reason: 'chargeback', reference: 'ticket-2' }), {
    body: { status: 'proposed' },
  })
  const listed = { object: 'proposal', reference: 'ticket-1', proposed_by: 'admin:ana', status: 'open' }
  t.match(await askBob('GET', `proposals?workspace=${workspaceId}&limit=1`), {
    status: 200,
    body: { data: [{ ...listed, expires_at: proposed.body['expires_at'] }], next_cursor: /./ },
  })
  t.match(await askBob('GET', 'proposals?workspace=nobody'), refused(404, 'not_found'))

  t.match(await ask('POST', `${path}/ticket-1/approve`), {
    ...refused(403, 'access_denied'),
    body: { error: { message: 'admin:ana proposed it: another administrator approves it.' } },
  })
  t.equal(edge.tail.ledger.wallets.get(workspaceId)?.adjustmentsPicos, before)
  t.match(await askBob('POST', `${path}/ticket-1/approve`), { status: 200, body: { object: 'workspace' } })
  t.equal(edge.tail.ledger.wallets.get(workspaceId)?.adjustmentsPicos, before! + parseUsd('100.01'))
  t.match(await askBob('POST', `${path}/ticket-1/reject`), refused(409, 'conflict'))
  t.match(await ask('POST', `${path}/ticket-2/reject`), { status: 200 })
  t.match(await askBob('POST', `${path}/ticket-2/approve`), refused(409, 'conflict'))
  t.match(await askBob('POST', `${path}/ticket-3/approve`), refused(404, 'not_found'))
  t.match(await ask('GET', 'proposals'), { body: { data: [], next_cursor: null } })
  t.match(only(said(), 'AdjustmentApproved'), [{ actor: 'admin:bob', data: { by: 'admin:bob' } }])
  t.match(only(said(), 'AdjustmentPosted')[1], { actor: 'admin:bob', data: { by: 'admin:ana', amount: '100.01' } })
  t.match(only(said(), 'AdjustmentRejected'), [{ actor: 'admin:ana' }])
})

t.test('alert rules are set whole, listed with their figure, and removed', async (t) => {
  const { edge, ask, said } = await start(t)
  const path = `workspaces/${workspaceId}/alert-rules/low`
  const rule = { measure: 'balance', threshold: '1000', destinations: ['ops'] }
  const shown = {
    object: 'alert_rule',
    workspace: workspaceId,
    rule: 'low',
    ...rule,
    key_id: null,
    tag: null,
    alerts: [],
  }
  t.match(await ask('PUT', path, rule), { status: 200, body: shown })
  t.match(await ask('PUT', path, rule), { status: 200, body: shown })
  t.match(await ask('PUT', path, { ...rule, destinations: ['pager'] }), { body: { warnings: [/^pager is not/] } })
  const { balance } = (await ask('GET', `workspaces/${workspaceId}`)).body
  t.match(await ask('GET', `alert-rules?workspace=${workspaceId}`), {
    body: { data: [{ rule: 'low', figure: balance }] },
  })
  const [keyId] = edge.tail.ledger.accounts.keys.keys()
  for (const [wrong, param] of [
    [{ ...rule, key_id: keyId }, 'measure'],
    [{ ...rule, measure: 'spend_day', key_id: keyId, tag: 'team=search' }, 'tag'],
    [{ ...rule, measure: 'unreconciled', tag: 'team=search' }, 'measure'],
    [{ ...rule, measure: 'heat' }, 'measure'],
    [{ ...rule, destinations: [] }, 'destinations'],
  ] as const)
    t.match(await ask('PUT', path, wrong), refused(400, 'invalid_value', param))
  t.match(await ask('PUT', path, { ...rule, measure: 'spend_day', key_id: 'key_x' }), refused(404, 'not_found'))
  t.match(await ask('PUT', `workspaces/${workspaceId}/alert-rules/A%20b`, rule), refused(400, 'invalid_value', 'key'))
  t.match(await ask('DELETE', path), { status: 200, body: { rule: 'low' } })
  t.match(await ask('DELETE', path), refused(404, 'not_found'))
  t.match(only(said(), 'AlertRuleSet'), [{ actor: 'admin:ana' }, { data: { destinations: ['pager'] } }])
  t.equal(only(said(), 'AlertRuleRemoved').length, 1)
})

t.test('destinations of alerts, with what they have not accepted', async (t) => {
  const dayMs = 86_400_000
  let nowMs = 0
  const { edge, ask } = await start(t, { clock: () => nowMs })
  nowMs = Date.parse(edge.log.events[0]!.time) + 60_000
  const own = { object: 'alert_destination', name: 'ops', type: 'webhook', rules: 0 }
  const nothing = { waiting: 0, waiting_since: null, given_up: 0 }
  t.same((await ask('GET', 'alert-destinations')).body, {
    object: 'list',
    data: [{ ...own, ...nothing }],
    next_cursor: null,
  })
  const rule = { measure: 'balance', threshold: '1000', destinations: ['ops', 'pager'] }
  t.match(await ask('PUT', `workspaces/${workspaceId}/alert-rules/low`, rule), { status: 200 })
  const data = {
    workspaceId,
    alertId: 'alert-1',
    rule: 'low',
    ...rule,
    measure: 'balance',
    figure: '1',
    period: '2026-11-28',
  } as const
  await edge.log.postToWallet(workspaceId, [{ type: 'AlertRaised', data }])
  const list = async () => (await ask('GET', 'alert-destinations')).body['data'] as readonly Record<string, unknown>[]
  await until(async () => (await list())[0]!['waiting'] === 1)
  const raisedAt = edge.log.events.findLast(({ type }) => type === 'AlertRaised')!.time
  const waiting = { rules: 1, waiting: 1, waiting_since: raisedAt, given_up: 0 }
  const [ops, pager] = await list()
  t.same(ops, { ...own, ...waiting })
  t.same(pager, { ...own, ...waiting, name: 'pager', type: null }, 'one that is not configured is listed too')
  await edge.log.postToWallet(workspaceId, [
    { type: 'AlertDelivered', data: { workspaceId, alertId: 'alert-1', rule: 'low', destination: 'ops' } },
  ])
  await until(async () => (await list())[0]!['waiting'] === 0)
  nowMs += 2 * dayMs
  t.match(await list(), [
    { name: 'ops', ...nothing },
    { name: 'pager', ...nothing, given_up: 1 },
  ])
  const first = await ask('GET', 'alert-destinations?limit=1')
  t.match(await ask('GET', `alert-destinations?cursor=${first.body['next_cursor']}`), {
    body: { data: [{ name: 'pager' }] },
  })
})

t.test('lists from the tables: credits and events', async (t) => {
  const asked: AdminChangeQuery[] = []
  const changes: AdminChange[] = [9, 8, 7].map((sequence) => ({
    sequence,
    eventIndex: 0,
    eventId: `event-${sequence}`,
    type: 'WalletCredited',
    workspaceId,
    subject: workspaceId,
    actor: 'admin:ana',
    detail: { reference: `r-${sequence}`, amount: '1', note: '' },
    time: new Date('2026-11-01T00:00:00Z'),
  }))
  const listAdminChanges = async (wanted: AdminChangeQuery) => {
    asked.push(wanted)
    return {
      sequence: 9,
      value: changes.filter(({ sequence }) => sequence < (wanted.readOn?.sequence ?? 10)).slice(0, wanted.limit),
    }
  }
  const { ask } = await start(t, { readModels: { listAdminChanges } })
  const credits = await ask('GET', `workspaces/${workspaceId}/credits?limit=2`)
  t.match(credits.body, { data: [{ reference: 'r-9', actor: 'admin:ana', expires_at: null }, { reference: 'r-8' }] })
  const rest = await ask('GET', `workspaces/${workspaceId}/credits?limit=2&cursor=${credits.body['next_cursor']}`)
  t.match(rest.body, { data: [{ reference: 'r-7' }], next_cursor: null })
  const events = await ask(
    'GET',
    `events?workspace=${workspaceId}&type=WalletCredited,KeyIssued&after=3&before=12&actor=admin:ana`,
  )
  t.match(events.body, {
    data: [
      {
        object: 'event',
        id: 'event-9',
        sequence: 9,
        index: 0,
        type: 'WalletCredited',
        workspace: workspaceId,
        actor: 'admin:ana',
        time: '2026-11-01T00:00:00.000Z',
      },
    ],
  })
  t.match(asked.at(-1), {
    workspaceId,
    types: ['WalletCredited', 'KeyIssued'],
    after: 3,
    before: 12,
    actor: 'admin:ana',
    limit: 101,
  })
  t.match(await ask('GET', 'events?type=Nonsense'), refused(400, 'invalid_value', 'type'))
  t.match(await ask('GET', `events?cursor=${credits.body['next_cursor']}`), refused(400, 'invalid_value', 'cursor'))
  t.match(await ask('GET', 'workspaces/nobody/credits'), refused(404, 'not_found'))
})

t.test('with the tables away administration goes on', async (t) => {
  const listAdminChanges = () => Promise.reject(new Error('connect ECONNREFUSED'))
  const { ask } = await start(t, { readModels: { listAdminChanges } })
  t.match(await ask('GET', 'events'), refused(503, 'read_models_unavailable'))
  t.match(await ask('POST', 'workspaces', { id: 'globex' }), { status: 201 })
  for (const path of ['workspaces', 'keys', 'prices', 'aliases', 'routers'])
    t.match(await ask('GET', path), { status: 200 })
})

t.test('with the log away a change is refused', async (t) => {
  const { edge, ask } = await start(t)
  edge.log.stall(Date.now() - 60_000)
  void edge.log.append([{ type: 'AliasSet', data: { alias: 'x', model: null } }])
  t.match(await ask('POST', 'workspaces', { id: 'globex' }), refused(503, 'log_unavailable'))
  t.match(await ask('GET', 'workspaces'), { status: 200 })
  edge.log.resume()
})

const row = (model: string, input: string) => ({
  model,
  effective_from: '2026-02-01T00:00:00Z',
  source: 'a test',
  sheet: sheetOf({ per_million_tokens: { input, output: '9' } }),
})

t.test('prices', async (t) => {
  const { edge, ask, said } = await start(t)
  t.match(await ask('POST', 'prices', { prices: [row('openai/new', '3')] }), {
    status: 201,
    body: { data: [{ object: 'price', model: 'openai/new' }] },
  })
  t.match(
    await ask('POST', 'prices', { prices: [row('openai/new', '3')] }),
    { status: 200, body: { data: [] } },
    'it stands already',
  )
  t.equal((await edge.post({ ...plainAsk, model: 'openai/new' })).status, 200)
  t.match(await ask('POST', 'prices', { prices: [row('new', '3')] }), refused(400, 'invalid_value', 'prices[0].model'))
  t.match(
    await ask('POST', 'prices', { prices: [row('openai/new', '-3')] }),
    refused(400, 'invalid_value', 'prices[0].sheet.per_million_tokens.input'),
  )
  const names = { ['x'.repeat(10_000)]: '1', ['y'.repeat(10_000)]: '1' }
  const long = { ...row('openai/long', '3'), sheet: sheetOf({ per_call: names }) }
  t.match(await ask('POST', 'prices', { prices: [long] }), refused(400, 'invalid_value', 'prices[0]'))
  const listed = await ask('GET', 'prices?limit=2')
  t.match(listed.body, { data: [{ model: 'grok/plain' }, { model: 'openai/new' }] })
  await ask('POST', 'prices', { prices: [{ ...row('openai/new', '4'), effective_from: '2026-03-01T00:00:00Z' }] })
  t.match(await ask('GET', 'prices/openai/new'), {
    status: 200,
    body: { data: [{ sheet: { per_million_tokens: { input: '3' } }, in_force: false }, { in_force: true }] },
  })
  t.match(await ask('GET', 'prices/openai%2Fnew'), { status: 200 })
  t.match(await ask('GET', 'prices/openai/none'), refused(404, 'not_found'))
  t.match(only(said(), 'PricePublished'), [{ actor: 'admin:ana' }, { actor: 'admin:ana' }])
})

t.test('prices of LiteLLM: first the difference, then what is asked', async (t) => {
  const { ask, said } = await start(t)
  const chat = { litellm_provider: 'openai', mode: 'chat', max_output_tokens: 1_000, output_cost_per_token: 2e-6 }
  const table = {
    sample_spec: {},
    plain: { ...chat, input_cost_per_token: 1e-6, input_cost_per_token_batches: 5e-7 },
    other: { ...chat, input_cost_per_token: 1.5e-6 },
    fresh: { ...chat, input_cost_per_token: 3e-6 },
    drawn: { ...chat, input_cost_per_token: 3e-6, input_cost_per_image: 0.01 },
    'bedrock/x': { ...chat, litellm_provider: 'bedrock', input_cost_per_token: 1e-6 },
  }
  const dry = await ask('POST', 'prices/import', { format: 'litellm', table, dry_run: true })
  t.match(dry, {
    status: 200,
    body: {
      dry_run: true,
      counts: { added: 1, changed: 1, unchanged: 1, unsupported: 2 },
      changes: [
        { change: 'unchanged', left_out: [{ field: 'service tier batch' }] },
        {
          change: 'changed',
          model: 'openai/other',
          differences: [{ item: 'per_million_tokens.input', from: '1', to: '1.5' }],
        },
        { change: 'added', model: 'openai/fresh' },
        { change: 'unsupported', left_out: [{ field: 'input_cost_per_image', reason: /cannot be expressed/ }] },
        { change: 'unsupported', name: 'bedrock/x', left_out: [{ field: 'litellm_provider' }] },
      ],
      published: [],
    },
  })
  t.same(said(), [], 'a dry run says nothing')
  t.match(
    await ask('POST', 'prices/import', { table, models: ['openai/drawn'] }),
    refused(400, 'invalid_value', 'models[0]'),
  )
  t.match(await ask('POST', 'prices/import', { table, models: ['openai/fresh'] }), {
    status: 201,
    body: { published: [{ model: 'openai/fresh' }] },
  })
  t.match(await ask('POST', 'prices/import', { table, effective_from: '2026-05-01T00:00:00Z', source: 'mine' }), {
    status: 201,
    body: { published: [{ model: 'openai/other', effective_from: '2026-05-01T00:00:00Z' }] },
  })
  t.match(await ask('POST', 'prices/import', { table }), {
    status: 200,
    body: { counts: { unchanged: 3 }, published: [] },
  })
  t.match(only(said(), 'PricePublished'), [
    { data: { source: /LiteLLM/ }, actor: 'admin:ana' },
    { data: { source: 'mine' } },
  ])
  const file = {
    prices: [
      {
        model: 'openai/file',
        effective_from: '2026-01-01T00:00:00Z',
        source: 'a test',
        sheet: { currency: 'USD', per_million_tokens: { input: '5', output: '5' }, max_output_tokens: 9 },
      },
    ],
  }
  t.match(await ask('POST', 'prices/import', { table: file, dry_run: true }), {
    status: 200,
    body: { counts: { added: 1 }, changes: [{ change: 'added', model: 'openai/file', kept: [] }], published: [] },
  })
  const broken = { prices: [{ model: 'openai/file' }] }
  t.match(await ask('POST', 'prices/import', { table: broken }), refused(400, 'invalid_value', 'table.prices[0].sheet'))
  for (const nothing of [{}, { 'openai/x': { input: '1' } }])
    t.match(
      await ask('POST', 'prices/import', { table: nothing, dry_run: true }),
      refused(400, 'invalid_value', 'table'),
    )
  t.match(await ask('POST', 'prices/import', { format: 'csv', table }), refused(400, 'invalid_value', 'format'))
})

t.test('aliases and routers count at once, over the configuration', async (t) => {
  const { edge, ask, said } = await start(t)
  const modelsOf = async (model: string): Promise<readonly string[] | number> => {
    const response = await edge.post({ ...plainAsk, model })
    await response.text()
    return response.status === 200 ? edge.calls.at(-1)!.candidates.map((each) => each.model) : response.status
  }
  t.match((await ask('GET', 'aliases')).body, {
    data: [{ alias: 'plain', model: 'openai/plain', source: 'configuration' }],
  })
  t.same(await ask('PUT', 'aliases/plain', { model: 'grok/plain' }), {
    status: 200,
    body: {
      object: 'alias',
      alias: 'plain',
      model: 'grok/plain',
      source: 'administration',
      configured: 'openai/plain',
    },
  })
  t.same(await modelsOf('plain'), ['grok/plain'])
  t.equal(
    (await fetch(`${edge.url}/v1/models/plain`).then((each) => each.json() as Promise<{ id: string }>)).id,
    'grok/plain',
  )
  t.match(await ask('PUT', 'aliases/fast', { model: 'openai/other' }), { body: { configured: null } })
  t.same(await modelsOf('fast'), ['openai/other'])
  t.match(await ask('DELETE', 'aliases/plain'), {
    status: 200,
    body: { model: 'openai/plain', source: 'configuration' },
  })
  t.same(await modelsOf('plain'), ['openai/plain'])
  t.match(await ask('DELETE', 'aliases/plain'), refused(404, 'not_found'))
  t.match(await ask('DELETE', 'aliases/fast'), { body: { model: null } })
  t.same(await modelsOf('fast'), 404)
  t.match(await ask('PUT', 'aliases/a%2Fb', { model: 'openai/other' }), refused(400, 'invalid_value', 'alias'))
  for (const model of ['nobody/x', 'plain', 'openai/'])
    t.match(await ask('PUT', 'aliases/fast', { model }), refused(400, 'invalid_value', 'model'), model)

  const candidates = [{ model: 'openai/other', weight: 3 }, 'plain']
  t.match(await ask('PUT', 'routers/auto', { candidates, order: 'weighted' }), {
    status: 200,
    body: {
      object: 'router',
      router: 'auto',
      candidates: [
        { model: 'openai/other', weight: 3 },
        { model: 'plain', weight: 1 },
      ],
      order: 'weighted',
      source: 'administration',
      configured: { order: 'listed' },
    },
  })
  const orders = new Set<string>()
  for (let asked = 0; asked < 60 && orders.size < 2; asked += 1) orders.add(String(await modelsOf('gateway/auto')))
  t.same([...orders].sort(), ['openai/other,openai/plain', 'openai/plain,openai/other'])
  const planned = only(edge.log.events, 'RequestRouted').at(-1)
  t.same(
    planned?.data.candidates.map(({ model }) => model),
    edge.calls.at(-1)?.candidates.map(({ model }) => model),
  )
  t.match(await ask('PUT', 'routers/mine', { candidates: ['openai/other'] }), {
    status: 200,
    body: { order: 'listed' },
  })
  t.same(await modelsOf('gateway/mine'), ['openai/other'])
  t.match((await ask('GET', 'routers')).body, { data: [{ router: 'auto' }, { router: 'mine', configured: null }] })
  t.match(await ask('DELETE', 'routers/auto'), { body: { order: 'listed', source: 'configuration' } })
  t.same(await modelsOf('gateway/auto'), ['openai/plain', 'openai/other'])
  t.match(await ask('PUT', 'routers/Bad', { candidates }), refused(400, 'invalid_value', 'router'))
  t.match(
    await ask('PUT', 'routers/mine', { candidates: ['openai/other', 'nobody/x'] }),
    refused(400, 'invalid_value', 'candidates[1]'),
  )
  const before = said().length
  await ask('PUT', 'routers/mine', { candidates: ['openai/other'] })
  t.equal(said().length, before, 'what is set already is not said again')
  t.ok(only(said(), 'AliasSet').every(({ actor }) => actor === 'admin:ana'))
})

t.test('where a request would go, without one', async (t) => {
  const { edge, ask, said } = await start(t)
  const plain = { model: 'openai/plain', provider: 'openai', upstream_model: 'plain' }
  t.match(await ask('GET', 'routes/plain'), {
    status: 200,
    body: {
      object: 'route',
      asked: 'plain',
      router: null,
      order: null,
      candidates: [{ ...plain, first: 1, cost: null }],
    },
  })
  await ask('PUT', 'routers/mine', { candidates: [{ model: 'openai/other', weight: 3 }, 'plain'], order: 'weighted' })
  const { body } = await ask('GET', 'routes/gateway/mine?prompt_tokens=1000&output_tokens=2')
  t.match(body, {
    ...{ router: 'mine', order: 'weighted', skipped: [] },
    candidates: [
      { model: 'openai/other', first: 0.75, cost: '0.001004' },
      { ...plain, first: 0.25, cost: '0.001004' },
    ],
  })
  await ask('PUT', 'workspaces/acme/keys/key-1/limits', { allowed_models: ['openai/plain'] })
  t.match(await ask('GET', 'routes/gateway/mine?key=key-1'), {
    body: {
      candidates: [{ ...plain, first: 1 }],
      skipped: [{ model: 'openai/other', code: 'model_not_allowed' }],
    },
  })
  const before = said().length
  t.match(await ask('GET', 'routes/openai/other?key=key-1'), refused(403, 'model_not_allowed', 'model'))
  t.match(await ask('GET', 'routes/gateway/none'), refused(404, 'model_not_found', 'model'))
  t.match(await ask('GET', 'routes/plain?key=key-9'), refused(404, 'not_found'))
  t.match(await ask('GET', 'routes/plain?prompt_tokens=-1'), refused(400, 'invalid_value', 'prompt_tokens'))
  t.match(await ask('GET', 'routes/plain?stream=1'), refused(400, 'unsupported_parameter', 'stream'))
  t.equal(edge.calls.length, 0)
  t.equal(said().length, before, 'nothing is written')
})

t.test('how providers and their deployments are', async (t) => {
  const nowMs = Date.parse('2026-11-27T21:10:00.000Z')
  const called = { provider: 'azure', deployment: 'eu', calls: 4, failed: 1, firstTokens: [0, 2], lastFailure: null }
  const lastFailure = { at: new Date(nowMs), model: 'openai/gpt-5', status: 500, reason: 'server_error' }
  const until = new Date(nowMs + 5_000)
  const asked: Date[] = []
  const options: EdgeOptions = {
    clock: () => nowMs,
    catalog: {
      providers: new Map<string, CatalogProvider>([
        ['azure', { models: {}, deployments: ['eu', 'us', 'asia'] }],
        ['openai', { models: {} }],
        ['kling', { models: {}, surfaces: ['video'] }],
      ]),
    },
    readModels: {
      listCalls: async (since) => {
        asked.push(since)
        const failing = { ...called, provider: 'openai', deployment: null, failed: 4, firstTokens: [], lastFailure }
        return { sequence: 1, value: [called, failing, { ...called, deployment: 'no-longer-configured' }] }
      },
    },
    ejections: () => [{ provider: 'azure', deployment: 'us', model: 'azure/gpt-5', reason: 'limited', until }],
  }
  const { ask } = await start(t, options)
  const { body } = await ask('GET', 'deployments')
  const none = { counted: 0, median_ms: null, p95_ms: null }
  const common = { object: 'deployment', since: '2026-11-27T20:00:00.000Z', last_failure: null, ejections: [] }
  const unused = { ...common, provider: 'azure', calls: 0, failed: 0, first_token: none }
  const ejection = { model: 'azure/gpt-5', reason: 'limited', until: until.toISOString() }
  t.same(body, {
    object: 'list',
    data: [
      { ...unused, deployment: 'asia', state: 'unused' },
      {
        ...{ ...common, provider: 'azure', deployment: 'eu', state: 'healthy', calls: 4, failed: 1 },
        first_token: { counted: 2, median_ms: 188, p95_ms: 244 },
      },
      { ...unused, deployment: 'us', state: 'ejected', ejections: [ejection] },
      {
        ...{
          ...common,
          provider: 'openai',
          deployment: null,
          state: 'failing',
          calls: 4,
          failed: 4,
          first_token: none,
        },
        last_failure: { ...lastFailure, at: lastFailure.at.toISOString() },
      },
    ],
    next_cursor: null,
  })
  t.equal(asked[0]?.toISOString(), common.since)
  const apart = await start(t, { ...options, ejections: null })
  t.match((await apart.ask('GET', 'deployments?limit=1')).body, { data: [{ state: 'unused', ejections: null }] })
})

/** How many keys are looked at from now on, one by one or by their ids. */
const countReads = (keys: Map<string, unknown>): (() => number) => {
  let count = 0
  const { get, values } = keys
  Object.assign(keys, {
    get: (keyId: string) => {
      count += 1
      return get.call(keys, keyId)
    },
    *values() {
      for (const key of values.call(keys)) {
        count += 1
        yield key
      }
    },
  })
  return () => count
}

t.test('lists of keys and limits of a workspace look at no keys of others', async (t) => {
  const { edge, ask } = await start(t)
  await ask('POST', 'workspaces', { id: 'globex', name: 'Globex' })
  const others = 50
  for (let key = 0; key < others; key += 1) await ask('POST', 'keys', { workspace: 'globex', name: `key-${key}` })
  const { body: second } = await ask('POST', 'keys', { workspace: 'acme', name: 'second' })
  const reads = countReads(edge.tail.ledger.accounts.keys)
  const headers = { authorization: `Bearer ${secret}`, 'x-gateway-ledger-sequence': 'of the tables' }
  for (const list of ['keys', 'limits']) {
    const before = reads()
    const response = await fetch(`${edge.url}/v1/ledger/${list}`, { headers })
    t.equal(response.status, 200, `${list} are of memory: no position of the tables is waited for`)
    const { data } = (await response.json()) as { readonly data: readonly { readonly id?: string }[] }
    if (list === 'keys')
      t.same(
        data.map(({ id }) => id),
        ['key-1', 'key-2', second['id']],
      )
    t.ok(reads() - before <= 4, `${list}: ${reads() - before} keys were looked at`)
  }
  const before = reads()
  t.match(await ask('GET', 'keys?workspace=acme'), { body: { data: { length: 3 } } })
  t.ok(reads() - before <= 4, 'by an administrator too')
})

t.test('a key reads the limits of its own workspace with their use, as an administrator does', async (t) => {
  const { edge, ask } = await start(t, { requestsPerMinute: 60 })
  await ask('POST', 'workspaces', { id: 'globex', name: 'Globex' })
  const { body: other } = await ask('POST', 'keys', { workspace: 'globex', name: 'production' })
  await ask('PUT', 'workspaces/acme/limits?tag=team%3Dsearch', { spend: { month: '5' } })
  await ask('PUT', 'workspaces/acme/keys/key-1/limits', { spend: { day: '1.50' }, allowed_models: ['openai/*'] })
  await ask('PUT', `workspaces/globex/keys/${other['id']}/limits`, { spend: { total: '7' } })
  const read = async (key: string, query = '') => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${edge.url}/v1/ledger/limits${query}`, { headers })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }
  const own = await read(secret)
  t.match(own.body, {
    data: [
      {
        workspace: 'acme',
        key: null,
        in_force: { requests_per_minute: 60 },
        sources: { requests_per_minute: 'configuration' },
      },
      { workspace: 'acme', key: 'key-1', limits: { spend: { day: '1.5' } }, spent: { day: '0' }, held: { day: '0' } },
      { workspace: 'acme', key: null, tag: 'team=search', limits: { spend: { month: '5' } } },
    ],
    next_cursor: null,
  })
  t.same(getValidator('responses/ledger-limits.json')(own.body), [])
  for (const path of ['workspaces/acme/limits', 'workspaces/acme/ledger/limits'])
    t.same((await ask('GET', path)).body, own.body, path)
  const { body: ofOther } = await read(String(other['secret']))
  t.match(ofOther, { data: [{ key: null }, { key: other['id'], limits: { spend: { total: '7' } } }] })
  for (const { workspace } of ofOther['data'] as { workspace: string }[]) t.equal(workspace, 'globex')
  const headers = { authorization: `Bearer ${secret}`, 'x-gateway-ledger-sequence': 'of the tables' }
  const unread = await fetch(`${edge.url}/v1/ledger/limits`, { headers })
  t.equal(unread.status, 200, 'no position of the tables is waited for')
  t.same(await unread.json(), own.body)
  const first = await read(secret, '?limit=1')
  const rest = await read(secret, `?limit=2&cursor=${first.body['next_cursor']}`)
  t.match(rest.body, { data: [{ key: 'key-1' }, { tag: 'team=search' }], next_cursor: null })
  t.match(await read(secret, '?workspace=globex'), refused(400, 'unsupported_parameter'))
  t.match(await ask('GET', 'workspaces/nothing/ledger/limits'), refused(404, 'not_found'))
  t.match(await ask('GET', 'ledger/limits'), { status: 404 }, 'of all workspaces at once there is none')
})

t.test('limits of a workspace and of its keys', async (t) => {
  const { ask, said } = await start(t)
  const ofKey = 'workspaces/acme/keys/key-1/limits'
  const pace = {
    requests_per_minute: 600,
    models: { 'openai/plain': { tokens_per_minute: 9, concurrent_requests: 2 } },
  }
  t.same(await ask('PUT', 'workspaces/acme/limits', pace), {
    status: 200,
    body: {
      object: 'limits',
      workspace: 'acme',
      key: null,
      limits: pace,
      in_force: pace,
      sources: { requests_per_minute: 'own', models: 'own' },
    },
  })
  const spend = { spend: { day: '1.50', total: '9' }, allowed_models: ['openai/*'] }
  const shown = { ...spend, spend: { day: '1.5', total: '9' } }
  const spent = { day: '0', month: '0', total: '0' }
  t.same((await ask('PUT', ofKey, spend)).body, {
    object: 'limits',
    workspace: 'acme',
    key: 'key-1',
    limits: shown,
    spent,
    held: spent,
  })
  t.match((await ask('GET', 'workspaces/acme/limits')).body, {
    object: 'list',
    data: [
      { key: null, limits: pace },
      { key: 'key-1', limits: shown, spent },
    ],
    next_cursor: null,
  })
  const first = await ask('GET', 'workspaces/acme/limits?limit=1')
  const rest = await ask('GET', `workspaces/acme/limits?limit=1&cursor=${first.body['next_cursor']}`)
  t.match(rest.body, { data: [{ key: 'key-1' }], next_cursor: null })
  t.equal((await ask('PUT', ofKey, shown)).status, 200)
  t.equal(said().length, 2, 'what stands already is not said again')
  t.match((await ask('PUT', ofKey, { concurrent_requests: 3 })).body, {
    limits: { concurrent_requests: 3, spend: undefined },
  })
  for (const path of ['workspaces/acme/limits', ofKey, ofKey])
    t.match(await ask('DELETE', path), { status: 200, body: { limits: {} } }, 'lifting them again does nothing')
  t.match((await ask('GET', 'workspaces/acme/limits')).body, { data: [{ key: null, limits: {} }] })
  for (const path of [
    'workspaces/nobody/limits',
    'workspaces/acme/keys/key-9/limits',
    'workspaces/nobody/keys/key-1/limits',
  ]) {
    t.match(await ask('PUT', path, {}), refused(404, 'not_found'), path)
    t.match(await ask('DELETE', path), refused(404, 'not_found'), path)
  }
  t.match(await ask('GET', 'workspaces/nobody/limits'), refused(404, 'not_found'))
  t.match(
    said().map(({ type, actor }) => [type, actor]),
    Array.from({ length: 5 }, () => ['LimitsSet', 'admin:ana']),
  )
})

t.test('spend limits of tags and of end users', async (t) => {
  const { ask, said } = await start(t)
  const at = 'workspaces/acme/limits'
  const spend = { spend: { day: '1.5' } }
  const none = { day: '0', month: '0', total: '0' }
  const named = { object: 'limits', workspace: 'acme', key: null, limits: spend, spent: none, held: none }
  t.match((await ask('PUT', `${at}?tag=team%3Dsearch`, spend)).body, { ...named, tag: 'team=search' })
  const { body } = await ask('PUT', `${at}?user=alice`, spend)
  t.match(body, { ...named, end_user: /^[0-9a-f]{64}$/, warnings: undefined })
  t.notMatch(JSON.stringify([body, said()]), 'alice', 'its name is stored nowhere')
  const ofAlice = `${at}?end_user=${body['end_user']}`
  for (const path of [ofAlice, `${at}?user=alice`])
    t.match((await ask('GET', path)).body, { data: [{ end_user: body['end_user'], limits: spend }], next_cursor: null })
  t.match((await ask('GET', `${at}?user=bob`)).body, { data: [{ limits: {} }] })
  t.match((await ask('GET', at)).body, { data: [{ key: null, in_force: {} }, { end_user: /./ }, { tag: /./ }] })
  const before = said().length
  t.equal((await ask('PUT', ofAlice, { spend: { day: '1.50' } })).status, 200)
  t.equal(said().length, before, 'unchanged')

  t.match(await ask('PUT', ofAlice, { requests_per_minute: 1 }), refused(400, 'invalid_value'))
  t.match(await ask('PUT', `${at}?tag=team`, spend), refused(400, 'invalid_value', 'tag'))
  t.match(await ask('PUT', `${at}?tag=team%3D%00`, spend), refused(400, 'invalid_value', 'tag'))
  t.match(await ask('PUT', `${at}?end_user=alice`, spend), refused(400, 'invalid_value', 'end_user'))
  t.match(await ask('PUT', `${at}?user=a&tag=team%3Da`, spend), refused(400, 'invalid_value', 'user'))
  t.match(await ask('PUT', `${at}?team=search`, spend), refused(400, 'unsupported_parameter', 'team'))
  t.match(await ask('PUT', 'workspaces/nobody/limits?user=alice', spend), refused(404, 'not_found'))

  t.match((await ask('DELETE', 'workspaces/acme/end-users')).status, 200)
  t.match((await ask('GET', at)).body, { data: [{ in_force: {} }, { tag: 'team=search' }] }, 'its limits are erased')
  t.match((await ask('GET', `${at}?user=alice`)).body, { data: [{ limits: {} }] }, 'it has another id')
  t.match((await ask('DELETE', `${at}?tag=team%3Dsearch`)).body, { tag: 'team=search', limits: {} })
  t.match((await ask('GET', at)).body, { data: [{ key: null, limits: {}, tag: undefined }] })
})

t.test('limits of a plan and of the configuration are shown where they bind', async (t) => {
  const { ask } = await start(t, { requestsPerMinute: 1000 })
  const at = 'workspaces/acme/limits'
  const whole = async () => {
    const { body } = await ask('GET', at)
    return (body as { data: object[] }).data[0]
  }
  const bound = (limits: object, in_force: object, sources: object) => ({
    ...{ object: 'limits', workspace: 'acme', key: null },
    ...{ limits, in_force, sources },
  })
  t.same(await whole(), bound({}, { requests_per_minute: 1000 }, { requests_per_minute: 'configuration' }))
  const limits = { requests_per_minute: 10, allowed_models: ['openai/*'], tokens_per_minute: 7 }
  await ask('PUT', 'plans/pro', { price: '0', limits })
  await ask('PUT', 'workspaces/acme/subscription', { plan: 'pro' })
  const ofPlan = { requests_per_minute: 'plan', allowed_models: 'plan', tokens_per_minute: 'plan' }
  t.same(await whole(), bound({}, limits, ofPlan))
  const own = { tokens_per_minute: 9, concurrent_requests: 2 }
  const both = bound(own, { ...limits, ...own }, { ...ofPlan, tokens_per_minute: 'own', concurrent_requests: 'own' })
  t.same((await ask('PUT', at, own)).body, both)
  t.same(await whole(), both)
})

t.test('names that lead to no model are taken, and told', async (t) => {
  const { ask } = await start(t)
  const told = async (path: string, body: object): Promise<unknown> => {
    const { status, body: answer } = await ask('PUT', path, body)
    t.equal(status, 200, path)
    return answer['warnings']
  }
  const nothing = [/^`openai\/nope` leads to no model yet/]
  const candidates = ['plain', 'openai/nope', { model: 'openai/plain-2026-01-01' }]
  t.match(await told('aliases/fast', { model: 'openai/nope' }), nothing)
  t.match(await told('routers/mine', { candidates }), nothing)
  const limits = { allowed_models: ['openai/*', 'openai/plain'], models: { 'openai/nope': { tokens_per_minute: 1 } } }
  t.match(await told('workspaces/acme/limits', limits), nothing)
  t.match(await told('plans/pro', { price: '1', limits }), nothing)
  t.match(await told('workspaces/acme/keys/key-1/limits', { allowed_models: ['nope/x', 'nope/*'] }), [
    /nope\/x/,
    /nope\/\*/,
  ])
  t.equal(await told('aliases/fast', { model: 'openai/plain' }), undefined)
  t.equal(await told('routers/mine', { candidates: ['plain', 'fast'] }), undefined)
  t.equal(await told('workspaces/acme/limits', { allowed_models: ['openai/*', 'openai/plain'] }), undefined)
})

t.test('a rotated key is still refused beyond the limit, and so is the one that it replaces', async (t) => {
  const { edge, ask } = await start(t)
  const askWith = async (key: unknown) => {
    const response = await edge.post(plainAsk, { authorization: `Bearer ${key}` })
    return response.status === 200 ? 200 : (await errorOf(response)).code
  }
  await ask('PUT', 'workspaces/acme/keys/key-1/limits', { spend: { total: '0.1' } })
  t.equal(await askWith(secret), 200)
  const rotated = await ask('POST', 'keys/key-1/rotate', { grace_seconds: 3600 })
  const fresh = rotated.body['secret']
  t.equal(await askWith(fresh), 200)
  const { data } = (await ask('GET', 'workspaces/acme/limits')).body as { data: { key: string; spent: object }[] }
  t.match(data, [{ key: null }, { key: 'key-1' }, { key: rotated.body['id'], limits: { spend: { total: '0.1' } } }])
  t.same(data[2]?.spent, data[1]?.spent)
  t.match(data[1]?.spent, { total: '0.00004' }, 'both spend one limit')
  await ask('PUT', `workspaces/acme/keys/${rotated.body['id']}/limits`, { spend: { total: '0.00004' } })
  t.same([await askWith(fresh), await askWith(secret)], ['key_spend_limit_reached', 'key_spend_limit_reached'])
  const again = await ask('POST', `keys/${rotated.body['id']}/rotate`, { grace_seconds: 0 })
  t.equal(await askWith(again.body['secret']), 'key_spend_limit_reached')
  await ask('DELETE', `workspaces/acme/keys/${again.body['id']}/limits`)
  t.equal(await askWith(secret), 200)
})

t.test('plans and subscriptions', async (t) => {
  const { ask, said } = await start(t)
  const pro = { name: 'Pro', price: '20.00', included_credit: '5', limits: { requests_per_minute: 60 } }
  const terms = { ...pro, price: '20', period: 'month' }
  for (let times = 0; times < 2; times += 1)
    t.same(await ask('PUT', 'plans/pro', pro), { status: 200, body: { object: 'plan', id: 'pro', ...terms } })
  t.match(await ask('PUT', 'plans/dear', { price: '1000' }), {
    body: { name: 'dear', period: 'month', included_credit: '0', limits: {} },
  })
  t.match((await ask('GET', 'plans')).body, { object: 'list', data: [{ id: 'dear' }, { id: 'pro' }] })

  const at = 'workspaces/acme/subscription'
  t.match(await ask('GET', at), refused(404, 'not_found'))
  t.match(await ask('DELETE', at), refused(404, 'not_found'))
  for (const method of ['GET', 'DELETE'])
    t.match(await ask(method, 'workspaces/nobody/subscription'), refused(404, 'not_found'))
  t.match(await ask('PUT', 'workspaces/nobody/subscription', { plan: 'pro' }), refused(404, 'not_found'))
  t.match(await ask('PUT', at, { plan: 'none' }), refused(404, 'not_found', 'plan'))
  t.match(await ask('PUT', at, { plan: 'dear' }), refused(402, 'insufficient_user_quota'))
  const named = { plan: 'pro', subscription_id: 'sub_1' }
  const begun = await ask('PUT', at, named)
  t.match(begun, {
    status: 200,
    body: { object: 'subscription', id: 'sub_1', workspace: 'acme', plan: 'pro', ...terms, renews: true },
  })
  t.match((await ask('GET', 'workspaces/acme')).body, { balance: '85' }, 'the fee is charged, the credit given')
  t.same(await ask('PUT', at, named), begun, 'once')
  t.same(await ask('PUT', at, { plan: 'pro' }), begun)
  t.same(await ask('GET', at), begun)
  await ask('PUT', 'plans/free', { price: '0' })
  t.match(await ask('PUT', at, { plan: 'free', subscription_id: 'sub_1' }), refused(409, 'conflict', 'subscription_id'))
  for (let times = 0; times < 2; times += 1)
    t.match(await ask('DELETE', at), { status: 200, body: { id: 'sub_1', renews: false } })
  t.match(await ask('PUT', at, { plan: 'free', renews: false }), { body: { id: /^sub_/, plan: 'free', renews: false } })
  t.match(await ask('PUT', at, named), refused(409, 'conflict', 'subscription_id'), 'it has ended')
  t.same(
    said().map(({ type, actor }) => `${type} ${actor}`),
    [
      ...['PlanPublished', 'PlanPublished', 'PlanSubscribed', 'PlanPublished'],
      ...['PlanCancelled', 'PlanEnded', 'PlanSubscribed'],
    ].map((type) => `${type} admin:ana`),
  )
})

t.test('bad bodies name the field', async (t) => {
  const { edge, ask, said } = await start(t)
  const rows: readonly (readonly [method: string, path: string, body: unknown, param: string | null, code?: string])[] =
    [
      ['POST', 'workspaces', {}, 'id', 'missing_required_parameter'],
      ['POST', 'workspaces', { id: 'No Spaces' }, 'id'],
      ['POST', 'workspaces', { id: 'globex', credit_limit: 5 }, 'credit_limit'],
      ['POST', 'workspaces', { id: 'globex', credit_limit: '-5' }, 'credit_limit'],
      ['POST', 'workspaces', { id: 'globex', colour: 'blue' }, 'colour'],
      ['POST', 'workspaces', [], null],
      ['PATCH', 'workspaces/acme', {}, null],
      ['POST', 'keys', { workspace: 'acme', name: '' }, 'name'],
      ['POST', 'keys', { workspace: 'acme', name: 'x', expires_at: 'tomorrow' }, 'expires_at'],
      ['POST', 'keys/key-1/rotate', {}, 'grace_seconds', 'missing_required_parameter'],
      ['POST', 'keys/key-1/rotate', { grace_seconds: -1 }, 'grace_seconds'],
      ['POST', 'keys/key-1/rotate', { grace_seconds: 1.5 }, 'grace_seconds'],
      ['POST', 'workspaces/acme/credits', { reference: 'x' }, 'amount', 'missing_required_parameter'],
      ['POST', 'workspaces/acme/credits', { reference: 'x', amount: '1.1234567890123' }, 'amount'],
      ['PUT', 'workspaces/acme/limits', { requests_per_minute: 0 }, 'requests_per_minute'],
      ['PUT', 'workspaces/acme/limits', { requestsPerMinute: 5 }, 'requestsPerMinute'],
      ['PUT', 'workspaces/acme/limits', { spend: { day: '1' } }, 'spend'],
      ['PUT', 'workspaces/acme/limits', { models: { plain: { requests_per_minute: 1 } } }, 'models'],
      ['PUT', 'workspaces/acme/keys/key-1/limits', { spend: { day: '-1' } }, 'spend.day'],
      ['PUT', 'workspaces/acme/keys/key-1/limits', { spend: { week: '1' } }, 'spend.week'],
      ['PUT', 'workspaces/acme/keys/key-1/limits', { allowed_models: ['gateway/auto'] }, 'allowed_models[0]'],
      ['PUT', 'plans/pro', {}, 'price', 'missing_required_parameter'],
      ['PUT', 'plans/pro', { price: '-1' }, 'price'],
      ['PUT', 'plans/pro', { price: '1', period: 'week' }, 'period'],
      ['PUT', 'plans/pro', { price: '1', limits: { spend: { day: '1' } } }, 'limits.spend'],
      ['PUT', 'plans/a%20plan', { price: '1' }, 'planId'],
      ['PUT', 'workspaces/acme/subscription', {}, 'plan', 'missing_required_parameter'],
      ['PUT', 'workspaces/acme/subscription', { plan: 'pro', subscription_id: 'a b' }, 'subscription_id'],
      ['PUT', 'aliases/fast', { model: null }, 'model'],
      ['PUT', 'routers/auto', { candidates: [] }, 'candidates'],
      ['PUT', 'routers/auto', { candidates: [{ model: 'openai/other', weight: 0 }] }, 'candidates[0].weight'],
      ['PUT', 'routers/auto', { candidates: ['openai/other'], order: 'random' }, 'order'],
      ['POST', 'prices', { prices: [] }, 'prices'],
      ['POST', 'prices/import', {}, 'table', 'missing_required_parameter'],
    ]
  for (const [method, path, body, param, code = 'invalid_value'] of rows)
    t.match(
      await ask(method, path, body),
      { status: 400, body: { error: { code, param } } },
      `${method} ${path} ${JSON.stringify(body)}`,
    )
  t.same(said(), [])
  const raw = (body: string, type = 'application/json') =>
    fetch(`${edge.url}/admin/v1/workspaces`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body,
    })
  t.match(await errorOf(await raw('{"id":"a","id":"b"}')), { code: 'invalid_json' })
  t.match(await errorOf(await raw('{')), { code: 'invalid_json' })
  t.equal((await raw('{}', 'text/plain')).status, 415)
  t.match(await ask('PUT', 'workspaces/acme', {}), refused(405, 'method_not_allowed'))
  t.match(await ask('GET', 'nothing'), refused(404, 'not_found'))
})

t.test('keys of one name that are asked for at the same time: one is issued', async (t) => {
  const { edge, ask } = await start(t)
  const names = Array.from({ length: 12 }, (_, index) => `n-${index % 3}`)
  const answers = await Promise.all(names.map((name) => ask('POST', 'keys', { workspace: workspaceId, name })))
  t.equal(answers.filter(({ status }) => status === 201).length, 3)
  t.equal(answers.filter(({ status }) => status === 409).length, 9)
  t.equal(only(edge.log.events, 'KeyIssued').filter(({ data }) => data.name.startsWith('n-')).length, 3)
})

t.test('the table of routes names schemas that are there', async (t) => {
  for (const { request } of adminOperations) if (request !== null) t.type(getValidator(request), 'function')
  const lines = adminOperations.map(({ http: { method, path } }) => `${method} ${path}`)
  t.equal(new Set(lines).size, lines.length)
})
