import { hash } from 'node:crypto'
import t from 'tap'
import { checkProof, readProof } from '../../src/audit/proof.ts'
import { SealBuilder, signSeal } from '../../src/audit/seal.ts'
import { parseUsd } from '../../src/domain/money.ts'
import type { FrameSource } from '../../src/log/raw-frames.ts'
import { readLimits } from '../../src/read-api/limits.ts'
import { signer, verifier } from '../audit/sealed-log.ts'
import { errorOf, secret, startEdge, workspaceId } from '../roles/edge/edge-fixture.ts'
import {
  adjusted,
  credited,
  holdPlaced,
  keyIssued,
  lateVerdict,
  opened,
  pricePublished,
  routed,
  taskFailed,
  taskPlaced,
  taskProgressed,
  taskSettled,
  taskSubmitted,
  used,
} from '../roles/projector/facts.ts'
import { openProjected, project } from '../roles/projector/projecting.ts'
import { until } from '../support/clients.ts'
import { MemoryLog, rawFrameOf } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'

const explainsOfOneMax = readLimits.explainsAtOnceMax / 2

const token = 'a-token-of-ana-that-nobody-can-guess'
const admins = [{ name: 'ana', sha256: hash('sha256', token), role: 'owner' as const }]
const deadline = new Date(Date.now() + 3_600_000).toISOString()

const postgres = await startPostgres(t)
const projected = await openProjected(t, postgres)
/** Of two minutes and workspaces, and of no key. */
const refusals = [
  { minute: '2026-11-27T20:44:00.000Z', workspaceId, keyId: 'key-1', code: 'rate_limit_exceeded', count: 3 },
  { minute: '2026-11-27T20:45:00.000Z', workspaceId, keyId: 'key-1', code: 'insufficient_quota', count: 2 },
  { minute: '2026-11-27T20:45:00.000Z', workspaceId: 'beta', keyId: 'key-2', code: 'insufficient_quota', count: 1 },
  { minute: '2026-11-27T20:45:00.000Z', workspaceId: null, keyId: null, code: 'invalid_api_key', count: 9 },
]
/** Long enough ago for what waits to be found. */
const said = new Date(Date.now() - 300_000).toISOString()
const log = new MemoryLog({ timeOf: () => said })
await log.append([opened(), opened('beta'), keyIssued('key-1'), pricePublished('v1')])
await log.postToWallet(workspaceId, [credited('first', '100'), holdPlaced('hold-1', '2')])
await log.append([routed('request-alone'), used('request-alone'), pricePublished('v2')])
await log.append([
  routed('request-shared'),
  used('request-shared'),
  routed('request-of-beta', { workspaceId: 'beta' }),
  used('request-of-beta', { workspaceId: 'beta' }),
])
await log.append([routed('request-estimated'), used('request-estimated', { source: 'estimated' })])
await log.append([used('request-estimated', { total: '9', lines: [] }), used('request-unheard')])
await log.append([routed('request-late'), routed('request-open', { deadline })])
await log.postToWallet(workspaceId, [
  taskPlaced('task-1', {}, workspaceId),
  taskPlaced('task-2', { kind: 'image2video' }, workspaceId),
  taskPlaced('task-3', {}, workspaceId),
  adjusted('adjustment-1', '0.25', workspaceId),
])
await log.append([
  taskSubmitted('task-1'),
  taskProgressed('task-1', 40),
  taskSubmitted('task-2'),
  taskSettled('task-2'),
  { type: 'RefusalsCounted', data: { counts: refusals } },
  { type: 'RefusalsCounted', data: { counts: refusals.slice(0, 1) } },
])
await log.append([taskFailed('task-3'), lateVerdict('task-3')])
const sealing = new SealBuilder()
for (const frame of log.frames) sealing.take(rawFrameOf(frame))
await log.append([{ type: 'CheckpointSealed', data: signSeal(sealing.next(), signer) }])
await log.append([routed('request-unsealed'), used('request-unsealed')])
await project(log, projected.store, 500)

const readModels = projected.database.readModels()
const { url } = await startEdge(t, { readModels, frames: log, admins, verifiers: [verifier] })
const own = '/v1/ledger'
const named = `/admin/v1/workspaces/${workspaceId}/ledger`

const get = (path: string, bearer = secret, from = url): Promise<Response> =>
  fetch(from + path, { headers: { authorization: `Bearer ${bearer}` } })
type Json = ReturnType<JSON['parse']>
const read = async (path: string, bearer = secret, from = url): Promise<Json> => (await get(path, bearer, from)).json()

const positionMembers = ['sequence', 'log_sequence', 'event_index', 'sealed_by']
const withoutPositions = (value: Json): Json =>
  JSON.parse(JSON.stringify(value), (name, member) => {
    if (name === 'checkpoint' && member !== null) return {}
    return positionMembers.includes(name) ? undefined : member
  })

