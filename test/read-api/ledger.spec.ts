import { hash } from 'node:crypto'
import t from 'tap'
import type { FrameSource, RawFrame } from '../../src/log/raw-frames.ts'
import { readLimits } from '../../src/read-api/limits.ts'
import type { EdgeReadModels } from '../../src/read-api/read-models.ts'
import { errorOf, secret, startEdge, workspaceId } from '../roles/edge/edge-fixture.ts'
import {
  credited,
  failed,
  holdPlaced,
  keyIssued,
  opened,
  pricePublished,
  routed,
  taskPlaced,
  taskSettled,
  taskSubmitted,
  used,
} from '../roles/projector/facts.ts'
import { openProjected, project } from '../roles/projector/projecting.ts'
import { until } from '../support/clients.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'

const explainsOfOneMax = readLimits.explainsAtOnceMax / 2

const headers = { authorization: `Bearer ${secret}` }

const postgres = await startPostgres(t)
const projected = await openProjected(t, postgres)

const log = new MemoryLog()
await log.append([opened(), opened('beta'), keyIssued('key-1'), pricePublished('v1')])
await log.postToWallet(workspaceId, [credited('first', '100'), holdPlaced('hold-1', '2'), holdPlaced('hold-2', '1')])
const answered = '01a22000-dead-7000-8000-000000000001'
const idOf = (each: number): string => (each === 23 ? answered : `request-${each}`)
for (let each = 0; each < 25; each += 1)
  await log.append([
    routed(idOf(each), { allowanceId: 'hold-1', reserved: '0.0005' }),
    used(idOf(each), {
      model: each % 5 === 0 ? 'openai/rare' : 'openai/gpt-4o-mini',
      outcome: each === 7 ? 'interrupted' : 'completed',
    }),
  ])
await log.append([routed('request-of-beta', { workspaceId: 'beta' }), used('request-of-beta', { workspaceId: 'beta' })])
const [call] = failed('request-failed').data.attempts
const attempts = [{ ...call!, upstreamRequestId: 'req_"named' }]
await log.append([routed('request-failed'), failed('request-failed', { attempts }), routed('request-open')])
await project(log, projected.store, 500)
const lastSequence = log.frames.length

const tables = projected.database.readModels()
const token = 'a-token-of-ana-that-nobody-can-guess'
const admins = [{ name: 'ana', sha256: hash('sha256', token), role: 'owner' as const }]
const edge = await startEdge(t, { readModels: tables, frames: log, admins })
const get = (path: string, from = edge.url): Promise<Response> => fetch(`${from}/v1/ledger/${path}`, { headers })

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[]
  readonly next_cursor: string | null
}

const pageOf = async (path: string): Promise<Page> => (await get(path)).json() as Promise<Page>

/** Every page of a list, one after the other. */
const readAll = async (path: string, afterPage = async (_page: number): Promise<void> => {}): Promise<Page['data']> => {
  const all: Page['data'][number][] = []
  let cursor = ''
  for (let page = 0; page < 100; page += 1) {
    const { data, next_cursor } = await pageOf(`${path}${cursor}`)
    all.push(...data)
    if (next_cursor === null) return all
    cursor = `&cursor=${next_cursor}`
    await afterPage(page)
  }
  throw new Error('the list does not end')
}

const positionHeader = 'x-gateway-ledger-sequence'
const ask = (path: string, bearer: string, position = '', from = edge.url): Promise<Response> =>
  fetch(from + path, {
    headers: { authorization: `Bearer ${bearer}`, ...(position === '' ? {} : { [positionHeader]: position }) },
  })

t.test(
  'every answer has the position that it reflects: a token for a key, a number for an administrator',
  async (t) => {
    const tokens = new Set<string>()
    for (const path of [
      'usage',
      'statement',
      'holds',
      'requests',
      'refusals',
      'outcomes',
      'charges',
      'charges/request-1',
    ]) {
      const response = await get(path)
      t.equal(response.status, 200, path)
      const position = response.headers.get(positionHeader)!
      t.match(position, /^[\w-]{56}$/)
      tokens.add(position)
      const administered = await ask(`/admin/v1/workspaces/${workspaceId}/ledger/${path}`, token)
      t.equal(administered.headers.get(positionHeader), String(lastSequence))
      t.equal((await fetch(`${edge.url}/v1/ledger/${path}`)).status, 401)
      t.notMatch(await response.text(), /"(sequence|log_sequence|event_index|sealed_by)"/, path)
    }
    t.equal(tokens.size, 8, 'of one position none is like another')
  },
)

