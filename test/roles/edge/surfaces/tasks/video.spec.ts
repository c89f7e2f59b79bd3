import { hash } from 'node:crypto'
import t from 'tap'
import { errorOf } from '../../edge-fixture.ts'
import {
  bodyOf,
  otherSecret,
  plainBody,
  plainNative,
  progressedFact,
  settledFact,
  startVideoEdge,
  submitted,
  submittedFact,
} from '../../video-fixture.ts'

const generations = '/v1/video/generations'
const native = '/vv/v1/videos/text2video'
const taskIdPattern = /^task_[A-Za-z0-9]{32}$/

t.test('a submit is queued with its payload and its hold, on every surface', async (t) => {
  const edge = await startVideoEdge(t)
  const rows: readonly [string, object, object, string][] = [
    [generations, plainBody, { object: 'video', model: 'vv/v3', status: 'queued', progress: '0%' }, 'video'],
    ['/v1/videos', plainBody, { object: 'video', model: 'vv/v3', status: 'queued', progress: 0 }, 'video'],
    [native, plainNative, { code: 0, status: 'queued', data: { task_status: 'submitted' } }, 'native-video'],
    [native, plainBody, { code: 0, message: 'SUCCEED' }, 'native-video'],
  ]
  for (const [path, body, expected, surface] of rows) {
    const response = await edge.post(body, {}, path)
    const answer = await bodyOf(response)
    t.match({ status: response.status, ...answer }, { ...expected, id: taskIdPattern }, path)
    t.equal(answer['id'], answer['task_id'])
    const taskId = String(answer['id'])
    t.match(edge.payloadOf(taskId), {
      taskId,
      workspaceId: 'acme',
      kind: 'text2video',
      provider: 'vv',
      upstreamModel: 'vendor-v3',
      body: { prompt: 'A cat.', mode: 'std', duration: '5', sound: 'off' },
      callbackUrl: null,
    })
    t.match(edge.holds().at(-1)?.data, {
      holdId: taskId,
      purpose: 'task',
      amount: '0.42',
      task: { keyId: 'key-1', surface, model: 'vv/v3', unitPrice: '0.14', unitsMax: '3', priceVersion: 'v1' },
    })
    t.equal(edge.holds().at(-1)?.data.task?.payloadDigest, hash('sha256', edge.queued.get(taskId) ?? ''))
  }
  t.equal(edge.availableUsd(), '98.32')
  t.notMatch(JSON.stringify(edge.log.events), /A cat/, 'no prompt is in the log')
})

t.test('the kind follows from the fields, or from the path; members lie in metadata or beside it', async (t) => {
  const { post, payloadOf } = await startVideoEdge(t)
  const image = 'https://x.example/a.png'
  const lists = { image_list: [{ image_url: image, unknown: 1 }] }
  const rows: readonly [string, string, object, object][] = [
    ['text', generations, { metadata: null, image: '' }, { kind: 'text2video' }],
    ['a first frame', generations, { image }, { kind: 'image2video', body: { image } }],
    ['a last frame', generations, { metadata: { image_tail: image } }, { kind: 'image2video' }],
    [
      'many images',
      generations,
      { model: 'vv/v3-omni', metadata: lists },
      { kind: 'omni-video', body: { image_list: [{ image_url: image }], mode: 'pro' } },
    ],
    [
      'metadata as text',
      generations,
      { metadata: '{"mode":"4K","duration":7}' },
      { body: { mode: '4k', duration: '7' } },
    ],
    [
      'metadata counts first',
      generations,
      { mode: 'pro', duration: 10, seconds: '7', metadata: { mode: 'STD', prompt: 'A dog.' } },
      { body: { mode: 'std', duration: '10', prompt: 'A dog.' } },
    ],
    ['seconds', generations, { seconds: '8' }, { body: { duration: '8' } }],
    ['a size', generations, { size: '1024x1792' }, { body: { aspect_ratio: '9:16' } }],
    ['one of images', generations, { images: [image] }, { kind: 'image2video', body: { image } }],
    ['a reference', generations, { input_reference: image }, { kind: 'image2video', body: { image } }],
    ['a reference of OpenAI’s', '/v1/videos', { input_reference: { image_url: image } }, { body: { image } }],
    [
      'beside metadata',
      generations,
      { cfg_scale: 0.4, negative_prompt: 'Dogs', aspect_ratio: '1:1', sound: 'on' },
      { body: { cfg_scale: 0.4, negative_prompt: 'Dogs', aspect_ratio: '1:1', sound: 'on' } },
    ],
    ['native with frames', '/vv/v1/videos/image2video', { image, image_tail: image }, { kind: 'image2video' }],
    ['native omni without images', '/vv/v1/videos/omni-video', { model: 'vv/v3-omni' }, { kind: 'omni-video' }],
    [
      'native shots',
      native,
      { multi_shot: true, prompt: '', multi_prompt: [{ index: 1, prompt: 'x', duration: 5 }] },
      { body: { multi_prompt: [{ index: 1, prompt: 'x', duration: '5' }], shot_type: 'customize' } },
    ],
  ]
  for (const [what, path, own, expected] of rows) {
    const response = await post({ ...plainBody, ...own }, {}, path)
    const answer = await bodyOf(response)
    t.equal(response.status, 200, `${what}: ${JSON.stringify(answer)}`)
    t.match(payloadOf(String(answer['id'])), expected, what)
  }
})