t.test('an administrator reads of any workspace what its key reads, and positions in the log', async (t) => {
  const paths = [
    'wallet',
    'usage',
    'statement',
    'holds',
    'charges',
    'charges/request-alone',
    'tasks',
    'keys',
    'outcomes',
    'refusals',
    'findings',
  ]
  for (const path of paths) {
    const [keyed, administered] = [await read(`${own}/${path}`), await read(`${named}/${path}`, token)]
    if (path === 'wallet') keyed.runway = administered.runway // It is told as of now.
    t.same(withoutPositions(administered), keyed, path)
  }
  t.match(await read(`${named}/statement`, token), { data: [{ sequence: 2, event_index: 0 }] })
  t.match(await read(`${named}/charges/request-alone`, token), {
    log_sequence: log.frames.length,
    proof: { sequence: 3, checkpoint: { size: 10 } },
  })
  t.match(await read('/admin/v1/workspaces/beta/ledger/charges', 'nobody'), { error: { code: 'invalid_api_key' } })
})

t.test('and nobody else does', async (t) => {
  for (const path of ['wallet', 'tasks', 'findings', 'health', 'tail', 'keys', 'charges/request-alone/proof']) {
    t.equal((await fetch(url + own + path.padStart(path.length + 1, '/'))).status, 401, path)
    t.equal((await get(`${named}/${path}`)).status, 401, 'a key is no admin token')
    t.equal((await get(`${own}/${path}`, token)).status, 401, 'and an admin token no key')
  }
  t.equal((await get('/admin/v1/workspaces/nobody/ledger/wallet', token)).status, 404)
  for (const path of ['findings', 'health', 'tail', 'requests'])
    t.equal((await get(`/admin/v1/ledger/${path}`)).status, 401)
})

t.test('the wallet, and how long it lasts', async (t) => {
  const wallet = await read(`${own}/wallet`)
  t.match(wallet, {
    object: 'wallet',
    workspace: { id: workspaceId, name: 'Acme' },
    credits: '100',
    adjustments: '0.25',
    credit_limit: '5',
    runway: { spent: '0.6322' },
  })
  t.equal(parseUsd(wallet.available), parseUsd(wallet.balance) - parseUsd(wallet.held) + parseUsd('5'))
  t.ok(Date.parse(wallet.runway.until) > Date.now())
  const empty = await startEdge(t, {})
  t.match(await read(`${own}/wallet`, secret, empty.url), {
    balance: '0',
    runway: { spent: '0', until: null },
  })
})

t.test('video tasks of every kind, newest first, page by page', async (t) => {
  const { data } = await read(`${own}/tasks`)
  t.match(data, [
    { id: 'task-3', status: 'FAILURE', fail_reason: 'refused', total: '0' },
    { id: 'task-2', kind: 'image2video', status: 'SUCCESS', total: '0.63' },
    { id: 'task-1', status: 'IN_PROGRESS', progress: 40, held: '0.84', finished_at: null },
  ])
  const first = await read(`${own}/tasks?limit=2`)
  const second = await read(`${own}/tasks?limit=2&cursor=${first.next_cursor}`)
  t.same([...first.data, ...second.data], data)
  t.equal(second.next_cursor, null)
  t.match(await errorOf(await get(`${own}/tasks?cursor=WyJ0YXNrcyIsIngiLCJ5Il0`)), { param: 'cursor' })
})

t.test('a statement read backwards is the statement, backwards', async (t) => {
  const forwards = (await read(`${own}/statement?holds=shown`)).data
  const all = []
  for (let cursor = ''; ; ) {
    const page = await read(`${own}/statement?holds=shown&order=newest&limit=4${cursor}`)
    all.push(...page.data)
    if (page.next_cursor === null) break
    cursor = `&cursor=${page.next_cursor}`
  }
  t.same(all, forwards.toReversed())
  t.ok(all.length > 8)
})

t.test('what a reconciliation looks at', async (t) => {
  const { data, complete } = await read(`${own}/findings`)
  const found = data.map(({ kind, id }: { kind: string; id: string }) => `${kind} ${id}`).toSorted()
  t.same(found, [
    'adjustment adjustment-1',
    'estimated_charge request-estimated',
    'late_verdict task-3',
    'open_request request-late',
    'overdue_hold hold-1',
    'overdue_hold task-1',
    'second_closing request-estimated',
    'unrouted_closing request-unheard',
  ])
  t.equal(complete, true)
  const everybody = await read('/admin/v1/ledger/findings', token)
  t.same(
    everybody.data.filter(({ workspace }: { workspace: string }) => workspace === workspaceId),
    data,
    'an administrator finds the same',
  )
  t.equal(everybody.complete, true)
})