t.test('a client reads what it has seen, at any edge, or is told that it cannot yet', async (t) => {
  const own = '/v1/ledger/holds'
  const position = (await ask(own, secret)).headers.get(positionHeader)!
  const other = await startEdge(t, { readModels: tables, frames: log, admins })
  t.equal((await ask(own, secret, position, other.url)).status, 200, 'another edge, or this one after a restart')
  let checked = 0
  const behind = await startEdge(t, {
    admins,
    frames: log,
    readModels: {
      ...tables,
      findCheckpoint: async () => {
        checked += 1
        return { sequence: checked < 3 ? 1 : lastSequence, value: null }
      },
    },
  })
  t.equal((await ask(own, secret, position, behind.url)).status, 200)
  t.equal(checked, 3, 'once the tables have come as far')
  const late = await startEdge(t, {
    admins,
    frames: log,
    readModels: { ...tables, findCheckpoint: async () => ({ sequence: 1, value: null }) },
  })
  const refused = await ask(own, secret, position, late.url)
  t.match({ status: refused.status, ...(await errorOf(refused)) }, { status: 503, code: 'read_models_unavailable' })
  t.equal(refused.headers.get('retry-after'), '1')
  const named = `/admin/v1/workspaces/${workspaceId}/ledger/holds`
  t.equal((await ask(named, token, '3')).status, 200)
  t.equal((await ask(named, token, '3', late.url)).status, 503)
})

t.test('a position that is changed, of another workspace, list or log, or no token is refused', async (t) => {
  const own = '/v1/ledger/holds'
  const position = (await ask(own, secret)).headers.get(positionHeader)!
  const { next_cursor: cursor } = await pageOf('statement?limit=1')
  const changed = [...position].map(
    (_, place) => position.slice(0, place) + (position[place] === 'A' ? 'B' : 'A') + position.slice(place + 1),
  )
  for (const text of [...changed, position.slice(0, -4), `${position}AAAA`, cursor!, '3', '{}'])
    t.equal((await ask(own, secret, text)).status, 400, text)
  t.equal((await ask(`/admin/v1/workspaces/${workspaceId}/ledger/holds`, token, position)).status, 400)
  const strange = new MemoryLog()
  await strange.append([opened(), keyIssued('key-1')])
  const elsewhere = await startEdge(t, { readModels: tables, frames: strange })
  t.equal((await ask(own, secret, position, elsewhere.url)).status, 400, 'another log')
  t.equal((await ask(`/v1/ledger/statement?cursor=${cursor}`, secret, '', elsewhere.url)).status, 400)
  const answer = await ask(own, secret, 'x')
  t.match(await errorOf(answer), { code: 'invalid_value', param: 'X-Gateway-Ledger-Sequence' })
  t.equal((await ask(`/v1/ledger/statement?cursor=${position}`, secret)).status, 400, 'a position is no cursor')
  const [one, same] = [await pageOf('charges?limit=1'), await pageOf('charges?limit=1')]
  t.not(one.next_cursor, same.next_cursor)
})

