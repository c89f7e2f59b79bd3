import t from 'tap'
import { HttpFault } from '../../../src/providers/http.ts'
import { vendorLimits } from '../../../src/providers/vv-video/limits.ts'
import type { SubmittedTask, VendorStatus } from '../../../src/providers/vv-video/vendor.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { envelope, fault, never, nowMs, open, payload, type Scripted, taskId, vendorTaskId } from './scripted.ts'

/** `busy` for every task, `put off` for this one. */
const wordOf = (answer: SubmittedTask | VendorStatus): string =>
  answer.type === 'busy' && answer.scope === 'task' ? 'put off' : answer.type

/** status, code, what a submit is told, what a query is told. */
const table: readonly (readonly [number, number, string, string])[] = [
  [401, 1000, 'busy', 'busy'],
  [401, 1001, 'busy', 'busy'],
  [401, 1002, 'busy', 'busy'],
  [401, 1003, 'busy', 'busy'],
  [401, 1004, 'busy', 'busy'],
  [429, 1100, 'busy', 'busy'],
  [429, 1101, 'busy', 'busy'],
  [429, 1102, 'busy', 'busy'],
  [403, 1103, 'refused', 'unknown'],
  [400, 1200, 'refused', 'unknown'],
  [400, 1201, 'refused', 'unknown'],
  [404, 1202, 'refused', 'not_found'],
  [404, 1203, 'refused', 'not_found'],
  [400, 1300, 'refused', 'unknown'],
  [400, 1301, 'refused', 'unknown'],
  [429, 1302, 'busy', 'busy'],
  [429, 1303, 'busy', 'busy'],
  [429, 1304, 'busy', 'busy'],
  [500, 5000, 'unknown', 'put off'],
  [503, 5001, 'unknown', 'put off'],
  [504, 5002, 'unknown', 'put off'],
  // The code says more than the status…
  [200, 1302, 'busy', 'busy'],
  [200, 1201, 'refused', 'unknown'],
  [200, 5000, 'unknown', 'put off'],
  [400, 1101, 'busy', 'busy'],
  // …but behind a 5xx nobody can tell what was done.
  [500, 1201, 'unknown', 'put off'],
  [503, 1302, 'unknown', 'put off'],
  // Codes that the table does not know.
  [400, 1999, 'refused', 'unknown'],
  [422, 7, 'refused', 'unknown'],
  [401, 7, 'busy', 'busy'],
  [403, 7, 'put off', 'put off'],
  [408, 7, 'put off', 'put off'],
  [429, 7, 'busy', 'busy'],
  [404, 7, 'refused', 'not_found'],
  [409, 7, 'unknown', 'unknown'],
  [200, 7, 'unknown', 'unknown'],
  [302, 7, 'unknown', 'unknown'],
  [400, 0, 'unknown', 'unknown'],
]

t.test('the code table, by submit, by query and by look-up', async (t) => {
  for (const [status, code, submitted, told] of table) {
    const { http, vendor } = open()
    http.answer = { status, body: fault(code) }
    t.equal(wordOf(await vendor.submit(payload, never)), submitted, `submit: ${status} ${code}`)
    t.equal(wordOf(await vendor.query('text2video', vendorTaskId, never)), told, `query: ${status} ${code}`)
    t.equal(wordOf(await vendor.find('text2video', taskId, never)), told, `find: ${status} ${code}`)
  }
})

const pages: readonly (readonly [string, Scripted, string, string])[] = [
  ['a page', { body: '<html>' }, 'unknown', 'unknown'],
  ['a page with 404', { status: 404, body: '<html>' }, 'unknown', 'unknown'],
  ['a page with 400', { status: 400, body: '<html>' }, 'unknown', 'unknown'],
  ['a page with 502', { status: 502, body: '<html>' }, 'unknown', 'unknown'],
  ['a page with 429', { status: 429, body: '<html>' }, 'busy', 'busy'],
  ['a page with 401', { status: 401, body: '' }, 'busy', 'busy'],
  ['a page with 403', { status: 403, body: '<html>' }, 'put off', 'put off'],
  ['a page with 408', { status: 408, body: '' }, 'put off', 'put off'],
  ['a page with 425', { status: 425, body: '' }, 'put off', 'put off'],
  ['a page with 503', { status: 503, body: '' }, 'unknown', 'unknown'],
  ['a page with 413', { status: 413, body: '<html>' }, 'refused', 'unknown'],
  ['nothing', { body: '' }, 'unknown', 'unknown'],
  ['a list', { body: [] }, 'unknown', 'unknown'],
  ['no code', { body: { data: { task_id: vendorTaskId } } }, 'unknown', 'unknown'],
  ['a code that is none', { body: { code: 'success', data: { task_id: vendorTaskId } } }, 'unknown', 'unknown'],
  ['no data', { body: envelope(null) }, 'unknown', 'unknown'],
  ['no task id', { body: envelope({ task_status: 'submitted' }) }, 'unknown', 'unknown'],
  ['an id that is a path', { body: envelope({ task_id: '../1', task_status: 'failed' }) }, 'unknown', 'unknown'],
  ['a body that breaks off', { body: envelope({ task_id: vendorTaskId }), breaks: 'in_body' }, 'unknown', 'unknown'],
  ['a rate limit that breaks off', { status: 429, body: fault(1302), breaks: 'in_body' }, 'busy', 'busy'],
  ['a connection that breaks', { breaks: 'before_head' }, 'unknown', 'unknown'],
  ['silence', { fault: new HttpFault('timeout') }, 'unknown', 'unknown'],
  [
    'too much',
    { body: `{"code":0,"message":"${'x'.repeat(vendorLimits.videoAnswerBytesMax)}"}` },
    'unknown',
    'unknown',
  ],
]

