import t from 'tap'
import { checkCharges } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { startTestGateway } from '../../support/gateway.ts'
import {
  eventsOf,
  newVideo,
  openKnownAccount,
  pollVideo,
  queuedItems,
  quick,
  submitVideo,
  videoOptions,
  walletFigures,
} from '../../support/video.ts'

t.test('NATS is killed while videos are made, and comes back', async (t) => {
  const { direct, nats } = await startExternalServers(t)
  const bounds = { videoPoller: { ...quick.videoPoller, taskHoldWaitMs: 2_000 } }
  const running = await startTestGateway(t, { ...videoOptions({}, { external: direct }), bounds })
  const { gateway, operator, sandbox } = running
  const { url } = gateway
  const secret = await openKnownAccount(operator, [url], 'films', '10')
  const open = [
    await newVideo(url, secret, { prompt: 'A cat. [[queue_ms=0;never]]' }),
    await newVideo(url, secret, { prompt: 'A cat. [[never;delay_ms=2000]]' }),
  ]
  await until(() => open.every((taskId) => sandbox.videos.find(taskId)?.vendorTaskIds.length === 1))

  await nats.stop('SIGKILL')
  const submits = [{}, { external_task_id: 'shot 1' }, {}].map((more) =>
    submitVideo(url, secret, { prompt: 'A dog. [[never]]', more }),
  )
  for (const { status, headers, body } of await Promise.all(submits)) {
    t.match([status, body.code], [503, 'log_unavailable'])
    t.ok(Number(headers.get('retry-after')) >= 1)
  }
  t.equal((await pollVideo(url, secret, open[0]!)).status, 200)
  sandbox.videos.end(open[0]!)

  await nats.start()
  sandbox.videos.end(open[1]!)
  for (const taskId of open)
    await until(async () => (await pollVideo(url, secret, taskId)).body.data.status === 'SUCCESS')
  const again = await newVideo(url, secret, {
    prompt: 'A dog. [[queue_ms=0;run_ms=0]]',
    more: { external_task_id: 'shot 1' },
  })
  const isBack = (): Promise<boolean> =>
    operator.caughtUp().then(
      () => true,
      () => false,
    )
  await until(isBack) // The test's own connection is one of those that were lost.
  await until(async () => (await walletFigures(operator, 'films')).held === '0')
  await until(async () => (await queuedItems(nats, 'GATEWAY')) === 0)
  t.same(await walletFigures(operator, 'films'), { balance: '8.74', held: '0', available: '8.74' })
  t.equal(sandbox.videos.totals().made, 3, 'each was made once')
  const settled = (await eventsOf(operator, 'TaskSettled')).map(({ taskId }) => taskId)
  t.same(new Set(settled), new Set([...open, again]))
  await checkCharges(t, running)
})