t.test('requests that have ended, failed ones included, by status, model and the provider’s own id', async (t) => {
  const all = await readAll('requests?limit=7')
  t.equal(all.length, 26)
  t.match(all[0], {
    ...{ id: 'request-failed', status: 502, reason: 'upstream_error', served_model: null, total: '0' },
    ...{ prompt_tokens: null, tags: {} },
  })
  t.match(all[1], { id: 'request-24', status: 200, reason: null, prompt_tokens: 120, output_tokens: 30 })
  t.notHas(all[0], 'sequence')
  t.same(await readAll('requests?status=failed'), [all[0]])
  t.same(await readAll('requests?reason=upstream_error'), [all[0]])
  t.equal((await readAll('requests?status=ok&limit=10')).length, 24)
  const [interrupted = {}] = await readAll('requests?status=interrupted')
  t.match(interrupted, { id: 'request-7', outcome: 'interrupted', status: 200, reason: null, output_tokens: 30 })
  t.same(await readAll('requests?status=failed,interrupted'), [all[0], interrupted])
  t.equal((await readAll('requests?model=openai/rare&limit=2')).length, 5)
  t.same(await readAll('requests?key=nobody'), [])
  t.same(await readAll('requests?upstream_request_id=req_%22named'), [all[0]])
  t.match(all[0], { attempts: [{ upstream_request_id: 'req_"named', provider: 'openai', deployment: null }] })
  t.equal((await readAll('requests?upstream_request_id=req_1')).length, 25)
  t.same(await readAll('requests?id=request-f&limit=3'), [all[0]], 'by what it begins with')
  t.same(await readAll('requests?id=request-f%E2%80%A6iled'), [all[0]], 'as it is shown in short')
  t.same(await readAll('requests?id=reques%E2%80%A6t-failed'), [], 'not by an end, with a beginning that many have')
  t.equal((await readAll('requests?id=request-1&limit=4')).length, 11, 'page by page')
  for (const id of [`chatcmpl-${answered}`, `msg_${answered.replaceAll('-', '')}`, 'resp_01a22000dead7000'])
    t.match(await readAll(`requests?id=${id}`), [{ id: answered }], 'by the id of its answer')
  t.same(await readAll(`requests?id=${(all[0] as { readonly id: string }).id}`), [all[0]])
})

t.test('what a client asks for wrongly is named', async (t) => {
  const place = Buffer.from(JSON.stringify(['statement', 1, 2 ** 31, 0])).toString('base64url')
  const { next_cursor: charges } = await pageOf('charges?limit=1')
  const { next_cursor: days } = await pageOf('usage?group_by=model&limit=1')
  const rows: readonly (readonly [path: string, param: string, code?: string])[] = [
    ['usage?form=2026-03-01', 'form', 'unsupported_parameter'],
    ['usage?from=yesterday', 'from'],
    ['usage?from=2026-02-30', 'from'],
    ['usage?to=2026-03-01T00:00:00Z', 'to'],
    ['usage?from=2026-03-02&to=2026-03-01', 'to'],
    ['usage?from=0000-01-01', 'from'],
    ['usage?from=', 'from'],
    ['usage?group_by=', 'group_by'],
    ['usage?group_by=day,week', 'group_by'],
    ['usage?group_by=day,day', 'group_by'],
    ['usage?surface=fax', 'surface'],
    ['usage?key=a%00b', 'key'],
    ['usage?model=', 'model'],
    ['usage?limit=0', 'limit'],
    ['usage?limit=1001', 'limit'],
    ['usage?limit=1e2', 'limit'],
    ['usage?limit=1&limit=2', 'limit'],
    ['usage?cursor=x', 'cursor'],
    [`usage?cursor=${charges}`, 'cursor'],
    [`usage?group_by=day&cursor=${days}`, 'cursor'],
    [`usage?group_by=model,key&cursor=${days}`, 'cursor'],
    ['statement?kind=gift', 'kind'],
    ['statement?from=2026-03-01T00:00', 'from'],
    ['statement?to=2026-03-01T25:00:00Z', 'to'],
    ['statement?from=2026-03-02&to=2026-03-01', 'to'],
    ['statement?from=2026-03-01T12:00:00Z&to=2026-03-01T12:00:00Z', 'to'],
    ['statement?to=9999-12-31', 'to'],
    ['charges?from=2026-03-02&to=2026-03-01', 'to'],
    [`statement?cursor=${place}`, 'cursor'],
    [`statement?cursor=${charges}`, 'cursor'],
    ['statement?cursor=W10', 'cursor'],
    ['holds?kind=task', 'kind', 'unsupported_parameter'],
    ['holds?cursor=WyJob2xkcyJd', 'cursor'],
    ['charges?cursor=%00', 'cursor'],
    [`requests?cursor=${charges}`, 'cursor'],
    ['requests?status=broken', 'status'],
    ['requests?reason=A%20B', 'reason'],
    ['requests?upstream_request_id=%20', 'upstream_request_id'],
    ['requests?from=2026-03-02&to=2026-03-01', 'to'],
    ['charges?status=ok', 'status', 'unsupported_parameter'],
    ['charges/request-1?verbose=1', 'verbose', 'unsupported_parameter'],
  ]
  for (const [path, param, code = 'invalid_value'] of rows) {
    const response = await get(path)
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 400, code, param }, path)
  }
})

