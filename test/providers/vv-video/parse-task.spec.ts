import t from 'tap'
import { vendorLimits } from '../../../src/providers/vv-video/limits.ts'
import type { VendorStatus } from '../../../src/providers/vv-video/vendor.ts'
import { envelope, never, open, taskId, vendorTaskId } from './scripted.ts'

const asked = async (data: unknown): Promise<VendorStatus> => {
  const { http, vendor } = open()
  http.answer = { body: envelope(data) }
  return vendor.find('text2video', taskId, never)
}

const task = (more: object): object => ({
  task_id: vendorTaskId,
  task_info: { external_task_id: taskId },
  created_at: 1,
  updated_at: 2,
  ...more,
})

const verdictOf = async (more: object) => {
  const told = await asked(task(more))
  if (told.type !== 'ended') throw new Error(`not ended: ${told.type}`)
  return told.verdict
}

t.test('state words', async (t) => {
  const words: readonly (readonly [unknown, string | null])[] = [
    ['submitted', 'SUBMITTED'],
    ['processing', 'IN_PROGRESS'],
    ['Processing', 'IN_PROGRESS'],
    ['rendering', null],
    ['constructor', null],
    ['', null],
    [undefined, null],
    [7, null],
  ]
  for (const [task_status, status] of words)
    t.strictSame(await asked(task({ task_status })), { type: 'open', vendorTaskId, status }, String(task_status))
  for (const task_status of ['succeed', 'succeeded', 'SUCCEED'])
    t.equal((await verdictOf({ task_status })).outcome, 'SUCCESS')
  t.equal((await verdictOf({ task_status: 'failed' })).outcome, 'FAILURE')
})

t.test('a success', async (t) => {
  const videos = [
    { id: 'v1', url: 'https://cdn.example/1.mp4?e=1', watermark_url: 'https://cdn.example/w.mp4', duration: '5.1' },
    { url: 'http://cdn.example/2.mp4' },
  ]
  t.strictSame(await verdictOf({ task_status: 'succeed', final_unit_deduction: '4.5', task_result: { videos } }), {
    outcome: 'SUCCESS',
    vendorTaskId,
    deduction: '4.5',
    failReason: null,
    vendorCode: null,
    results: [
      { id: 'v1', url: videos[0]?.url, watermarkUrl: videos[0]?.watermark_url, duration: '5.1' },
      { id: '2', url: 'http://cdn.example/2.mp4' },
    ],
  })
})

t.test('a failure', async (t) => {
  t.strictSame(await verdictOf({ task_status: 'failed', task_status_msg: `Unsafe, see ${vendorTaskId}.` }), {
    outcome: 'FAILURE',
    vendorTaskId,
    deduction: null,
    failReason: 'Unsafe, see [redacted].',
    vendorCode: null,
    results: [],
  })
  t.equal((await verdictOf({ task_status: 'failed' })).failReason, 'The video vendor gave no reason.')
  const { failReason } = await verdictOf({ task_status: 'failed', task_status_msg: '10.0.0.1 '.repeat(1_000) })
  t.ok((failReason?.length ?? 0) <= 2_000)
})

t.test('the deduction as it was written', async (t) => {
  const { http, vendor } = open()
  const written: readonly (readonly [string, string | null])[] = [
    ['"3"', '3'],
    ['"4.50"', '4.50'],
    ['"4,5"', '4,5'],
    ['"-1"', '-1'],
    ['" 3 "', ' 3 '],
    ['4.5', '4.5'],
    ['4.50', '4.50'],
    ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    ['1e3', '1e3'],
    ['-2', '-2'],
    ['null', null],
    ['""', null],
    ['true', null],
    ['{"amount":"3"}', null],
    ['["3"]', null],
    [JSON.stringify(`1.${'0'.repeat(100)}`), `1.${'0'.repeat(100)}`],
    // A piece of a number would be another number.
    [JSON.stringify(`${'0'.repeat(200)}5`), `${'0'.repeat(127)}…`],
  ]
  for (const [text, deduction] of written) {
    const data = `{"task_id":"${vendorTaskId}","task_status":"succeed","final_unit_deduction": ${text}}`
    http.answer = { body: `{"code":0,"message":"","data":${data}}` }
    t.match(await vendor.query('text2video', vendorTaskId, never), { type: 'ended', verdict: { deduction } }, text)
  }
  t.equal((await verdictOf({ task_status: 'succeed' })).deduction, null)
})

t.test('numbers in place of texts lose no digit', async (t) => {
  const { http, vendor } = open()
  http.answer = {
    body: '{"code":"0","data":{"task_id":831234567890123457,"task_status":"succeed","task_result":{"videos":[{"url":"https://a.example/b","duration":5.10}]}}}',
  }
  t.match(await vendor.query('text2video', '831234567890123457', never), {
    type: 'ended',
    verdict: { vendorTaskId: '831234567890123457', results: [{ duration: '5.10' }] },
  })
  const deep = '['.repeat(50_000)
  http.answer = { body: `{"code":0,"data":{"task_id":1,"x":${deep}${']'.repeat(50_000)}}}` }
  t.match(await vendor.query('text2video', '1', never), { type: 'unknown' })
})

t.test('results are bounded, and only what can be fetched', async (t) => {
  const long = `https://cdn.example/${'x'.repeat(vendorLimits.videoUrlCharactersMax)}`
  const urls = ['ftp://a.example/b', 'javascript:alert(1)', 'nonsense', '', null, 5, long, 'https://cdn.example/a']
  const videos = [...urls.map((url) => ({ id: 'v'.repeat(500), url, duration: 'd'.repeat(99) })), 'video', null]
  const { results } = await verdictOf({ task_status: 'succeed', task_result: { videos } })
  t.strictSame(results, [{ id: 'v'.repeat(256), url: 'https://cdn.example/a', duration: 'd'.repeat(32) }])
  const many = Array.from({ length: 1_000 }, () => ({ url: 'https://cdn.example/a' }))
  t.equal((await verdictOf({ task_status: 'succeed', task_result: { videos: many } })).results.length, 16)
  for (const task_result of [null, 5, { videos: null }, { videos: {} }])
    t.strictSame((await verdictOf({ task_status: 'succeed', task_result })).results, [])
})

t.test('an answer about another task is nobody’s', async (t) => {
  const other = `task_${'b'.repeat(32)}`
  const unknown = { type: 'unknown', reason: 'another_task' }
  const succeed = { task_id: vendorTaskId, task_status: 'succeed' }
  t.strictSame(await asked({ ...succeed, task_info: { external_task_id: other } }), unknown)
  t.strictSame(await asked({ ...succeed, external_task_id: other }), unknown)
  for (const task_info of [undefined, null, {}, { external_task_id: '' }, { external_task_id: null }])
    t.equal((await asked({ ...succeed, task_info })).type, 'ended')
  const { http, vendor } = open()
  http.answer = { body: envelope({ ...succeed, task_id: '999' }) }
  t.strictSame(await vendor.query('text2video', vendorTaskId, never), unknown)
})
