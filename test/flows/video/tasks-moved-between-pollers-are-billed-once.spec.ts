import t, { type Test } from 'tap'
import { requireTables } from '../../../src/cli/platform.ts'
import { parseUsd } from '../../../src/domain/money.ts'
import { selectLateVerdicts } from '../../../src/projections/tasks/late-verdicts.ts'
import { until } from '../../support/clients.ts'
import { eventsOf, newVideo, openKnownAccount, plainUsd, usdTimes, walletFigures } from '../../support/video.ts'
import { checkMadeAndBilledOnce, madeOf, startPollersApart } from '../../support/video-pollers.ts'

const creditUsd = '20'

const { direct, throughWire, wire, running, url, startPoller } = await startPollersApart(t)
const { operator, sandbox } = running

/** The one that can be cut off, and the other one. */
const one = await startPoller(throughWire)
let other = await startPoller(direct)

const makeTasks = (secret: string, count: number, directives: string): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: count }, () => newVideo(url, secret, { prompt: `A cat. ${directives}` })))

const queriesOf = (taskId: string): number => sandbox.videos.find(taskId)?.queries ?? 0

/** Who told the log that the vendor has a task, by task. */
const submitters = async (): Promise<ReadonlyMap<string, string>> =>
  new Map(
    (await operator.events()).flatMap((event) =>
      event.type === 'TaskSubmitted' ? [[event.data.taskId, event.source] as const] : [],
    ),
  )

const settlementsOf = async (taskId: string): Promise<number> =>
  (await eventsOf(operator, 'TaskSettled')).filter((each) => each.taskId === taskId).length

const checkWhole = (t: Test, workspaceId: string, taskIds: readonly string[]): Promise<void> =>
  checkMadeAndBilledOnce(t, running, { workspaceId, creditUsd }, taskIds)

/** Somebody asks the vendor about each of them from now on. */
const isPolled = async (taskIds: readonly string[]): Promise<void> => {
  const before = new Map(taskIds.map((taskId) => [taskId, queriesOf(taskId)]))
  await until(() => taskIds.every((taskId) => queriesOf(taskId) > before.get(taskId)!))
}

t.test('two pollers share the tasks; what one is told to leave, the other goes on with', async (t) => {
  const secret = await openKnownAccount(operator, [url], 'shared', creditUsd)
  const taskIds = await makeTasks(secret, 12, '[[never]]')
  await until(async () => (await submitters()).size === taskIds.length)
  t.equal(new Set((await submitters()).values()).size, 2, 'both have some')
  t.equal(await other.end('SIGTERM'), 0)
  await isPolled(taskIds)
  for (const taskId of taskIds) sandbox.videos.end(taskId)
  await checkWhole(t, 'shared', taskIds)
})

t.test('settled by two pollers, and once more by hand', async (t) => {
  const secret = await openKnownAccount(operator, [url], 'twice', creditUsd)
  const [taskId = ''] = await makeTasks(secret, 1, '[[never]]')
  await isPolled([taskId])
  other = await startPoller(direct)
  one.pause()
  wire.holdReplies() // It will not hear what the other has settled.
  await isPolled([taskId])
  sandbox.videos.end(taskId)
  await until(async () => (await settlementsOf(taskId)) === 1)
  one.resume()
  await until(async () => (await settlementsOf(taskId)) === 2)
  wire.passReplies()
  const [settled] = (await eventsOf(operator, 'TaskSettled')).filter((each) => each.taskId === taskId)
  await operator.log.append([{ type: 'TaskSettled', data: settled! }])

  await checkWhole(t, 'twice', [taskId])
  const late = await selectLateVerdicts(requireTables(operator.platform).database.db)
  const picos = parseUsd(plainUsd)
  const listed = {
    eventType: 'TaskSettled',
    workspaceId: 'twice',
    taskId,
    outcome: 'SUCCESS',
    costPicos: picos,
  } as const
  t.match(late, [listed, listed])
  t.equal(late.length, 2)
})

t.test('a poller paused for longer than its leases, and woken', async (t) => {
  const secret = await openKnownAccount(operator, [url], 'paused', creditUsd)
  const polled = await makeTasks(secret, 6, '[[never]]')
  await isPolled(polled)
  const submitted = await makeTasks(secret, 6, '[[never;delay_ms=700]]')
  await until(() => submitted.every((taskId) => madeOf(running, taskId) === 1))
  one.pause()
  await isPolled([...polled, ...submitted])
  const [early, late] = [polled.slice(0, 3), polled.slice(3)]
  for (const taskId of [...early, ...submitted.slice(0, 3)]) sandbox.videos.end(taskId)
  await until(async () => (await walletFigures(operator, 'paused')).held === usdTimes(plainUsd, 6))
  one.resume()
  await isPolled([...late, ...submitted.slice(3)])
  for (const taskId of [...late, ...submitted.slice(3)]) sandbox.videos.end(taskId)
  await checkWhole(t, 'paused', [...polled, ...submitted])
})

t.test('both stop when they are told to', async (t) => {
  t.same(await Promise.all([one.end('SIGTERM'), other.end('SIGTERM')]), [0, 0])
})
