import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { surfaceLimits } from '../../../../../src/roles/edge/surfaces/limits.ts'
import { cpuMsSince } from '../../../../support/cpu-time.ts'
import { errorOf, secret } from '../../edge-fixture.ts'
import { png } from '../../images.ts'
import { bodyOf, progressedFact, settledFact, startVideoEdge } from '../../video-fixture.ts'

/** What the SDK makes of a refusal; nothing where there was none. */
const refusalOf = (asked: Promise<unknown>): Promise<object> =>
  asked.then(
    () => ({}),
    (fault: object) => fault,
  )

const clientOf = (url: string): OpenAI => new OpenAI({ baseURL: `${url}/v1`, apiKey: secret, maxRetries: 0 })

t.test('a video is made, followed and found', async (t) => {
  const edge = await startVideoEdge(t)
  const { videos } = clientOf(edge.url)
  const made = await videos.create({ model: 'vv/v3', prompt: 'A cat.', seconds: '8', size: '720x1280' })
  t.match(made, { object: 'video', model: 'vv/v3', status: 'queued', progress: 0, error: null })
  t.match(edge.payloadOf(made.id), { kind: 'text2video', body: { duration: '8', aspect_ratio: '9:16' } })
  await edge.tell(progressedFact(made.id, 60))
  t.match(await videos.retrieve(made.id), { status: 'in_progress', progress: 60, completed_at: null })
  await edge.tell(settledFact(edge.openTask(made.id)))
  t.match(await videos.retrieve(made.id), { status: 'completed', progress: 100, seconds: '5.1', completed_at: Number })
})

t.test('a reference travels as a file, as a URL, and as a data URL', async (t) => {
  const edge = await startVideoEdge(t)
  const { videos } = clientOf(edge.url)
  const image = png(1_280, 720)
  const asked = { model: 'vv/v3', prompt: 'A cat.' }
  const file = await toFile(Buffer.from(image, 'base64'), 'a.png', { type: 'image/png' })
  for (const [input_reference, expected] of [
    [file, image],
    [{ image_url: 'https://x.example/a.png' }, 'https://x.example/a.png'],
    [{ image_url: `data:image/png;base64,${image}` }, image],
  ] as const) {
    const { id } = await videos.create({ ...asked, input_reference })
    t.match(edge.payloadOf(id), { kind: 'image2video', body: { image: expected } })
  }
  const refusal = await refusalOf(videos.create({ ...asked, input_reference: { file_id: 'file-1' } }))
  t.match(refusal, { status: 400, param: 'input_reference.file_id' })
})

t.test('what the SDK does not know goes along, nested or as text', async (t) => {
  const edge = await startVideoEdge(t)
  const { videos } = clientOf(edge.url)
  const extended = (own: object) => videos.create({ model: 'vv/v3', prompt: 'A cat.', ...own })
  const nested = await extended({ metadata: { mode: 'pro', sound: 'on', cfg_scale: 0.3 } })
  t.match(edge.payloadOf(nested.id).body, { mode: 'pro', sound: 'on', cfg_scale: 0.3 })
  const text = await extended({ metadata: JSON.stringify({ watermark_info: { enabled: true } }) })
  t.match(edge.payloadOf(text.id).body, { watermark_info: { enabled: true } })
  t.match(await refusalOf(extended({ metadata: { image_list: [{ image_url: 'https://x.example' }] } })), {
    status: 400,
  })
})

t.test('errors are those that the SDK knows', async (t) => {
  const edge = await startVideoEdge(t, { creditUsd: '0.1' })
  const { videos } = clientOf(edge.url)
  t.match(await refusalOf(videos.retrieve('task_unknown')), { status: 404, code: 'task_not_exist' })
  t.match(await refusalOf(videos.create({ model: 'vv/v3', prompt: 'x' })), {
    status: 402,
    code: 'insufficient_user_quota',
  })
  t.match(await refusalOf(videos.create({ model: 'vv/v3', prompt: '' })), { status: 400, param: 'prompt' })
})

t.test('a form that is none', async (t) => {
  const { post } = await startVideoEdge(t)
  const type = { 'content-type': 'multipart/form-data; boundary=x' }
  for (const body of ['', 'hello', '--x\r\n', '--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nvv/v3'])
    t.equal((await post(body, type, '/v1/videos')).status, 400, JSON.stringify(body))
})