t.test('usage, summed and read on', async (t) => {
  const { data } = await pageOf('usage?group_by=model&from=2026-03-01&to=2026-03-01')
  t.match(data, [
    { model: 'openai/gpt-4o-mini', requests: 20, total: '0.011', tokens: { prompt_total: 2_400, output_total: 600 } },
    { model: 'openai/rare', requests: 5, total: '0.00275' },
  ])
  t.same(await readAll('usage?group_by=model&limit=1'), (await pageOf('usage?group_by=model')).data)
  t.same((await pageOf('usage?from=2026-03-02')).data, [])
  t.match((await pageOf('usage?key=key-1&surface=chat&group_by=key,surface')).data, [
    { key: 'key-1', surface: 'chat', requests: 25 },
  ])
})

t.test('a statement over many pages, while movements come', async (t) => {
  const whole = await pageOf('statement?limit=1000')
  t.match(whole, {
    from: null,
    final: false,
    opening: { balance: '0', held: '0' },
    closing: { balance: '99.98625', held: '2.98625' },
    data: [{ kind: 'credit', amount: '100', at: '2026-03-01T00:00:02.000Z', reference: 'first' }, {}, {}],
  })
  const seen = await readAll('statement?limit=7', async (page) => {
    if (page !== 1) return
    await log.postToWallet(workspaceId, [credited('second', '1')])
    await project(log, projected.store, 500)
  })
  t.same(seen.slice(0, -1), whole.data)
  t.match(seen.at(-1), { kind: 'credit', reference: 'second', balance_after: '100.98625' })
  t.match(await readAll('statement?kind=excess&limit=2'), { length: 25 })
  const range = 'from=2026-03-01T00:00:05Z&to=2026-03-01T00:00:07.000Z'
  t.match(await pageOf(`statement?${range}`), { final: true, data: { length: 4 } })
  t.match(await pageOf(`charges?${range}`), { data: [{ id: 'request-3' }, { id: 'request-2' }] })
  const day = 'from=2026-03-01&to=2026-03-01'
  t.match(await pageOf(`statement?${day}`), { to: '2026-03-02T00:00:00.000Z', closing: { balance: '100.98625' } })
  t.match(await pageOf(`charges?${day}&limit=1000`), { data: { length: 25 } })
  t.match(await pageOf(`usage?${day}`), { data: [{ day: '2026-03-01', requests: 25 }] })
})

t.test('charges, newest first, and holds', async (t) => {
  const all = await readAll('charges?limit=4')
  t.same(
    all.map(({ id }) => id),
    Array.from({ length: 25 }, (_, place) => idOf(24 - place)),
  )
  t.match(all[0], { model: 'openai/gpt-4o-mini', prompt_tokens: 120, total: '0.00055', at: /^2026-03-01T.*Z$/ })
  t.match(await readAll('charges?model=openai/rare&limit=2'), { length: 5 })
  t.match(await readAll('holds?limit=1'), [
    { id: 'hold-1', amount: '2', remaining: '1.98625', deadline: '2026-03-01T01:00:00.000Z' },
    { id: 'hold-2', amount: '1' },
  ])
})

t.test('one charge explained; of another workspace there is none', async (t) => {
  t.match(await (await get('charges/request-3')).json(), {
    object: 'charge',
    id: 'request-3',
    state: 'charged',
    key: { id: 'key-1', name: 'key key-1' },
    plan: [{ price_version: 'v1' }],
    reservation: { reserved: '0.0005', beyond: '0.00005' },
    wallet: [{ kind: 'charge' }, { kind: 'excess' }],
  })
  t.match(await (await get('charges/request-failed')).json(), { state: 'failed', net: '0' })
  t.match(await (await get('charges/request-open')).json(), { state: 'open' })
  for (const id of ['request-of-beta', 'nobody', 'a%20b', 'x'.repeat(65)]) {
    const response = await get(`charges/${id}`)
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 404, code: 'not_found' }, id)
  }
})