t.test('a model in metadata changes neither what is made nor its price', async (t) => {
  const edge = await startVideoEdge(t)
  const metadata = { model: 'vv/v2-5-turbo', model_name: 'vv/v2-5-turbo', mode: '4k' }
  const taskId = await submitted(edge, { ...plainBody, metadata })
  t.match(edge.payloadOf(taskId), { upstreamModel: 'vendor-v3' })
  t.notMatch(JSON.stringify(edge.payloadOf(taskId)), /turbo/)
  t.match(edge.holds().at(-1)?.data, { amount: '2.1', task: { model: 'vv/v3', unitsMax: '15' } })
})

t.test('a task is polled in every state, on every surface', async (t) => {
  const edge = await startVideoEdge(t)
  const taskId = await submitted(edge, { ...plainBody, metadata: { external_task_id: 'mine 1/2' } })
  const see = async (status: string, progress: string, word: string, openai: string) => {
    const generic = await bodyOf(await edge.get(`${generations}/${taskId}`))
    t.match(generic, { code: 'success', message: '', data: { task_id: taskId, status, progress, model: 'vv/v3' } })
    for (const path of ['text2video', 'image2video', 'omni-video']) {
      const answer = await bodyOf(await edge.get(`/vv/v1/videos/${path}/${taskId}`))
      const data = { task_id: taskId, task_status: word, task_info: { external_task_id: 'mine 1/2' } }
      t.match(answer, { code: 0, message: 'SUCCEED', request_id: String, id: taskId, task_id: taskId, status, data })
    }
    const named = await bodyOf(await edge.get(`${native}/${encodeURIComponent('mine 1/2')}`))
    t.match(named, { id: taskId }, 'the vendor’s surface takes the caller’s own id too')
    t.match(await bodyOf(await edge.get(`/v1/videos/${taskId}`)), { id: taskId, object: 'video', status: openai })
  }
  const download = (): Promise<Response> => edge.get(`/v1/videos/${taskId}/content`)
  await see('SUBMITTED', '10%', 'submitted', 'queued')
  await edge.tell(submittedFact(taskId))
  await see('SUBMITTED', '10%', 'submitted', 'queued')
  await edge.tell(progressedFact(taskId, 42))
  await see('IN_PROGRESS', '42%', 'processing', 'in_progress')
  t.match({ status: (await download()).status }, { status: 404 })
  await edge.tell(settledFact(edge.openTask(taskId)))
  await see('SUCCESS', '100%', 'succeed', 'completed')
  t.equal(edge.availableUsd(), '99.65', 'two and a half units were charged, and the rest came back')
  const result = await download()
  t.match(
    { status: result.status, to: result.headers.get('location') },
    { status: 302, to: 'https://cdn.example/a.mp4?sig=%2Fx' },
  )
  t.equal((await edge.get(`/v1/videos/${taskId}/content?variant=thumbnail`)).status, 400)
})