t.test('how requests of an hour ended', async (t) => {
  const hour = new Date(Date.parse(said) - (Date.parse(said) % 3_600_000)).toISOString()
  const figures = { requests: 3, failed: 0, interrupted: 0, first_token: { counted: 0, median_ms: null, p95_ms: null } }
  const of = { object: 'outcomes', ...figures, hours: [{ hour, ...figures }] }
  t.match(await read(`${own}/outcomes?key=key-1&model=gpt-4o-mini`), {
    ...of,
    requests: 4,
    hours: [{ hour, requests: 4 }],
  })
  t.match(await read('/admin/v1/ledger/outcomes', token), { requests: 5 }, 'of all workspaces')
  t.same((await read(`${own}/outcomes?from=2026-01-01&to=2026-01-31`)).hours, [])
  t.equal((await get(`${own}/outcomes?from=2026-01-01&to=2026-02-01`)).status, 400, 'more than 31 days')
  t.equal((await get(`${own}/outcomes?from=2999-01-01`)).status, 400, 'from the future')
})

t.test('an administrator finds a request of any workspace', async (t) => {
  const all = '/admin/v1/ledger/requests'
  const named = (of: Json) => of.data.map((row: Json) => [row.id, row.workspace])
  const found = await read(all, token)
  t.equal(found.data.length, 5)
  t.same(named(await read(`${all}?id=request-of-beta`, token)), [['request-of-beta', 'beta']])
  t.same(named(await read(`${all}?key=key-1&id=request-alone`, token)), [['request-alone', workspaceId]])
  const upstreamId = found.data[0].attempts[0].upstream_request_id
  t.same(named(await read(`${all}?upstream_request_id=${upstreamId}`, token)), named(found), 'each has it here')
  t.same((await read(`${all}?upstream_request_id=none`, token)).data, [])
  t.notOk('workspace' in (await read(`${own}/requests`)).data[0], 'a key has one workspace alone')
  const pages: Json[] = []
  for (let cursor = ''; pages.length < 5; cursor = `&cursor=${pages.at(-1).next_cursor}`)
    pages.push(await read(`${all}?limit=1${cursor}`, token))
  t.same(pages.flatMap(named), named(found))
  t.equal(pages.at(-1).next_cursor, null)
  const endOf = ({ at, duration_ms: ms }: Json) => new Date(Date.parse(at) + ms).toISOString()
  t.same(
    pages.map((page) => page.searched_to),
    [...pages.slice(0, -1).map(({ data }) => endOf(data[0])), null],
  )
  const { next_cursor: ofOne } = await read('/admin/v1/workspaces/acme/ledger/requests?limit=1', token)
  t.equal((await get(`${all}?cursor=${ofOne}`, token)).status, 400, 'a cursor is of one list')
  const day = said.slice(0, 10)
  t.equal((await read(`${all}?from=${day}`, token)).data.length, 5)
  t.equal((await read(`${all}?from=2026-01-01&to=2026-01-02`, token)).data.length, 0)
  t.equal((await read(`${all}?from=2999-01-01`, token)).data.length, 0)
})

t.test('refusals before routing, newest first: a key has its own, an administrator all', async (t) => {
  const shown = refusals.map(({ workspaceId: workspace, keyId, ...row }) => ({ ...row, workspace, key: keyId }))
  const [earlier, later, beta, none] = shown
  const added = { ...earlier, count: 6 }
  t.same((await read(`${own}/refusals`)).data, [later, added])
  t.same((await read('/admin/v1/ledger/refusals', token)).data, [beta, later, none, added])
  t.same((await read(`${own}/refusals?code=rate_limit_exceeded&key=key-1`)).data, [added])
  t.same((await read(`${own}/refusals?to=2026-11-27T20:45:00Z`)).data, [added])
  t.same((await read(`${own}/refusals?from=2026-11-27T20:45:00Z`)).data, [later])
  const pages: Json[] = []
  for (let cursor = ''; pages.length < 4; cursor = `&cursor=${pages.at(-1).next_cursor}`)
    pages.push(await read(`/admin/v1/ledger/refusals?limit=1${cursor}`, token))
  t.same(
    pages.flatMap(({ data }) => data),
    [beta, later, none, added],
  )
  t.equal(pages.at(-1).next_cursor, null)
  t.same((await read('/admin/v1/ledger/refusals?key=key-1', token)).data, [later, added])
  const minute = '2026-11-27T20:45:00.000Z'
  for (const forged of [
    ['soon', '', '', 'x'],
    ['+200000-01-01T00:00:00Z', '', '', 'x'],
    ...[
      [minute, '\u0000', '', 'x'],
      [minute, '', '\u0000', 'x'],
      [minute, '', '', '\u0000'],
      [minute, '', '', 'x', ''],
    ],
  ]) {
    const cursor = Buffer.from(JSON.stringify(['refusals', ...forged])).toString('base64url')
    t.equal((await get(`${own}/refusals?cursor=${cursor}`)).status, 400, JSON.stringify(forged))
  }
})

