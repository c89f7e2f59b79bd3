import { setTimeout as pause } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { startSandbox } from '../../../../sandbox/server.ts'
import type { GatewayBounds } from '../../../../src/cli/gateway.ts'
import { requireTables } from '../../../../src/cli/platform.ts'
import { checkCharges } from '../../../support/bills.ts'
import { until } from '../../../support/clients.ts'
import { startExternalServers } from '../../../support/external-servers.ts'
import { configOf, openOperator, runtime, temporaryFolder } from '../../../support/gateway.ts'
import { GatewayProcess } from '../../../support/gateway-process.ts'
import {
  askKeyed,
  exactBody,
  exactUsd,
  type Keyed,
  type KeyedAnswer,
  keyedOptions,
  netUsd,
} from '../../../support/keyed.ts'
import { randomOf } from '../../../support/random.ts'
import {
  eventsOf,
  newVideo,
  openKnownAccount,
  plainUsd,
  quick,
  usdTimes,
  videoOptions,
  walletFigures,
} from '../../../support/video.ts'

/** Of those that end at a moment that nobody chose; the long form, `make chaos`, has 10. */
const rounds = Number(process.env['CHAOS_ROUNDS'] ?? 1)
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)
const outcomes = 'gateway-outcomes'
const insistMs = 90_000

type Asked = Omit<Keyed, 'url'>

/** Long enough for a slow machine to renew in time. */
const bounds: GatewayBounds = { ...quick, edge: { outcomeLeaseMs: 3_000, outcomeRenewMs: 1_500 } }

const { direct, throughWire, wire, postgres, nats } = await startExternalServers(t)
const sandbox = await startSandbox(runtime)
t.teardown(() => sandbox.stop())
const options = { ...videoOptions(keyedOptions.sheets), models: keyedOptions.models }
const config = configOf(await temporaryFolder(t), sandbox.url, {
  ...options,
  config: { ...options.config, external: throughWire },
})
const operator = await openOperator({ ...config, external: direct }, bounds)
t.teardown(() => operator.stop())

let gateway = await GatewayProcess.start(config, { bounds })
t.teardown(() => gateway.end('SIGTERM'))

/** As a machine that lost its power: what it had not sent is lost. */
const kill = async (): Promise<void> => {
  await gateway.end('SIGKILL')
  wire.cut()
  wire.passRequests()
  wire.passReplies()
}

const restart = async (): Promise<void> => {
  gateway = await GatewayProcess.start(config, { bounds })
}

const openAccount = (workspaceId: string): Promise<string> =>
  openKnownAccount(operator, [gateway.url], workspaceId, '10')

const billsOf = async (workspaceId: string): Promise<number> =>
  (await eventsOf(operator, 'UsageRecorded')).filter((bill) => bill.workspaceId === workspaceId).length

const callsOf = (model: string): number =>
  sandbox.calls().filter(({ upstreamModel }) => upstreamModel?.startsWith(model)).length

const isPassing = ({ status, shouldRetry }: KeyedAnswer): boolean =>
  status >= 500 || (status === 409 && shouldRetry === 'true')

/** As an SDK does it, but for longer: asks again until there is a last word. */
const insist = async (asked: Asked): Promise<KeyedAnswer> => {
  const giveUpMs = Date.now() + insistMs
  for (;;) {
    const answer = await askKeyed({ ...asked, url: gateway.url })
    if (answer !== null && !isPassing(answer)) return answer
    if (Date.now() > giveUpMs) throw new Error(`no last word, but ${answer?.text}: ${gateway.logged}`)
    await pause(100)
  }
}

const checkOnce = async (t: Test, workspaceId: string, asked: Asked): Promise<void> => {
  const answer = await insist(asked)
  t.match(answer, { status: 200 })
  t.match(await insist(asked), { status: 200, isReplayed: true, text: answer.text })
  await until(async () => (await netUsd(operator, workspaceId)) === exactUsd)
}

t.test('between the charge and the outcome, of a JSON response and of a stream', async (t) => {
  const secrets = await Promise.all(['between', 'dark', 'ended'].map(openAccount))
  const [between, dark, ended] = secrets.map((secret, place) => {
    const isStream = place === 2
    return { secret, key: 'charged', body: exactBody(isStream, isStream ? 'trickle' : 'slow') }
  }) as [Asked, Asked, Asked]
  const [slow, trickle] = [callsOf('slow'), callsOf('trickle')]
  const answers = [between, dark].map((asked) => askKeyed({ ...asked, url: gateway.url }))
  const stream = askKeyed({ ...ended, url: gateway.url })
  await until(() => callsOf('slow') === slow + 2 && callsOf('trickle') > trickle)
  wire.holdRequests(outcomes)
  const isBilled = async (workspaceId: string) => (await billsOf(workspaceId)) === 1
  await until(async () => (await Promise.all(['between', 'dark', 'ended'].map(isBilled))).every(Boolean))
  await kill()
  t.same(await Promise.all(answers), [null, null], 'no client has a response')
  await stream
  t.equal(await netUsd(operator, 'between'), exactUsd, 'and one is charged')
  await restart()

  await t.test('without PostgreSQL nothing is refunded, and nothing charged', async (t) => {
    const { database } = requireTables(operator.platform)
    await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
    await postgres.stop()
    let seen: KeyedAnswer | null = null
    await until(async () => {
      seen = await askKeyed({ ...dark, url: gateway.url })
      return seen?.code === 'read_models_unavailable'
    })
    t.match(seen, { status: 503, retryAfter: /^[1-9]/ })
    await postgres.start()
    await checkOnce(t, 'dark', dark)
  })

  await t.test('a JSON response is refunded and made again', async (t) => {
    await checkOnce(t, 'between', between)
    t.equal(await billsOf('between'), 2)
    t.match(
      (await eventsOf(operator, 'AdjustmentPosted')).filter(({ workspaceId }) => workspaceId === 'between'),
      [{ reason: 'undelivered', amount: exactUsd }],
    )
  })

  await t.test('a repeat of a stream is refused', async (t) => {
    const refused = await insist(ended)
    t.match(refused, { status: 409, code: 'idempotency_outcome_not_kept', shouldRetry: 'false' })
    const charged = (await eventsOf(operator, 'UsageRecorded')).findLast(({ workspaceId }) => workspaceId === 'ended')
    t.equal(refused.originalId, charged?.requestId, 'it names the request that was charged')
    t.equal(await netUsd(operator, 'ended'), exactUsd)
  })
})

