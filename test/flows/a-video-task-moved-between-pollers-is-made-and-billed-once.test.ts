import t, { type Test } from 'tap'
import { tablesOf } from '../../src/commands/platform.ts'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { listLateVerdicts } from '../../src/read-models/late-verdicts.ts'
import { checkCharges } from '../bills.ts'
import { until } from '../clients.ts'
import { startExternalServers } from '../external-servers.ts'
import { temporaryFolder } from '../gateway.ts'
import { GatewayProcess } from '../gateway-process.ts'
import { startRolesTogether } from '../roles-together.ts'
import {
  eventsOf,
  newVideo,
  openKnownAccount,
  plainUsd,
  quick,
  statementOf,
  usdTimes,
  videoOptions,
  walletFigures,
} from '../video.ts'

const creditUsd = '20'

const { direct, throughWire, wire } = await startExternalServers(t)
const running = await startRolesTogether(t, {
  external: direct,
  counts: { proxy: 0, 'video-poller': 0 },
  ...videoOptions(),
})
const { operator, sandbox, config } = running
const url = running.urls[0]!

const startPoller = async (external: typeof direct): Promise<GatewayProcess> =>
  GatewayProcess.start(
    { ...config, external },
    { role: 'video-poller', settingsFolder: await temporaryFolder(t), bounds: quick },
  )

/** The one that can be cut off, and the other one. */
const one = await startPoller(throughWire)
let other = await startPoller(direct)

const makeTasks = (secret: string, count: number, directives: string): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: count }, () => newVideo(url, secret, { prompt: `A cat. ${directives}` })))

const madeOf = (taskId: string): number => sandbox.videos.find(taskId)?.vendorTaskIds.length ?? 0
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

const caughtUp = async (): Promise<void> => {
  const { database } = tablesOf(operator.platform)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
}

/** Every task was made once, and charged what it took, once. */
const checkWhole = async (t: Test, workspaceId: string, taskIds: readonly string[]): Promise<void> => {
  await until(async () => (await walletFigures(operator, workspaceId)).held === '0')
  await caughtUp()
  const statement = await statementOf(operator, workspaceId)
  for (const taskId of taskIds) {
    t.equal(madeOf(taskId), 1, 'the vendor made one task')
    const movements = statement.filter(({ reference }) => reference === taskId)
    t.same(
      movements.map(({ kind, amountPicos }) => `${kind} ${formatUsd(amountPicos)}`),
      ['hold 0', `charge -${plainUsd}`, 'release 0'],
    )
  }
  const balance = formatUsd(parseUsd(creditUsd) - parseUsd(usdTimes(plainUsd, taskIds.length)))
  t.same(await walletFigures(operator, workspaceId), { balance, held: '0', available: balance })
  await checkCharges(t, running)
}

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
  const late = await listLateVerdicts(tablesOf(operator.platform).database.db)
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
  await until(() => submitted.every((taskId) => madeOf(taskId) === 1))
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