t.test('a proof holds with the public key alone', async (t) => {
  const response = await get(`${own}/charges/request-alone/proof`)
  t.match(response.headers.get('content-disposition'), /attachment; filename="request-alone\.proof\.json"/)
  const proof = readProof(await response.text())
  t.ok(checkProof(proof, [verifier]).size >= proof.sequence)
  t.match(proof.event, { type: 'UsageRecorded', data: { requestId: 'request-alone' } })
})

t.test('a frame in which others have events is proved to an administrator alone', async (t) => {
  const refused = await get(`${own}/charges/request-shared/proof`)
  t.equal(refused.status, 403)
  t.notMatch(await refused.text(), 'beta')
  t.equal((await get(`${named}/charges/request-shared/proof`, token)).status, 200)
  t.equal((await get(`${own}/charges/request-of-beta/proof`)).status, 404)
  t.equal((await get(`${own}/charges/task-2/proof`)).status, 403, 'counts of refusals are those of all')
})

t.test('what is not sealed yet, and what nobody can believe, is not proved', async (t) => {
  const refused = await get(`${own}/charges/request-unsealed/proof`)
  t.match({ status: refused.status, ...(await errorOf(refused)) }, { status: 409, code: 'conflict' })
  const keyless = await startEdge(t, { readModels, frames: log })
  const impossible = await get(`${own}/charges/request-alone/proof`, secret, keyless.url)
  t.equal(impossible.status, 501)
  t.equal(impossible.headers.get('x-should-retry'), 'false')
})

t.test(
  'a proof that is given up keeps its turn until the log has answered; one that waited in vain is not read for',
  async (t) => {
    const answered = Promise.withResolvers<void>()
    const reads: string[] = []
    const frames: Pick<FrameSource, 'read'> = {
      read: async function* (from, to) {
        if (from !== 1) {
          reads.push(`${from}-${to}`) // The first frame is the key of the positions.
          await answered.promise
        }
        yield* log.read(from, to)
      },
    }
    const slow = await startEdge(t, { readModels, frames, verifiers: [verifier] })
    const ask = (id: string): Promise<Response> => get(`${own}/charges/${id}/proof`, secret, slow.url)
    const asked = Array.from({ length: explainsOfOneMax }, () => ask('request-alone'))
    await until(() => reads.length === explainsOfOneMax)
    asked.push(ask('request-shared'), ask('request-shared'))
    for (const { status } of await Promise.all(asked)) t.equal(status, 503)
    t.equal(reads.length, explainsOfOneMax)
    answered.resolve()
    t.equal((await ask('request-alone')).status, 200)
    const readUntilThen = new Set(reads.splice(0))
    t.equal((await ask('request-alone')).status, 200)
    t.same(readUntilThen, new Set(reads))
  },
)

t.test('health: however many ask, the log is asked for few consumers', async (t) => {
  let reads = 0
  const frames: Pick<FrameSource, 'read'> = {
    read: (from, to) => {
      reads += 1
      return log.read(from, to)
    },
  }
  const findCheckpoint = async () => ({ sequence: 1, value: null })
  const behind = await startEdge(t, { readModels: { findCheckpoint }, frames })
  const asked = Array.from({ length: 40 }, () => read(`${own}/health`, secret, behind.url))
  for (const { tables } of await Promise.all(asked)) t.ok(tables.behind_seconds >= 300)
  t.ok(reads >= 1 && reads <= 4, `${reads} for 40`)
})

t.test('health: how far the tables are behind the log', async (t) => {
  const findCheckpoint = async () => ({ sequence: 1, value: null })
  const behind = await startEdge(t, { admins, readModels: { findCheckpoint } })
  const health = await read(`${named}/health`, token, behind.url)
  const last = behind.log.frames.length
  t.match(health, { ready: true, log: { sequence: last }, ledger: { sequence: last }, tables: { sequence: 1 } })
  t.equal(health.tables.behind_frames, last - 1)
  const keyed = await read(`${own}/health`, secret, behind.url)
  t.same(Object.keys(keyed), ['object', 'at', 'ready', 'checks', 'tables'], 'counts of frames are for administrators')
  t.same(Object.keys(keyed.tables), ['behind_seconds'])
  const away = await startEdge(t, { admins, readModels: { findCheckpoint: () => Promise.reject(new Error('away')) } })
  t.match(await read(`${named}/health`, token, away.url), {
    ready: true,
    tables: { sequence: null, behind_frames: null },
  })
  t.match(await read('/admin/v1/ledger/health', token), { object: 'health' })
})