t.test('a video task is charged as a request is', async (t) => {
  await log.postToWallet(workspaceId, [taskPlaced('task-1', { surface: 'native-video' }, workspaceId)])
  await log.append([taskSubmitted('task-1', 'vendor-1', workspaceId), taskSettled('task-1', { workspaceId })])
  await log.append([routed('request-last'), used('request-last')])
  await project(log, projected.store, 500)
  const { data } = await pageOf('charges?limit=2')
  t.match(data[0], { kind: 'request', id: 'request-last', surface: 'chat', level: 0 })
  t.same(data[1], {
    ...{ kind: 'task', id: 'task-1', at: data[1]?.['at'], key: 'key-1' },
    ...{ surface: 'native-video', model: 'vv/v3', provider: 'vv', level: null, price_version: 'v1' },
    ...{ tags: {}, end_user: null },
    ...{ source: 'reported', outcome: 'SUCCESS', prompt_tokens: null, output_tokens: null, total: '0.63' },
  })
  for (const query of ['surface=native-video', 'model=vv/v3', 'model=vv/v3&key=key-1', 'limit=1&surface=native-video'])
    t.same(await readAll(`charges?${query}`), [data[1]], query)
  t.same((await pageOf('charges?surface=video')).data, [])
  t.match(await (await get('charges/task-1')).json(), { kind: 'task', state: 'charged', net: '0.63' })
})

t.test('with the tables away: 503, and when to come again', async (t) => {
  const away = (): Promise<never> => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1'))
  const readModels: EdgeReadModels = {
    ...{ findBilling: away, listUsage: away, readStatement: away, listHolds: away, listCharges: away, findTrace: away },
    ...{ listRequests: away, listOutcomes: away, listRefusals: away, listCalls: away },
    ...{ findSheetSequence: away, findKey: away, findRequestFrames: away, listAdminChanges: away, readReport: away },
    ...{ findBalanceSnapshot: away, listTasks: away, listFindings: away, findCheckpoint: away },
    ...{ listUnfinished: away, readPeriodJournal: away, readInvoiced: away },
  }
  const { url } = await startEdge(t, { readModels })
  for (const path of ['usage', 'statement', 'holds', 'requests', 'outcomes', 'charges', 'charges/request-1']) {
    const response = await get(path, url)
    t.match(response.headers.get('retry-after'), /^[1-9][0-9]*$/)
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 503, code: 'read_models_unavailable' })
  }
  const halfAway = await startEdge(t, { readModels: { ...tables, findKey: away }, frames: log })
  t.match(await errorOf(await get('charges/request-1', halfAway.url)), { code: 'read_models_unavailable' })
})

t.test('with the log away: 503; no more of a workspace ask it at once, and the others wait', async (t) => {
  let reading = 0
  let most = 0
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {})
  const frames = {
    async *read(from: number): AsyncIterable<readonly RawFrame[]> {
      if (from === 1) yield* log.read(1, 1) // The key of positions.
      reading += 1
      most = Math.max(most, reading)
      yield await broken.promise.finally(() => {
        reading -= 1
      })
    },
  }
  const { url } = await startEdge(t, { readModels: tables, frames })
  const asked = Array.from({ length: 4 * explainsOfOneMax }, () => get('charges/request-1', url))
  await until(() => most === explainsOfOneMax)
  t.equal((await get('holds', url)).status, 200, 'others do not wait')
  t.equal(most, explainsOfOneMax)
  broken.reject(new Error('no answer'))
  for (const response of await Promise.all(asked))
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 503, code: 'log_unavailable' })
})

t.test('while the first frame cannot be read an answer has no position, and pages are 503', async (t) => {
  let isAway = true
  let reads = 0
  const frames: Pick<FrameSource, 'read'> = {
    async *read(from, to) {
      reads += 1
      if (isAway) throw new Error('away')
      yield* log.read(from, to)
    },
  }
  const { url } = await startEdge(t, { readModels: tables, frames })
  const answer = await get('holds', url)
  t.same([answer.status, answer.headers.get(positionHeader)], [200, null])
  t.match(await errorOf(await get('statement?limit=1', url)), { code: 'log_unavailable' })
  isAway = false
  t.match((await get('holds', url)).headers.get(positionHeader), /^[\w-]{56}$/)
  reads = 0
  await Promise.all(Array.from({ length: 10 }, () => get('statement?limit=1', url)))
  t.equal(reads, 0, 'it is read once')
})