const formType = { 'content-type': 'multipart/form-data; boundary="the-end-of-a-part"' }
type Part = readonly [name: string, value: string]

/** A form as a client writes it; members whose names a FormData would escape go along as they are. */
const formOf = (parts: readonly Part[]): string =>
  `${parts.map(([name, value]) => `--the-end-of-a-part\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join('')}--the-end-of-a-part--\r\n`

const asked: readonly Part[] = [
  ['model', 'vv/v3'],
  ['prompt', 'A cat.'],
]
const membersOf = (count: number): readonly Part[] =>
  Array.from({ length: count }, (_, n) => [`a[m${n}]`, '1'] as const)

/** Of the CPU time that a form of one part takes, which is as long. Parsing these parts takes some 15 times that. */
const refusalTimesMax = 3

t.test('a form has as many parts as a video has use for', async (t) => {
  const edge = await startVideoEdge(t)
  const post = (form: string) => edge.post(form, formType, '/v1/videos')
  const refusalMsOf = async (form: string, message: RegExp): Promise<number> => {
    const started = process.threadCpuUsage()
    const response = await post(form)
    const error = await errorOf(response)
    const ms = cpuMsSince(started)
    t.match({ status: response.status, ...error }, { status: 400, message })
    return ms
  }
  for (const count of [surfaceLimits.formPartsMax - asked.length + 1, 10_000])
    await refusalMsOf(formOf([...asked, ...membersOf(count)]), /more than 256 parts/)
  const many = formOf([...asked, ...membersOf(200_000)])
  const oneMs = await refusalMsOf(formOf([...asked, ['a[b][c]', 'x'.repeat(many.length)]]), /nests too deep/)
  const manyMs = await refusalMsOf(many, /more than 256 parts/)
  t.ok(manyMs < refusalTimesMax * oneMs, `refused before they are parsed: ${manyMs} ms, one part ${oneMs} ms`)
  t.equal((await post(formOf([...asked, ...membersOf(surfaceLimits.formPartsMax - asked.length)]))).status, 200)
})

t.test('parts are counted while a form arrives, wherever its pieces are cut', async (t) => {
  const edge = await startVideoEdge(t)
  const text = formOf(membersOf(surfaceLimits.formPartsMax + 1))
  const pieces = text.match(/.{1,7}/gs) ?? []
  const body = new ReadableStream({
    start: (stream) => {
      for (const piece of pieces) stream.enqueue(Buffer.from(piece)) // And never ends.
    },
  })
  const headers = { authorization: `Bearer ${secret}`, ...formType }
  const response = await fetch(`${edge.url}/v1/videos`, { method: 'POST', headers, body, duplex: 'half' })
  t.match(await errorOf(response), { message: /more than 256 parts/ })
})

t.test('members of a form come together under their name, whatever it is', async (t) => {
  const edge = await startVideoEdge(t)
  const post = async (...parts: Part[]) => edge.post(formOf([...asked, ...parts]), formType, '/v1/videos')
  const idOf = async (response: Response): Promise<string> => {
    const answer = await bodyOf(response)
    t.equal(response.status, 200, JSON.stringify(answer))
    return String(answer['id'])
  }
  const one = await post(['metadata[mode]', 'pro'], ['images[]', 'https://x.example/a.png'], ['metadata[sound]', 'on'])
  t.match(edge.payloadOf(await idOf(one)), { body: { mode: 'pro', sound: 'on', image: 'https://x.example/a.png' } })
  const odd = await post(
    ['__proto__[mode]', 'pro'],
    ['metadata[__proto__]', 'x'],
    ['__proto__', 'y'],
    ['constructor[a]', '1'],
  )
  t.match(edge.payloadOf(await idOf(odd)), { kind: 'text2video', body: { mode: 'std' } })
  t.match(await errorOf(await post(['images[]', 'https://x.example/a.png'], ['images[]', 'x'])), { param: 'images' })
})

t.test('a message shows the first of a long name', async (t) => {
  const edge = await startVideoEdge(t)
  const name = 'x'.repeat(1_000_000)
  for (const part of [`a[${name}][b]`, `${name}"; filename="a.png`]) {
    const text = await (await edge.post(formOf([...asked, [part, '1']]), formType, '/v1/videos')).text()
    t.match(text, /"code":"invalid_value"/)
    t.ok(text.length < 2_000, `${text.length} characters`)
  }
})
