import OpenAI from 'openai'
import t from 'tap'
import { checkCharges } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { startTestGateway } from '../../support/gateway.ts'
import {
  newVideo,
  openKnownAccount,
  pollVideo,
  type VideoSurface,
  videoOptions,
  walletFigures,
} from '../../support/video.ts'

const running = await startTestGateway(t, videoOptions())
const { gateway, operator, sandbox, account } = running
const { url } = gateway
const secret = await openKnownAccount(operator, [url], 'films', '10')

t.test('with the SDK of OpenAI', async (t) => {
  const { videos } = new OpenAI({ baseURL: `${url}/v1`, apiKey: secret, maxRetries: 0 })
  const made = await videos.create({
    model: 'vv/v3',
    prompt: 'A cat. [[queue_ms=0;never]]',
    seconds: '8',
    size: '1280x720',
  })
  t.match(made, { object: 'video', model: 'vv/v3', status: 'queued', progress: 0, error: null })
  t.match(await walletFigures(operator, 'films'), { held: '0.672' })
  await until(async () => (await videos.retrieve(made.id)).status === 'in_progress')
  sandbox.videos.end(made.id)
  await until(async () => (await videos.retrieve(made.id)).status === 'completed')
  t.match(await videos.retrieve(made.id), { progress: 100, seconds: '8.1', error: null })
  const content = await videos.downloadContent(made.id)
  t.equal(content.headers.get('content-type'), 'video/mp4')
  t.match(await walletFigures(operator, 'films'), { balance: '9.328', held: '0' })
  const failing = await videos.create({ model: 'vv/v3', prompt: 'A cat. [[code=1301;message=Unsafe.]]' })
  await until(async () => (await videos.retrieve(failing.id)).status === 'failed')
  t.match(await videos.retrieve(failing.id), { error: { message: 'Unsafe.' } })
  const { videos: others } = new OpenAI({ baseURL: `${url}/v1`, apiKey: account.secret, maxRetries: 0 })
  await t.rejects(others.retrieve(made.id), /404/)
  t.match(await walletFigures(operator, 'films'), { balance: '9.328', held: '0' })
})

const surfaces: readonly VideoSurface[] = ['generic', 'native', 'openai']

/** Where each surface tells the status, and its words for one that runs, that has succeeded, and where the result is. */
const told = (
  surface: VideoSurface,
  body: ReturnType<JSON['parse']>,
): { status: string; result: string | undefined } => {
  if (surface === 'openai') return { status: body.status, result: body.metadata?.url }
  if (surface === 'generic') return { status: body.data.status, result: body.data.result_url }
  return { status: body.data.task_status, result: body.data.task_result?.videos[0].url }
}
const runs = { generic: 'IN_PROGRESS', native: 'processing', openai: 'in_progress' }
const succeeded = { generic: 'SUCCESS', native: 'succeed', openai: 'completed' }

for (const submitted of surfaces)
  t.test(`submitted on the ${submitted} surface, followed on all three`, async (t) => {
    const { balance } = await walletFigures(operator, 'films')
    const taskId = await newVideo(url, secret, { prompt: 'A cat. [[queue_ms=0;never]]', surface: submitted })
    const statuses = async () =>
      Object.fromEntries(
        await Promise.all(
          surfaces.map(async (polled) => {
            const { body } = await pollVideo(url, secret, taskId, polled)
            return [polled, told(polled, body).status] as const
          }),
        ),
      )
    t.match(await walletFigures(operator, 'films'), { balance, held: '0.42' })
    await until(async () => (await statuses())['generic'] === runs.generic)
    t.same(await statuses(), runs)
    sandbox.videos.end(taskId)
    await until(async () => (await statuses())['generic'] === succeeded.generic)
    t.same(await statuses(), succeeded)
    const results = await Promise.all(
      surfaces.map(async (polled) => told(polled, (await pollVideo(url, secret, taskId, polled)).body).result),
    )
    t.match(results[0], /^http:/)
    t.equal(new Set(results).size, 1)
    t.equal(sandbox.videos.find(taskId)?.vendorTaskIds.length, 1)
    for (const polled of surfaces) t.equal((await pollVideo(url, account.secret, taskId, polled)).status, 404)
  })

t.test('each was billed the same', async (t) => {
  t.same(await walletFigures(operator, 'films'), { balance: '8.068', held: '0', available: '8.068' })
  await checkCharges(t, running)
})
