import t from 'tap'
import { checkCharges } from '../bills.ts'
import { until } from '../clients.ts'
import { startExternalServers } from '../external-servers.ts'
import { startTestGateway } from '../gateway.ts'
import { eventsOf, newVideo, pollVideo, submitVideo, videoOptions, walletFigures } from '../video.ts'

const quickly = { prompt: 'A cat. [[queue_ms=0;run_ms=0]]' }

t.test('with PostgreSQL stopped, tasks are taken, polled and settled', async (t) => {
  const { direct, postgres } = await startExternalServers(t)
  const running = await startTestGateway(t, videoOptions({}, { external: direct }))
  const { gateway, account, operator, sandbox } = running
  const poll = (taskId: string) => pollVideo(gateway.url, account.secret, taskId)
  await until(async () => (await poll('none')).status === 404)
  await postgres.stop()
  const open = await newVideo(gateway.url, account.secret, { prompt: 'A cat. [[never]]' })
  const done = await newVideo(gateway.url, account.secret, quickly)
  await until(async () => (await eventsOf(operator, 'TaskSettled')).length === 1)
  t.match(await poll(open), { status: 200, body: { data: { status: /SUBMITTED|IN_PROGRESS/ } } })
  await until(async () => (await poll(done)).body.data?.status === 'SUCCESS')
  t.match(await poll('task_00000000000000000000000000000000'), {
    status: 503,
    body: { code: 'read_models_unavailable' },
  })

  await postgres.start()
  await until(async () => (await poll('task_00000000000000000000000000000000')).status === 404)
  t.match((await poll(done)).body.data, { status: 'SUCCESS', usage: { cost: '0.42' } })
  sandbox.videos.end(open)
  await until(async () => (await poll(open)).body.data.status === 'SUCCESS')
  t.same(await walletFigures(operator, 'acme'), { balance: '99.16', held: '0', available: '99.16' })
  await checkCharges(t, running)
})

t.test('with NATS stopped nothing is taken that could be lost, and what was taken ends when it is back', async (t) => {
  const { direct, nats } = await startExternalServers(t)
  const running = await startTestGateway(t, videoOptions({}, { external: direct }))
  const { gateway, account, operator, sandbox } = running
  const open = await newVideo(gateway.url, account.secret, { prompt: 'A cat. [[never]]' })
  await until(() => sandbox.videos.find(open)?.vendorTaskIds.length === 1)
  await nats.stop('SIGKILL')
  const away = await submitVideo(gateway.url, account.secret, quickly)
  t.match(away, { status: 503, body: { error: { code: 'log_unavailable' }, code: 'log_unavailable', data: null } })
  t.ok(Number(away.headers.get('retry-after')) >= 1)
  sandbox.videos.end(open, '[[deduction=1]]')

  await nats.start()
  await until(async () => (await pollVideo(gateway.url, account.secret, open)).body.data.status === 'SUCCESS', 30_000)
  const again = await newVideo(gateway.url, account.secret, quickly)
  await until(async () => (await pollVideo(gateway.url, account.secret, again)).body.data.status === 'SUCCESS', 30_000)
  await until(async () => (await walletFigures(operator, 'acme')).held === '0', 30_000)
  const settled = await eventsOf(operator, 'TaskSettled')
  t.equal(new Set(settled.map(({ taskId }) => taskId)).size, settled.length, 'each task ended once')
  t.match(await walletFigures(operator, 'acme'), { balance: '99.44', held: '0' })
  await checkCharges(t, running)
})
