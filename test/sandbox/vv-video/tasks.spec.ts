import t from 'tap'
import { problemsOfMade, problemsOfTask, problemsOfVendorError } from '../../reference/vv-video-contract.ts'
import { get, jwt, post, textBody, videoSandboxFor } from './ask-video.ts'

t.test('a task from its submit to its video', async (t) => {
  const { sandbox, clock } = await videoSandboxFor(t)
  const made = await post(sandbox, textBody('A cat.', { external_task_id: 'mine', watermark_info: { enabled: true } }))
  t.equal(made.status, 200)
  t.strictSame(problemsOfMade(made.body), [])
  const id = made.body.data.task_id
  t.match(made.body, {
    code: 0,
    message: 'SUCCEED',
    data: { task_status: 'submitted', task_info: { external_task_id: 'mine' }, created_at: clock.nowMs },
  })
  const states: string[] = []
  for (const passedMs of [0, 299, 1, 1_999, 1]) {
    clock.nowMs += passedMs
    const told = await get(sandbox, `text2video/${id}`)
    t.strictSame(problemsOfTask(told.body), [])
    states.push(told.body.data.task_status)
  }
  t.strictSame(states, ['submitted', 'submitted', 'processing', 'processing', 'succeed'])
  const byOurs = await get(sandbox, 'text2video/mine')
  t.match(byOurs.body.data, {
    task_id: id,
    task_status: 'succeed',
    final_unit_deduction: '3',
    task_result: { videos: [{ duration: '5.1' }] },
    updated_at: clock.nowMs,
  })
  const [video] = byOurs.body.data.task_result.videos
  for (const url of [video.url, video.watermark_url]) {
    const file = await fetch(url)
    t.equal(file.headers.get('content-type'), 'video/mp4')
    t.equal(Buffer.from(await file.arrayBuffer()).toString('latin1', 4, 12), 'ftypisom')
  }
  t.strictSame(sandbox.videos.find('mine'), {
    externalTaskId: 'mine',
    vendorTaskIds: [id],
    submits: 1,
    queries: 6,
    status: 'succeed',
    units: '3',
  })
})

t.test('an address expires, and a query signs anew', async (t) => {
  const { sandbox, clock } = await videoSandboxFor(t)
  await post(sandbox, textBody('[[queue_ms=0;run_ms=0;url_ms=60000]]', { external_task_id: 'mine' }))
  const address = async (): Promise<string> =>
    (await get(sandbox, 'text2video/mine')).body.data.task_result.videos[0].url
  const first = await address()
  t.equal((await fetch(first)).status, 200)
  t.equal((await fetch(first.replace('expires=', 'expires=9'))).status, 403)
  clock.nowMs += 60_000
  t.equal((await fetch(first)).status, 403)
  t.equal((await fetch(await address())).status, 200)
})

t.test('an external id names one task', async (t) => {
  const { sandbox } = await videoSandboxFor(t)
  const submit = (prompt = 'A cat.') => post(sandbox, textBody(prompt, { external_task_id: 'mine' }))
  const first = await submit()
  const second = await submit()
  t.match([second.status, second.body], [400, { code: 1201, message: 'external_task_id mine already exists' }])
  t.match(sandbox.videos.find('mine'), { vendorTaskIds: [first.body.data.task_id], submits: 2 })
  t.match(sandbox.videos.totals(), { submits: 2, made: 1 })
  sandbox.videos.direct('[[not_unique]]')
  t.equal((await submit()).status, 200)
  t.match(sandbox.videos.totals(), { submits: 3, made: 2 })
  t.equal((await get(sandbox, 'text2video/mine')).body.data.task_id, first.body.data.task_id)
})

t.test('what is not there', async (t) => {
  const { sandbox } = await videoSandboxFor(t)
  await post(sandbox, textBody('A cat.', { external_task_id: 'mine' }))
  for (const path of ['text2video/other', 'omni-video/mine']) {
    const told = await get(sandbox, path)
    t.match([told.status, told.body.code], [404, 1203])
    t.strictSame(problemsOfVendorError(told.body), [])
  }
  t.equal((await fetch(`${sandbox.url}/videos/other`)).status, 404)
})

t.test('the list, newest first', async (t) => {
  const { sandbox } = await videoSandboxFor(t)
  for (const external_task_id of ['a', 'b', 'c']) await post(sandbox, textBody('A cat.', { external_task_id }))
  const ids = async (query: string): Promise<readonly string[]> =>
    (await get(sandbox, `text2video${query}`)).body.data.map((task: { task_info: { external_task_id: string } }) =>
      String(task.task_info.external_task_id),
    )
  t.strictSame(await ids(''), ['c', 'b', 'a'])
  t.strictSame(await ids('?pageNum=2&pageSize=2'), ['a'])
  t.strictSame((await get(sandbox, 'omni-video')).body.data, [])
  t.equal((await get(sandbox, 'text2video?pageSize=501')).body.code, 1201)
})

t.test('authorisation', async (t) => {
  const { sandbox, clock } = await videoSandboxFor(t)
  const now = clock.nowMs / 1_000
  const claims = { iss: 'sandbox', exp: now + 1_800, nbf: now - 5 }
  const cases: readonly (readonly [string, number, number])[] = [
    ['Bearer sandbox', 200, 0],
    [jwt(claims), 200, 0],
    ['', 401, 1001],
    ['Basic sandbox', 401, 1002],
    ['Bearer other', 401, 1000],
    [jwt(claims, 'other'), 401, 1002],
    [jwt({ ...claims, iss: 'other' }), 401, 1002],
    [jwt(claims, 'sandbox', { alg: 'none' }), 401, 1000],
    [jwt({ ...claims, exp: now }), 401, 1004],
    [jwt({ ...claims, nbf: now + 1 }), 401, 1003],
    [jwt({ iss: 'sandbox' }), 401, 1002],
  ]
  for (const [authorization, status, code] of cases) {
    const { status: told, body } = await post(sandbox, textBody(), 'text2video', authorization)
    t.strictSame([told, body.code], [status, code], authorization)
  }
  t.equal((await get(sandbox, 'text2video', 'Bearer other')).body.code, 1000)
  t.equal(sandbox.videos.totals().made, 2)
})

t.test('calls are recorded, counted, and forgotten', async (t) => {
  const { sandbox, clock } = await videoSandboxFor(t)
  for (let index = 0; index < 5; index += 1) await get(sandbox, 'text2video/none')
  clock.nowMs += 1_000
  await post(sandbox, textBody('A cat.', { callback_url: 'https://caller.example/' }))
  t.match(sandbox.videos.totals(), { callsPerSecondMax: 5, queries: 5, submits: 1, callbacksAsked: 1, open: 1 })
  const last = sandbox.calls().at(-1)
  t.match(last, { path: '/v1/videos/text2video', status: 200, outcome: 'completed', upstreamModel: 'vendor-v3' })
  t.match(last?.headers, { authorization: 'Bearer ***' })
  sandbox.reset()
  t.match(sandbox.videos.totals(), { submits: 0, made: 0, queries: 0, open: 0, callsPerSecondMax: 0 })
  t.strictSame(sandbox.videos.all(), [])
})
