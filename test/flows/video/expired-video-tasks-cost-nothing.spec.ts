import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { sandboxVideoKey, startSandbox } from '../../../sandbox/server.ts'
import { startRole } from '../../../src/cli/gateway.ts'
import { requireTables } from '../../../src/cli/platform.ts'
import { parseUsd } from '../../../src/domain/money.ts'
import { selectLateVerdicts } from '../../../src/projections/tasks/late-verdicts.ts'
import { LossyProxy } from '../../adapters/nats/lossy-proxy.ts'
import { checkCharges } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { runtime } from '../../support/gateway.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import {
  eventsOf,
  newVideo,
  openKnownAccount,
  plainUsd,
  pollVideo,
  quick,
  usdTimes,
  videoOptions,
  walletFigures,
} from '../../support/video.ts'

/** Of the edge where a task is given little time. */
const taskDeadlineMs = 4_000

const { direct } = await startExternalServers(t)
const sandbox = await startSandbox(runtime)
t.teardown(() => sandbox.stop())
const vendorWire = await LossyProxy.create(sandbox.port)
t.teardown(() => vendorWire.close())
const vendor = {
  name: 'vv',
  baseUrl: `${vendorWire.url.replace('nats:', 'http:')}/v1`,
  credential: { type: 'key', apiKey: sandboxVideoKey },
  callsPerSecond: 1_000,
} as const
const running = await startRolesTogether(t, {
  external: direct,
  counts: { proxy: 0 },
  ...videoOptions({}, { videoVendors: [vendor] }),
})
const { operator, config } = running
const patient = running.urls[0]!
const hurried = await startRole(
  'edge',
  { ...config, taskDeadlineMs },
  runtime,
  (fault) => void t.fail(fault.message),
  quick,
)
t.teardown(() => hurried.stop())
const hurry = hurried.url!

const madeOf = (taskId: string): number => sandbox.videos.find(taskId)?.vendorTaskIds.length ?? 0

const statusOf = async (secret: string, taskId: string): Promise<string> =>
  (await pollVideo(patient, secret, taskId)).body.data.status

t.test('a vendor that is away for longer than a lease: nothing is lost, nothing is made twice', async (t) => {
  const secret = await openKnownAccount(operator, [patient], 'away', '10')
  const make = (directives: string): Promise<string> => newVideo(patient, secret, { prompt: `A cat. ${directives}` })
  const running = [await make('[[never]]'), await make('[[queue_ms=0;never]]')]
  await until(() => running.every((taskId) => madeOf(taskId) === 1))
  const unheard = await make('[[never;hang;done;first=1]]')
  await until(() => madeOf(unheard) === 1)
  vendorWire.refuse()
  vendorWire.cut()
  const unsubmitted = [await make('[[never]]'), await make('[[never]]')]
  await pause(quick.videoPoller.queueLeaseMs + 500)
  t.same(unsubmitted.map(madeOf), [0, 0])
  vendorWire.admit()
  const taskIds = [...running, unheard, ...unsubmitted]
  await until(() => taskIds.every((taskId) => madeOf(taskId) === 1))
  for (const taskId of taskIds) sandbox.videos.end(taskId)
  for (const taskId of taskIds) await until(async () => (await statusOf(secret, taskId)) === 'SUCCESS')
  t.equal((await walletFigures(operator, 'away')).balance, '7.9')
  t.equal(sandbox.videos.totals().made, taskIds.length)
})

t.test('a vendor without room, or without our money, until the deadline: all of it goes back', async (t) => {
  const secret = await openKnownAccount(operator, [hurry], 'busy', '10')
  const { made } = sandbox.videos.totals()
  const taskIds = [
    await newVideo(hurry, secret, { prompt: 'A cat. [[code=1302]]' }),
    await newVideo(hurry, secret, { prompt: 'A cat. [[code=1101]]' }),
  ]
  const heldUsd = usdTimes(plainUsd, taskIds.length)
  t.match(await walletFigures(operator, 'busy'), { balance: '10', held: heldUsd })
  for (const taskId of taskIds) await until(async () => (await statusOf(secret, taskId)) === 'FAILURE')
  t.same(await walletFigures(operator, 'busy'), { balance: '10', held: '0', available: '10' })
  for (const taskId of taskIds) {
    t.ok((sandbox.videos.find(taskId)?.submits ?? 0) > 1, 'it was tried again')
    t.match((await pollVideo(hurry, secret, taskId)).body.data, { progress: '100%', fail_reason: /deadline/ })
  }
  t.equal(sandbox.videos.totals().made, made)
  const released = (await eventsOf(operator, 'HoldReleased')).filter(({ workspaceId }) => workspaceId === 'busy')
  t.same(
    new Set(released.map(({ holdId, reason }) => `${reason} ${holdId}`)),
    new Set(taskIds.map((taskId) => `expired ${taskId}`)),
  )
})

t.test('the vendor’s word after the deadline is told, and charged to nobody', async (t) => {
  const secret = await openKnownAccount(operator, [hurry], 'late', '10')
  /** One that the vendor has before its time is over. */
  const make = async (): Promise<string> => {
    for (;;) {
      const taskId = await newVideo(hurry, secret, { prompt: 'A cat. [[queue_ms=0;never]]' })
      await until(async () => madeOf(taskId) === 1 || (await statusOf(secret, taskId)) === 'FAILURE')
      if (madeOf(taskId) === 1) return taskId
    }
  }
  const [made, failed] = [await make(), await make()]
  await until(
    async () => (await statusOf(secret, made)) === 'FAILURE' && (await statusOf(secret, failed)) === 'FAILURE',
  )
  t.same(await walletFigures(operator, 'late'), { balance: '10', held: '0', available: '10' })
  sandbox.videos.end(made)
  sandbox.videos.end(failed, '[[failed]]')
  const isTold = async (taskId: string): Promise<boolean> =>
    (await eventsOf(operator, 'LateVerdictSeen')).some((each) => each.taskId === taskId)
  await until(async () => (await isTold(made)) && (await isTold(failed)))
  t.equal(await statusOf(secret, made), 'FAILURE', 'an end is final')
  t.same(await walletFigures(operator, 'late'), { balance: '10', held: '0', available: '10' })
  const { database } = requireTables(operator.platform)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
  const listed = new Map((await selectLateVerdicts(database.db)).map((verdict) => [verdict.taskId, verdict]))
  t.match(listed.get(made), { eventType: 'LateVerdictSeen', outcome: 'SUCCESS', costPicos: parseUsd(plainUsd) })
  t.match(listed.get(failed), { eventType: 'LateVerdictSeen', outcome: 'FAILURE', costPicos: 0n })
  t.same(
    await eventsOf(operator, 'TaskSettled').then((all) => all.filter(({ workspaceId }) => workspaceId === 'late')),
    [],
  )
  await checkCharges(t, running)
})
