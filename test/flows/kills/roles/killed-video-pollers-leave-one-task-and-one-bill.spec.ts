import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { SandboxCall } from '../../../../sandbox/server.ts'
import { asObject } from '../../../../src/encoding/json.ts'
import { until } from '../../../support/clients.ts'
import type { GatewayProcess } from '../../../support/gateway-process.ts'
import { randomOf } from '../../../support/random.ts'
import { startReceiver } from '../../../support/receiver.ts'
import { eventsOf, newVideo, openKnownAccount } from '../../../support/video.ts'
import { checkMadeAndBilledOnce, madeOf, startPollersApart } from '../../../support/video-pollers.ts'

const creditUsd = '100'
const workspaceIdCharactersMax = 63
const testMs = 240_000
/** None: the short form. */
const rounds = Number(process.env['CHAOS_ROUNDS'] ?? 0)
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)
const random = randomOf(seed)

const { throughWire, wire, running, url, startPoller: startPollerOn } = await startPollersApart(t)
const { operator, sandbox } = running
const receiver = await startReceiver(t)

const startPoller = (): Promise<GatewayProcess> => startPollerOn(throughWire)

/** A task of the workspace that is called back under its name. */
const newTask = (secret: string, name: string, directives: string): Promise<string> =>
  newVideo(url, secret, { prompt: `A cat. ${directives}`, more: { callback_url: `${receiver.url}/${name}` } })

const submitsOf = (taskId: string): number => sandbox.videos.find(taskId)?.submits ?? 0
const has = async (type: 'TaskSubmitted' | 'TaskProgressed' | 'TaskSettled', taskId: string): Promise<boolean> =>
  (await eventsOf(operator, type)).some((each) => each.taskId === taskId)

/** The vendor has answered, or the connection is gone. */
const isOver = ({ outcome }: SandboxCall): boolean => outcome !== 'open'
const isSubmitOf =
  (taskId: string) =>
  ({ method, body }: SandboxCall): boolean =>
    method === 'POST' && asObject(body)['external_task_id'] === taskId
const isQueryOf =
  (taskId: string, sinceMs: number) =>
  ({ method, path, at }: SandboxCall): boolean =>
    method === 'GET' && at >= sinceMs && path.endsWith(sandbox.videos.find(taskId)?.vendorTaskIds[0] ?? taskId)

const called = (): ReadonlySet<unknown> => new Set(receiver.delivered.map(({ headers }) => headers['webhook-id']))

/** One callback at least, one task at the vendor, one bill. */
const checkWhole = async (t: Test, workspaceId: string, taskIds: readonly string[]): Promise<void> => {
  await until(() => taskIds.every((taskId) => called().has(taskId)))
  await checkMadeAndBilledOnce(t, running, { workspaceId, creditUsd }, taskIds)
}

/** Brings tasks to where their poller is to be killed. */
type Steps = (secret: string) => Promise<readonly string[]>

/** The one that runs. */
let poller = await startPoller()

/** What the steps of one kill leave behind, the next poller finishes. */
const killAfter = (name: string, steps: Steps): void => {
  t.test(name, { timeout: testMs }, async (t) => {
    const workspaceId = name.replaceAll(/[^a-z]+/g, '-').slice(0, workspaceIdCharactersMax)
    const secret = await openKnownAccount(operator, [url], workspaceId, creditUsd)
    const taskIds = await steps(secret)
    await poller.end('SIGKILL')
    wire.cut()
    wire.passReplies()
    wire.admit()
    poller = await startPoller()
    await until(() => taskIds.every((taskId) => madeOf(running, taskId) === 1))
    for (const taskId of taskIds) sandbox.videos.end(taskId)
    await checkWhole(t, workspaceId, taskIds)
  })
}