t.test('a failure and an expiry are told with their reason, and cost nothing', async (t) => {
  const edge = await startVideoEdge(t)
  const [failed, expired] = [await submitted(edge), await submitted(edge)]
  await edge.tell(
    settledFact(edge.openTask(failed), { outcome: 'FAILURE', failReason: 'Policy.', vendorCode: 1301, results: [] }),
    { type: 'HoldReleased', data: { holdId: expired, workspaceId: 'acme', reason: 'expired' } },
  )
  t.match(await bodyOf(await edge.get(`${generations}/${failed}`)), {
    data: { status: 'FAILURE', progress: '100%', fail_reason: 'Policy.' },
  })
  t.match(await bodyOf(await edge.get(`${native}/${expired}`)), {
    data: { task_status: 'failed', task_status_msg: /deadline/ },
  })
  t.match(await bodyOf(await edge.get(`/v1/videos/${failed}`)), { status: 'failed', error: { message: 'Policy.' } })
  t.equal(edge.availableUsd(), '100')
})

t.test('an id of the caller’s names one task: the same again is the same, otherwise it is refused', async (t) => {
  const edge = await startVideoEdge(t)
  const asked = { ...plainBody, metadata: { external_task_id: 'mine', callback_url: 'https://x.example/hook' } }
  const asNative = { ...plainNative, duration: 5, external_task_id: 'mine', callback_url: 'https://x.example/hook' }
  const answers = await Promise.all([asked, asked, asked].map((body) => edge.post(body, {}, generations).then(bodyOf)))
  const [first] = answers
  for (const answer of answers) t.same(answer, first)
  t.match(await bodyOf(await edge.post(asNative, {}, native)), { id: first?.['id'] }, 'whichever surface it comes by')
  const others: readonly [object, string, string][] = [
    [{ ...asked, prompt: 'A dog.' }, generations, 'metadata.external_task_id'],
    [
      { ...asked, metadata: { ...asked.metadata, callback_url: 'https://y.example' } },
      generations,
      'metadata.external_task_id',
    ],
    [{ ...asNative, mode: 'pro' }, native, 'external_task_id'],
  ]
  for (const [body, path, param] of others) {
    const response = await edge.post(body, {}, path)
    t.match(
      { status: response.status, ...(await errorOf(response)) },
      { status: 409, code: 'external_task_id_conflict', param },
    )
  }
  t.equal(edge.holds().length, 1)
  await edge.tell(settledFact(edge.openTask(String(first?.['id']))))
  t.same(await bodyOf(await edge.post(asked, {}, generations)), first, 'also when it has ended')
  t.equal(edge.holds().length, 1)
  t.equal(edge.availableUsd(), '99.65')
})

t.test('a repeat is the same task for ever, whatever became of its model, its alias and its rules', async (t) => {
  const aliases: Record<string, string> = { film: 'vv/v3', clip: 'vv/v3' }
  const providers = new Map([['vv', { models: {} }]])
  const edge = await startVideoEdge(t, { catalog: { aliases, providers } })
  const callback_url = 'https://x.example/hook'
  const asked = [
    { model: 'film', prompt: 'A cat.', metadata: { external_task_id: 'moved' } },
    { model: 'clip', prompt: 'A cat.', metadata: { external_task_id: 'gone', callback_url } },
    { model: 'vv/v3', prompt: 'A cat.', metadata: { external_task_id: 'withdrawn', sound: 'on', mode: 'pro' } },
  ]
  const submit = (body: object) => edge.post(body, {}, generations)
  const first = await Promise.all(asked.map((body) => submit(body).then(bodyOf)))
  for (const answer of first) t.match(answer, { id: taskIdPattern, model: 'vv/v3' })
  aliases['film'] = 'vv/v2-6'
  delete aliases['clip']
  t.same(await bodyOf(await submit(asked[0]!)), first[0], 'an alias that leads elsewhere')
  t.equal(edge.holds().length, 3)
  providers.delete('vv')
  for (const [index, body] of asked.entries()) t.same(await bodyOf(await submit(body)), first[index], 'no such model')
  t.match(
    await bodyOf(await edge.post({ ...asked[2], model: 'vv/v3', ...asked[2]!.metadata }, {}, native)),
    { id: first[2]?.['id'] },
    'by the other surface',
  )
  t.equal((await submit({ ...asked[0], prompt: 'A dog.' })).status, 409)
  t.equal((await submit({ ...asked[0], metadata: { external_task_id: 'new' } })).status, 404, 'a new one is looked at')
  t.equal(edge.holds().length, 3)
})

