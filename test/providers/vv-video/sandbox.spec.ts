import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { type Sandbox, sandboxVideoKey, startSandbox } from '../../../sandbox/server.ts'
import { UndiciClient } from '../../../src/adapters/http/client.ts'
import type { TaskPayload } from '../../../src/domain/video/request.ts'
import { openVideoVendor } from '../../../src/providers/vv-video/open-video-vendor.ts'
import { isExpired } from '../../../src/providers/vv-video/signed-url.ts'
import type { VendorCredential, VideoVendor } from '../../../src/providers/vv-video/vendor.ts'
import { until } from '../../sandbox/ask.ts'
import { never, payload, taskId } from './scripted.ts'

const pair = { type: 'pair', accessKey: sandboxVideoKey, secretKey: sandboxVideoKey } as const
const timeoutMs = 2_000

interface Account {
  readonly sandbox: Sandbox
  readonly vendor: VideoVendor
  readonly clock: { nowMs: number }
}

const openAccount = async (t: Test, credential: VendorCredential = pair, waitMs = timeoutMs): Promise<Account> => {
  const clock = { nowMs: Date.parse('2026-11-21T12:00:00Z') }
  const read = () => clock.nowMs
  const sandbox = await startSandbox({ clock: read, newId: randomUUID })
  const http = new UndiciClient()
  t.teardown(async () => {
    await http.stop()
    await sandbox.stop()
  })
  const config = { name: 'vv', baseUrl: sandbox.url, credential, callsPerSecond: 10 }
  return {
    sandbox,
    clock,
    vendor: openVideoVendor({ config, http, clock: read, submitMs: waitMs, queryMs: waitMs }),
  }
}

const asking = (prompt: string): TaskPayload => ({ ...payload, body: { ...payload.body, prompt } })
const atOnce = '[[queue_ms=0;run_ms=0]]'

t.test('a task from its submit to its verdict, with either credential', async (t) => {
  for (const credential of [pair, { type: 'key', apiKey: sandboxVideoKey } as const]) {
    const { sandbox, vendor, clock } = await openAccount(t, credential)
    const submitted = await vendor.submit(payload, never)
    if (submitted.type !== 'accepted') return t.fail(JSON.stringify(submitted))
    const { vendorTaskId } = submitted
    const told = () => vendor.query('text2video', vendorTaskId, never)
    t.strictSame(await told(), { type: 'open', vendorTaskId, status: 'SUBMITTED' })
    clock.nowMs += 300
    t.strictSame(await told(), { type: 'open', vendorTaskId, status: 'IN_PROGRESS' })
    clock.nowMs += 2_000
    const verdict = { outcome: 'SUCCESS', vendorTaskId, deduction: '3', failReason: null, vendorCode: null }
    const ended = await told()
    t.match(ended, { type: 'ended', verdict: { ...verdict, results: [{ duration: '5.1' }] } })
    t.match(await vendor.find('text2video', taskId, never), { type: 'ended', verdict })
    t.match(sandbox.videos.totals(), { made: 1, submits: 1, callbacksAsked: 0 })
    const url = ended.type === 'ended' ? String(ended.verdict.results[0]?.url) : ''
    t.equal((await fetch(url)).status, 200)
    t.notOk(isExpired(url, clock.nowMs + 3_599_000))
    t.ok(isExpired(url, clock.nowMs + 3_601_000))
  }
})

t.test('credentials that are none', async (t) => {
  const wrong: readonly (readonly [VendorCredential, string])[] = [
    [{ type: 'key', apiKey: 'other' }, 'credentials_refused 1000'],
    [{ ...pair, accessKey: 'other' }, 'credentials_refused 1002'],
    [{ ...pair, secretKey: 'other' }, 'credentials_refused 1002'],
  ]
  for (const [credential, reason] of wrong) {
    const { vendor } = await openAccount(t, credential)
    t.strictSame(await vendor.submit(payload, never), { type: 'busy', scope: 'account', retryAfterMs: null, reason })
  }
})

t.test('a token is renewed in time', async (t) => {
  const { vendor, clock } = await openAccount(t)
  await vendor.submit(asking('[[never]]'), never)
  for (let minutes = 0; minutes < 90; minutes += 1) {
    clock.nowMs += 60_000
    const told = await vendor.find('text2video', taskId, never)
    if (told.type !== 'open') return t.fail(JSON.stringify(told))
  }
})

t.test('lost answers: unknown, and found by our id', async (t) => {
  const lost = ['break;done', 'break_body', 'status=500;done', 'not_json;done', 'html;done', 'empty;done', 'other_task']
  for (const directives of lost) {
    const { sandbox, vendor } = await openAccount(t)
    const doubtful = asking(`[[${directives};first=1]]`)
    t.equal((await vendor.submit(doubtful, never)).type, 'unknown', directives)
    t.match(await vendor.submit(doubtful, never), { type: 'unknown', reason: /^external_id_taken/ })
    t.match(await vendor.find('text2video', taskId, never), { type: 'open', status: 'SUBMITTED' })
    t.match(sandbox.videos.find(taskId), { submits: 2, vendorTaskIds: [/\d/] })
  }
})