t.test('what is no answer of the vendor', async (t) => {
  for (const [name, answer, submitted, told] of pages) {
    const { http, vendor } = open()
    http.answer = answer
    t.equal(wordOf(await vendor.submit(payload, never)), submitted, `submit: ${name}`)
    t.equal(wordOf(await vendor.query('text2video', vendorTaskId, never)), told, `query: ${name}`)
    t.equal(wordOf(await vendor.find('text2video', taskId, never)), told, `find: ${name}`)
  }
})

t.test('the reason names what was said', async (t) => {
  const { http, vendor } = open()
  const reasons: readonly (readonly [Scripted, string])[] = [
    [{ status: 429, body: fault(1101) }, 'account_in_arrears 1101'],
    [{ status: 503, body: fault(5001) }, 'http_503 5001'],
    [{ status: 502, body: '<html>' }, 'http_502 no_envelope'],
    [{ fault: new HttpFault('timeout') }, 'timeout'],
    [{ body: 'x'.repeat(vendorLimits.videoAnswerBytesMax + 1) }, 'http_200 answer_too_large'],
    [{ body: envelope({}) }, 'no_task_id'],
  ]
  for (const [answer, reason] of reasons) {
    http.answer = answer
    t.match(await vendor.submit(payload, never), { reason })
  }
})

t.test('Retry-After: seconds, a date, nothing, nonsense, too long', async (t) => {
  const { http, vendor } = open()
  const headers: readonly (readonly [string | null, number | null])[] = [
    ['7', 7_000],
    ['0.5', 500],
    [new Date(nowMs + 90_000).toUTCString(), 90_000],
    [new Date(nowMs - 90_000).toUTCString(), 0],
    [null, null],
    ['soon', null],
    ['999999', sharedLimits.upstreamRetryAfterSecondsMax * 1_000],
  ]
  for (const [header, retryAfterMs] of headers) {
    http.answer = { status: 429, body: fault(1302), headers: header === null ? {} : { 'retry-after': header } }
    const busy = { type: 'busy', scope: 'account', retryAfterMs, reason: 'rate_limited 1302' } as const
    t.strictSame(await vendor.submit(payload, never), busy)
    t.strictSame(await vendor.query('text2video', vendorTaskId, never), busy)
  }
})

t.test('a refusal tells the vendor’s words, and nothing of our account there', async (t) => {
  const pair = { type: 'pair', accessKey: 'AK0123456789', secretKey: 'SK9876543210' } as const
  const { http, vendor } = open(pair)
  await vendor.submit(payload, never)
  const token = http.last.headers['authorization']?.slice('Bearer '.length)
  const leaks = [pair.accessKey, pair.secretKey, 'api.vendor.example', 'request-1', token, 'https://x.example/y?z=1']
  http.answer = { status: 400, body: fault(1201, `mode is wrong: ${leaks.join(' ')}`) }
  const refused = await vendor.submit(payload, never)
  if (refused.type !== 'refused') return t.fail(refused.type)
  t.equal(refused.code, 1201)
  t.match(refused.message, /^mode is wrong: /)
  for (const leak of leaks) t.notOk(refused.message.includes(String(leak)), String(leak))
})

t.test('a refusal without words, and one with too many', async (t) => {
  const { http, vendor } = open()
  http.answer = { status: 400, body: { code: 1300 } }
  t.strictSame(await vendor.submit(payload, never), {
    type: 'refused',
    message: 'The video vendor refused the request.',
    code: 1300,
  })
  http.answer = { status: 400, body: fault(1301, '10.0.0.1 '.repeat(1_000)) }
  const refused = await vendor.submit(payload, never)
  t.ok(refused.type === 'refused' && refused.message.length <= sharedLimits.upstreamMessageCharactersMax)
})

t.test('an id that is taken is no fault of the request: the task may be ours', async (t) => {
  const { http, vendor } = open()
  for (const message of ['external_task_id already exists', 'Duplicate external task ID', 'externalTaskId is used']) {
    http.answer = { status: 400, body: fault(1201, message) }
    t.strictSame(await vendor.submit(payload, never), {
      type: 'unknown',
      reason: 'external_id_taken parameters_refused 1201',
    })
  }
})

t.test('some say of an id that they do not know that it is no valid parameter', async (t) => {
  const { http, vendor } = open()
  for (const message of ['Task not found', 'task_id does not exist', 'the task could not be found']) {
    http.answer = { status: 400, body: fault(1201, message) }
    t.strictSame(await vendor.find('text2video', taskId, never), { type: 'not_found' })
    t.strictSame(await vendor.query('text2video', vendorTaskId, never), { type: 'not_found' })
  }
})

t.test('given up by the caller', async (t) => {
  const { http, vendor } = open()
  http.answer = { fault: new HttpFault('aborted') }
  const gone = AbortSignal.abort()
  t.strictSame(await vendor.submit(payload, gone), { type: 'unknown', reason: 'aborted' })
  t.ok(http.last.signal.aborted)
  t.strictSame(await vendor.submit(payload, never), { type: 'unknown', reason: 'timeout' })
})