t.test('what a request leaves open is the same task as what it says', async (t) => {
  const edge = await startVideoEdge(t)
  const own = { external_task_id: 'mine' }
  const defaults = { ...own, mode: 'std', duration: '5', sound: 'off', aspect_ratio: '16:9' }
  const bodies = [own, defaults, { ...own, duration: 5 }].map((metadata) => ({
    model: 'vv/v2-5-turbo',
    prompt: 'x',
    metadata,
  }))
  const ids = new Set<string>()
  for (const body of bodies) ids.add(await submitted(edge, body))
  t.equal(ids.size, 1)
  t.notOk('sound' in edge.payloadOf([...ids][0]!).body, 'the vendor is told what the caller said')
})

t.test('a task of another workspace, and one that never was, are not there', async (t) => {
  const edge = await startVideoEdge(t)
  const taskId = await submitted(edge, { ...plainBody, metadata: { external_task_id: 'mine' } })
  const texts = new Set<string>()
  for (const [id, key] of [
    [taskId, otherSecret],
    ['mine', otherSecret],
    [`task_${'x'.repeat(32)}`, undefined],
    ['nobody', undefined],
    ['%ff', undefined],
  ] as const)
    for (const path of [generations, native, '/v1/videos']) {
      const response = await edge.get(`${path}/${id}`, key)
      const error = await errorOf(response)
      t.match({ status: response.status, ...error }, { status: 404, code: 'task_not_exist' }, `${path}/${id}`)
      texts.add(error.message)
    }
  t.equal(texts.size, 1, 'nothing tells the one from the other')
})

t.test('the native surface lists the tasks of a kind, newest first', async (t) => {
  const edge = await startVideoEdge(t)
  const ids = [await submitted(edge), await submitted(edge), await submitted(edge)]
  await submitted(edge, { ...plainBody, image: 'https://x.example/a.png' })
  await edge.tell(settledFact(edge.openTask(ids[0]!)))
  const listed = async (query: string): Promise<unknown> =>
    ((await bodyOf(await edge.get(`${native}${query}`)))['data'] as { task_id: string }[]).map((each) => each.task_id)
  t.same(await listed(''), ids.toReversed())
  t.same(await listed('?pageNum=2&pageSize=2'), [ids[0]])
  t.same(await listed('?pageNum=1000&pageSize=500'), [])
  for (const [query, param] of [
    ['?pageNum=0', 'pageNum'],
    ['?pageNum=1001', 'pageNum'],
    ['?pageSize=501', 'pageSize'],
    ['?pageSize=x', 'pageSize'],
    ['?pageSize=1&pageSize=2', 'pageSize'],
  ] as const) {
    const response = await edge.get(`${native}${query}`)
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 400, param }, query)
  }
})

t.test('a call back goes to whom the caller named, and nowhere into the log', async (t) => {
  const edge = await startVideoEdge(t)
  const url = 'https://x.example/hook?token=geheim'
  const taskId = await submitted(edge, { ...plainBody, metadata: { callback_url: url } })
  t.equal(edge.payloadOf(taskId).callbackUrl, url)
  t.notOk('callback_url' in edge.payloadOf(taskId).body, 'the vendor is not told')
  t.notMatch(JSON.stringify(edge.log.events), /geheim/)
})

t.test('where nobody calls back, that is said', async (t) => {
  const edge = await startVideoEdge(t, { callbacks: false })
  const response = await edge.post({ ...plainBody, metadata: { callback_url: 'https://x.example' } }, {}, generations)
  const expected = { status: 400, code: 'unsupported_parameter', param: 'metadata.callback_url' }
  t.match({ status: response.status, ...(await errorOf(response)) }, expected)
  t.equal(edge.queued.size, 0)
})

t.test('tasks are polled while the log takes nothing', async (t) => {
  const edge = await startVideoEdge(t)
  const taskId = await submitted(edge)
  edge.log.stall(Date.now() - 3_000)
  void edge.log.append([]).catch(() => undefined)
  const refused = await edge.post(plainBody, {}, generations)
  t.match({ status: refused.status, ...(await errorOf(refused)) }, { status: 503, code: 'log_unavailable' })
  t.equal((await edge.get(`${generations}/${taskId}`)).status, 200)
  t.equal(edge.queued.size, 1, 'nothing more was queued')
  edge.log.resume()
})