t.test('nothing made: not found by our id, and taken at last', async (t) => {
  for (const directives of ['break', 'status=503', 'html', 'code=1302', 'code=1303', 'code=1101', 'code=1004']) {
    const { vendor } = await openAccount(t)
    const doubtful = asking(`[[${directives};first=1]]`)
    const type = /code/.test(directives) ? 'busy' : 'unknown'
    t.equal((await vendor.submit(doubtful, never)).type, type, directives)
    t.strictSame(await vendor.find('text2video', taskId, never), { type: 'not_found' })
    t.equal((await vendor.submit(doubtful, never)).type, 'accepted')
  }
})

t.test('refusals', async (t) => {
  for (const code of [1200, 1201, 1300, 1301]) {
    const { sandbox, vendor } = await openAccount(t)
    const { host } = new URL(sandbox.url)
    const refused = await vendor.submit(asking(`[[code=${code};message=It is not allowed.;leak=See]]`), never)
    t.match(refused, { type: 'refused', code, message: /^It is not allowed/ })
    t.notMatch(JSON.stringify(refused), host)
    t.notMatch(JSON.stringify(refused), /org-Sandbox|API key sandbox/)
  }
  const { vendor } = await openAccount(t)
  const body = { ...payload.body, mode: '4k', sound: 'on' } as const
  t.match(await vendor.submit({ ...payload, upstreamModel: 'vendor-v2-6', body }, never), {
    type: 'refused',
    code: 1201,
  })
})

t.test('silence and slow bodies end with the time-out', async (t) => {
  const cases: readonly (readonly [string, number])[] = [
    ['hang', 0],
    ['hang;done', 1],
    ['trickle_ms=20', 1],
    ['delay_ms=5000', 1],
  ]
  for (const [directives, made] of cases) {
    const { sandbox, vendor } = await openAccount(t, pair, 300)
    t.match(await vendor.submit(asking(`[[${directives}]]`), never), { type: 'unknown', reason: /timeout$/ })
    t.equal(sandbox.videos.totals().made, made)
    await until(() => sandbox.calls().at(-1)?.outcome === 'cancelled')
  }
})

t.test('too large a body, from a submit and from a query', async (t) => {
  const { sandbox, vendor } = await openAccount(t)
  const large = { type: 'unknown', reason: 'http_200 answer_too_large' }
  t.strictSame(await vendor.submit(asking('[[oversize_bytes=50000000;on=any;first=2]]'), never), large)
  t.strictSame(await vendor.find('text2video', taskId, never), large)
  t.equal((await vendor.find('text2video', taskId, never)).type, 'open')
  t.equal(sandbox.calls().length, 3)
})

t.test('the caller gives a call up', async (t) => {
  const { sandbox, vendor } = await openAccount(t)
  const gone = new AbortController()
  const submitted = vendor.submit(asking('[[hang]]'), gone.signal)
  await until(() => sandbox.calls().length === 1)
  gone.abort()
  t.strictSame(await submitted, { type: 'unknown', reason: 'aborted' })
})

t.test('a vendor that is not there', async (t) => {
  const { sandbox, vendor } = await openAccount(t)
  await sandbox.stop()
  t.strictSame(await vendor.submit(payload, never), { type: 'unknown', reason: 'network' })
  t.strictSame(await vendor.find('text2video', taskId, never), { type: 'unknown', reason: 'network' })
})

t.test('queries in trouble', async (t) => {
  const { vendor } = await openAccount(t)
  const faults = ['code=1302;retry_after=2', 'status=500', 'break', 'html', 'empty', 'other_task', 'code=1203']
  const blocks = faults.map((fault) => `[[on=query;first=1;${fault}]]`).join('')
  const submitted = await vendor.submit(asking(`${atOnce}${blocks}`), never)
  if (submitted.type !== 'accepted') return t.fail(JSON.stringify(submitted))
  const told: unknown[] = []
  for (const _ of faults) told.push(await vendor.query('text2video', submitted.vendorTaskId, never))
  t.match(told, [
    { type: 'busy', retryAfterMs: 2_000 },
    { type: 'busy' },
    { type: 'unknown', reason: 'network' },
    { type: 'unknown', reason: 'http_200 no_envelope' },
    { type: 'unknown', reason: 'no_task' },
    { type: 'unknown', reason: 'another_task' },
    { type: 'not_found' },
  ])
  t.equal((await vendor.query('text2video', submitted.vendorTaskId, never)).type, 'ended')
})

t.test('verdicts as they are told', async (t) => {
  const cases: readonly (readonly [string, object])[] = [
    ['succeeded', { outcome: 'SUCCESS', deduction: '3' }],
    ['no_deduction', { outcome: 'SUCCESS', deduction: null }],
    ['deduction=4.5', { deduction: '4.5' }],
    ['deduction=4,5', { deduction: '4,5' }],
    ['deduction_number=4.50', { deduction: '4.50' }],
    ['deduction=100000', { deduction: '100000' }],
    ['failed;fail_message=Unsafe.', { outcome: 'FAILURE', failReason: 'Unsafe.', results: [] }],
    ['videos=0', { outcome: 'SUCCESS', results: [] }],
  ]
  for (const [directives, verdict] of cases) {
    const { vendor } = await openAccount(t)
    await vendor.submit(asking(`[[queue_ms=0;run_ms=0;${directives}]]`), never)
    t.match(await vendor.find('text2video', taskId, never), { type: 'ended', verdict }, directives)
  }
  const { vendor } = await openAccount(t)
  await vendor.submit(asking('[[queue_ms=0;state=rendering]]'), never)
  t.match(await vendor.find('text2video', taskId, never), { type: 'open', status: null })
})