killAfter('before the vendor has the task, after it has it, and while it makes it', async (secret) => {
  const unheard = await newTask(secret, 'unheard', '[[hang;first=1]]')
  const untold = await newTask(secret, 'untold', '[[hang;done;first=1]]')
  const polled = await newTask(secret, 'polled', '[[queue_ms=0;never]]')
  await until(
    async () => submitsOf(unheard) === 1 && madeOf(running, untold) === 1 && (await has('TaskProgressed', polled)),
  )
  const waiting = await newTask(secret, 'waiting', '')
  return [unheard, untold, polled, waiting]
})

killAfter('before what the vendor answered is in the log', async (secret) => {
  const ending = await newTask(secret, 'ending', '[[queue_ms=0;never]]')
  await until(() => has('TaskProgressed', ending))
  const submitted = await newTask(secret, 'submitted', '[[never;delay_ms=500]]')
  await until(() => submitsOf(submitted) === 1)
  wire.refuse()
  wire.cut()
  sandbox.videos.end(ending)
  const isTold = isQueryOf(ending, Date.now())
  const isOverFor = (isOne: (call: SandboxCall) => boolean): boolean =>
    sandbox.calls().some((call) => isOver(call) && isOne(call))
  await until(() => isOverFor(isSubmitOf(submitted)) && isOverFor(isTold))
  return [ending, submitted]
})

killAfter('before it hears that the log has the submit', async (secret) => {
  const submitted = await newTask(secret, 'submitted', '[[never;delay_ms=500]]')
  await until(() => submitsOf(submitted) === 1)
  wire.dropReplies('gateway-video-poller')
  await until(() => has('TaskSubmitted', submitted))
  return [submitted]
})

killAfter('before it hears that the log has the bill', async (secret) => {
  const ending = await newTask(secret, 'ending', '[[queue_ms=0;never]]')
  await until(() => has('TaskProgressed', ending))
  wire.dropReplies('gateway-video-poller')
  sandbox.videos.end(ending)
  await until(() => has('TaskSettled', ending))
  return [ending]
})

killAfter('before its work is done, and while somebody is called back', async (secret) => {
  receiver.answerWith(({ path }, before) => (path === '/silent' && before === 0 ? null : 200))
  const undone = await newTask(secret, 'undone', '[[queue_ms=0;never]]')
  await until(() => has('TaskProgressed', undone))
  const silent = await newTask(secret, 'silent', '[[queue_ms=0;run_ms=0]]')
  await until(() => called().has(silent))
  wire.dropReplies('gateway-tasks')
  sandbox.videos.end(undone)
  await until(() => has('TaskSettled', undone))
  return [silent, undone]
})

const courses: readonly string[] = [
  '',
  '[[queue_ms=0;run_ms=0]]',
  '[[break_body;first=1]]',
  '[[break;first=1]]',
  '[[code=1302;first=2]][[break;done;first=1]]',
  '[[status=500;done;first=1]][[on=query;status=500;first=3]]',
  '[[queue_ms=0;backwards]][[on=query;not_json;first=2]]',
  '[[delay_ms=300]][[on=query;delay_ms=200;first=4]]',
]
const killsPerRound = rounds === 0 ? 2 : 8

t.test(
  `two pollers killed again and again, rounds: ${rounds || 'a short one'}, seed ${seed}`,
  { timeout: testMs * Math.max(1, rounds) },
  async (t) => {
    const pollers = [poller, await startPoller()]
    for (let round = 0; round < Math.max(1, rounds); round += 1) {
      const workspaceId = `round-${round}`
      const secret = await openKnownAccount(operator, [url], workspaceId, creditUsd)
      const taskIds: string[] = []
      for (let kill = 0; kill < killsPerRound; kill += 1) {
        for (const course of courses) taskIds.push(await newTask(secret, 'random', course))
        await pause(random() * 1_500)
        const [victim] = pollers.splice(random() < 0.5 ? 0 : 1, 1)
        await victim!.end('SIGKILL')
        pollers.push(await startPoller())
      }
      await checkWhole(t, workspaceId, taskIds)
    }
    for (const each of pollers) t.equal(await each.end('SIGTERM'), 0)
  },
)
