import t from 'tap'
import { requireTables } from '../../../src/cli/platform.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import { checkCharges } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { startTestGateway } from '../../support/gateway.ts'
import { newVideo, openKnownAccount, pollVideo, submitVideo, videoOptions, walletFigures } from '../../support/video.ts'

t.test('videos are submitted, polled and settled while PostgreSQL is stopped', async (t) => {
  const { direct, postgres } = await startExternalServers(t)
  const running = await startTestGateway(t, videoOptions({}, { external: direct }))
  const { gateway, operator, sandbox } = running
  const secret = await openKnownAccount(operator, [gateway.url], 'films', '10')
  const statusOf = async (taskId: string): Promise<string> =>
    (await pollVideo(gateway.url, secret, taskId)).body.data.status
  const before = await newVideo(gateway.url, secret, { prompt: 'A cat. [[queue_ms=0;never]]' })
  await until(async () => (await statusOf(before)) === 'IN_PROGRESS')

  await postgres.stop()
  t.equal(await statusOf(before), 'IN_PROGRESS')
  const named = { prompt: 'A cat. [[queue_ms=0;never]]', more: { external_task_id: 'shot 1' } }
  const during = await newVideo(gateway.url, secret, named)
  t.equal(await newVideo(gateway.url, secret, named), during, 'the caller’s own id is known without the tables')
  await until(async () => (await statusOf(during)) === 'IN_PROGRESS')
  t.match(await walletFigures(operator, 'films'), { balance: '10', held: '0.84' })
  for (const taskId of [before, during]) sandbox.videos.end(taskId)
  for (const taskId of [before, during]) await until(async () => (await statusOf(taskId)) === 'SUCCESS')
  t.same(await walletFigures(operator, 'films'), { balance: '9.16', held: '0', available: '9.16' })
  const unknown = await pollVideo(gateway.url, secret, `task_${'x'.repeat(32)}`)
  t.match([unknown.status, unknown.body.code], [503, 'read_models_unavailable'], 'nobody is told that it never was')

  await postgres.start()
  const { database, place } = requireTables(operator.platform)
  await until(async () => (await database.checkpoint().catch(() => 0)) === (await operator.log.lastSequence()))
  t.same(
    (await database.readModels().listTasks('films', { limit: 10 })).value.map(({ taskId, total }) => [taskId, total]),
    [
      [during, '0.42'],
      [before, '0.42'],
    ],
  )
  t.match(await submitVideo(gateway.url, secret, named), { status: 200, body: { task_id: during } })
  await checkCharges(t, running)
  t.ok((await rebuildReadModels({ log: operator.log, place, swap: false })).equal)
})