t.test('between the outcome and the answer', async (t) => {
  const secret = await openAccount('kept')
  const asked = { secret, key: 'kept', body: exactBody(false, 'slow') }
  const calls = callsOf('slow')
  const first = askKeyed({ ...asked, url: gateway.url })
  await until(() => callsOf('slow') > calls)
  wire.holdReplies(outcomes)
  await until(async () => (await billsOf('kept')) === 1)
  await pause(500) // The outcome is on its way to the server, and then there.
  await kill()
  t.equal(await first, null)
  await restart()
  t.match(await insist(asked), { status: 200 })
  await checkOnce(t, 'kept', asked)
})

t.test('while the provider is asked, and within a stream', async (t) => {
  const [secret, streaming] = [await openAccount('asking'), await openAccount('streams')]
  const asked = { secret, key: 'asking', body: exactBody(false, 'slow') }
  const cut = { secret: streaming, key: 'cut', body: exactBody(true, 'trickle') }
  const [slow, trickle] = [callsOf('slow'), callsOf('trickle')]
  const answers = [askKeyed({ ...cut, url: gateway.url }), askKeyed({ ...asked, url: gateway.url })]
  await until(() => callsOf('slow') > slow && callsOf('trickle') > trickle)
  await pause(200)
  await kill()
  t.same(await Promise.all(answers), [null, null])
  await restart()
  await checkOnce(t, 'asking', asked)
  t.equal(await billsOf('asking'), 1)
  const again = await insist(cut)
  t.match(again, { status: 200 }, 'what was not charged runs anew')
  t.match(await insist(cut), { status: 200, isReplayed: true, text: again.text, originalId: again.requestId })
  await until(async () => (await netUsd(operator, 'streams')) === exactUsd)
})

t.test('a video between its hold and the outcome: one task', async (t) => {
  const secret = await openAccount('films')
  const body = JSON.stringify({ model: 'vv/v3', prompt: 'A cat. [[never]]' })
  const asked = { secret, key: 'film', path: '/v1/videos', body }
  const holdsOf = async (): Promise<readonly string[]> =>
    (await eventsOf(operator, 'HoldPlaced'))
      .filter(({ workspaceId, task }) => workspaceId === 'films' && task !== undefined)
      .map(({ holdId }) => holdId)
  const connection = await connect({ servers: nats.url })
  t.teardown(() => connection.close())
  const { streams: queued } = await jetstreamManager(connection)
  await newVideo(gateway.url, secret, { prompt: 'A dog. [[never]]' })
  wire.holdReplies('gateway-tasks')
  const first = askKeyed({ ...asked, url: gateway.url })
  await until(async () => (await queued.info('GATEWAY_TASKS')).state.messages === 2)
  wire.holdRequests(outcomes)
  wire.passReplies()
  await until(async () => (await holdsOf()).length === 2)
  await kill()
  t.equal(await first, null)
  await restart()
  const again = await insist(asked)
  t.match(again, { status: 200 })
  const [, taskId = 'none'] = await holdsOf()
  t.ok(again.text.includes(taskId))
  t.equal((await holdsOf()).length, 2)
  t.match(await walletFigures(operator, 'films'), { held: usdTimes(plainUsd, 2) })
})

t.test(`killed anywhere, ${rounds} rounds, seed ${seed}`, async (t) => {
  const random = randomOf(seed)
  const secret = await openAccount('chaos')
  const charged: KeyedAnswer[] = []
  for (let round = 0; round < rounds; round += 1) {
    const asks = Array.from({ length: 16 }, (_, n) => {
      const stream = n % 4 === 0
      const model = ['exact', 'slow', 'trickle'][n % 3]
      return { secret, key: `${round}-${n}`, body: exactBody(stream, model) }
    })
    const answers = Promise.all(asks.map(insist))
    await pause(random() * 1_200)
    await kill()
    await restart()
    for (const answer of await answers) charged.push(answer)
  }
  t.ok(
    charged.every(({ status, code }) => status === 200 || code === 'idempotency_outcome_not_kept'),
    'everybody has a last word',
  )
  await until(async () => (await netUsd(operator, 'chaos')) === usdTimes(exactUsd, charged.length))
  await checkCharges(t, { operator })
})
