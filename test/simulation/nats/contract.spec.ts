import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { v7 } from 'uuid'
import { openCallClient } from '../../../src/adapters/nats/calls/call-client.ts'
import { openCallServer } from '../../../src/adapters/nats/calls/call-server.ts'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { type OpenLog, openLog } from '../../../src/adapters/nats/log.ts'
import { openOutcomes } from '../../../src/adapters/nats/outcomes/open.ts'
import { openRates } from '../../../src/adapters/nats/rates/open.ts'
import { openSnapshots } from '../../../src/adapters/nats/snapshots/open.ts'
import { openWorkQueues, type WorkQueues } from '../../../src/adapters/nats/work-queue/open.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import type { WorkItem } from '../../../src/roles/work-queue.ts'
import { LossyProxy } from '../../adapters/nats/lossy-proxy.ts'
import { adjustment, hold, readAll } from '../../adapters/nats/open.ts'
import { NatsServer } from '../../adapters/nats/server.ts'
import { answerOf, hear, routedCall, stay } from '../../roles/calls-contract.ts'
import { simulate } from '../simulator.ts'
import { askOf, rawScenarios } from './raw-scenarios.ts'
import { natsPort } from './server.ts'

/** A server that can be treated badly, simulated or not. */
interface Server {
  readonly url: string
  /** Stored messages are not acknowledged until they are again. */
  dropReplies(): void
  passReplies(): void
  /** Ends the present connections. */
  cut(): void
  kill(): Promise<void>
  start(): Promise<void>
}

const leaseMs = 1_500
const timedTriesMax = 3
/** Their outcome depends on when a lease ends: a busy machine may be late for one. */
const timedScenarios: ReadonlySet<string> = new Set([
  'a work queue',
  'an item whose lease ends goes to another',
  'leases of a consumer',
])
const options = {
  name: 'CONTRACT',
  role: 'gateway',
  replicas: 1,
  durability: 'relaxed',
  create: true,
  clock: () => Date.now(),
  newId: v7,
  logger: { log: () => undefined },
} as const

class Clients {
  readonly url: string
  readonly #closes: (() => Promise<void>)[] = []

  constructor(url: string) {
    this.url = url
  }

  async connect(): Promise<NatsConnection> {
    const connection = await connectNats({ url: this.url, name: 'contract', role: 'gateway' })
    this.#closes.push(() => connection.close())
    return connection
  }

  async log(name: string): Promise<OpenLog> {
    const onFatal = (fault: Error): void => {
      throw fault
    }
    const log = await openLog({ ...options, name, connection: await this.connect(), onFatal })
    this.#closes.push(() => log.close(1_000))
    return log
  }

  async queues(name: string): Promise<WorkQueues> {
    const queues = await openWorkQueues({ ...options, name, leaseMs, connection: await this.connect() })
    this.#closes.push(() => queues.close())
    return queues
  }

  async close(): Promise<void> {
    for (const close of this.#closes.reverse()) await close()
  }
}

const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await sleep(10)
}

const sequenceOf = async (log: OpenLog, count: number): Promise<void> =>
  until(async () => (await log.lastSequence()) >= count)

const shapeOf = (frames: Awaited<ReturnType<typeof readAll>>): readonly unknown[] =>
  frames.map(({ sequence, walletSubject, counter, events }) => ({
    ...{ sequence, walletSubject, counter },
    facts: events.map(({ type, data }) => [type, 'holdId' in data ? data.holdId : null]),
  }))

type Scenario = (clients: Clients, server: Server, proxied: Clients) => Promise<unknown>

/** Of one name each, so that all can run on one server. */
const scenarios: Readonly<Record<string, Scenario>> = {
  'frames, wallets and conflicts': async (clients) => {
    const [one, other] = [await clients.log('FRAMES'), await clients.log('FRAMES')]
    const results = [
      await one.append([adjustment('a')]),
      await other.append([adjustment('b'), adjustment('c')]),
      await one.appendToWallet('acme', [hold('h')], 0),
      await other.appendToWallet('acme', [hold('i')], 0),
      await other.appendToWallet('acme', [hold('i')], 3),
      await one.postToWallet('acme', [adjustment('d')]),
      await one.appendToWallet('acme', [hold('j')], 4),
      await one.appendToWallet('beta', [hold('k', 'beta')], 0),
      await one.appendToWallet('beta', [hold('l', 'beta')], 99).catch((fault: Error) => fault.message),
    ]
    return { results, frames: shapeOf(await readAll(one)), last: await other.lastSequence() }
  },

  'lost acknowledgements of journal and wallet': async (clients, server, proxied) => {
    const [unlucky, lucky] = [await proxied.log('LOST'), await clients.log('LOST')]
    server.dropReplies()
    const appended = unlucky.append([adjustment('once')])
    await sequenceOf(lucky, 1)
    const held = unlucky.appendToWallet('acme', [hold('mine')], 0)
    await sequenceOf(lucky, 2)
    const theirs = await lucky.appendToWallet('acme', [hold('theirs')], 2)
    server.cut()
    server.passReplies()
    return { appended: await appended, held: await held, theirs, frames: shapeOf(await readAll(lucky)) }
  },

  'a killed server keeps what it acknowledged, and followers resume': async (clients, server) => {
    const log = await clients.log('KILLED')
    const followed: number[] = []
    const follower = log.follow(1, ({ sequence }) => void followed.push(sequence))
    for (let n = 0; n < 5; n += 1) await log.append([adjustment(`before-${n}`)])
    await server.kill()
    const meanwhile = log.append([adjustment('meanwhile')])
    const refused = await log.lastSequence().catch((fault: Error) => fault.message)
    await server.start()
    await log.append([adjustment('after')])
    await meanwhile
    await until(() => followed.length === 7)
    await follower.stop()
    return { followed, refused, last: await log.lastSequence() }
  },

  'a work queue': async (clients) => {
    const [putter, taker] = [await clients.queues('QUEUE'), await clients.queues('QUEUE')]
    const deliveries: [string, number][] = []
    const items = new Map<string, WorkItem>()
    for (const id of ['a', 'b', 'c']) await putter.tasks.put(id, Buffer.from(`payload of ${id}`))
    await putter.tasks.put('a', Buffer.from('another payload of a'))
    const consumer = taker.tasks.take(10, (item) => {
      deliveries.push([item.id, item.deliveries])
      items.set(item.id, item)
    })
    await until(() => items.size === 3)
    const texts = await Promise.all(
      [...items.values()].map(async (item) => Buffer.from((await item.bytes()) ?? '').toString()),
    )
    await items.get('a')!.done()
    items.get('b')!.again(50)
    await until(() => deliveries.length === 4)
    const renewal = setInterval(() => items.get('c')!.renew(), leaseMs / 4)
    await sleep(2 * leaseMs)
    clearInterval(renewal)
    await putter.tasks.withdraw('c')
    await items.get('b')!.done()
    await putter.tasks.put('d', Buffer.from('late'))
    await until(() => items.has('d'))
    await consumer.stop()
    const second = clients.queues('QUEUE')
    const again: [string, number][] = []
    const next = (await second).tasks.take(10, (item) => void again.push([item.id, item.deliveries]))
    await until(() => again.length > 0)
    const readings = (await putter.readings()).filter(({ labels }) => labels?.['queue'] === 'tasks')
    await next.stop()
    return { texts, deliveries, again, readings }
  },

  'an item whose lease ends goes to another': async (clients) => {
    const [first, second] = [await clients.queues('LEASE'), await clients.queues('LEASE')]
    const got: string[] = []
    const lost = first.tasks.take(1, (item) => void got.push(`first ${item.id} ${item.deliveries}`))
    await first.tasks.put('a', Buffer.from('a'))
    await until(() => got.length === 1)
    const other = second.tasks.take(1, (item) => void got.push(`second ${item.id} ${item.deliveries}`))
    await first.close() // As a process that died: no item is returned.
    await until(() => got.length === 2)
    await Promise.all([lost.stop(), other.stop()])
    return got
  },

  'outcomes and rates': async (clients) => {
    const connection = await clients.connect()
    const outcomes = await openOutcomes({ ...options, name: 'RECORDS', connection })
    const rates = await openRates({ ...options, name: 'RECORDS', connection: await clients.connect() })
    const place = { workspaceId: 'acme', keyDigest: 'abc' }
    const results = [
      (await outcomes.find(place)).revision,
      await outcomes.put(place, Buffer.from('one'), 0, 2_000),
      await outcomes.put(place, Buffer.from('two'), 0, 2_000),
      await outcomes.put(place, Buffer.from('three'), 1, 2_000),
      Buffer.from((await outcomes.find(place)).bytes).toString(),
      await rates.find('limit'),
      await rates.put('limit', { used: 1 }, 0),
      await rates.put('limit', { used: 2 }, 0),
      await rates.put('limit', { used: 2 }, 1),
      await rates.find('limit'),
      await outcomes.remove(1),
      await outcomes.find(place),
      await outcomes.remove(1),
      await outcomes.put(place, Buffer.from('anew'), 1, 2_000),
      await outcomes.put(place, Buffer.from('anew'), 0, 2_000),
    ]
    await outcomes.close()
    rates.close()
    return results
  },

  snapshots: async (clients) => {
    const connection = await clients.connect()
    const store = await openSnapshots({ ...options, name: 'SNAPSHOTS', connection })
    const write = (sequence: number): Promise<unknown> => {
      const pieces = async function* () {
        yield Buffer.from(`first of ${sequence}`)
        yield Buffer.from(`second of ${sequence}`)
        return { sequence, format: 1, sha256: 'ab'.repeat(32) }
      }
      return store.write(sequence, pieces())
    }
    for (const sequence of [10, 20, 30, 40]) await write(sequence)
    const listed = await store.list()
    const texts: string[] = []
    for await (const piece of store.read(listed[0]!)) texts.push(Buffer.from(piece).toString())
    await store.removeBeyond(async () => 30)
    return { listed, texts, left: await store.list() }
  },

  'calls between processes': async (clients, _, proxied) => {
    const parts = { ...options, name: 'CALLS' }
    const client = openCallClient({ ...parts, connection: await clients.connect() })
    const refused = await hear(client.dispatch(routedCall(), stay()))
    const lossy = await proxied.connect()
    const callServer = openCallServer({ ...parts, connection: lossy })
    const chunks = Array.from({ length: 20 }, (_, at) => Buffer.alloc(40_000, at))
    callServer.serve(async function* (_, clientGone) {
      yield* answerOf(chunks)
      await new Promise((resolve) => clientGone.addEventListener('abort', resolve))
    })
    await lossy.flush()
    const answer = client.dispatch(routedCall(), stay())[Symbol.asyncIterator]()
    let bytes = 0
    while (bytes < 20 * 40_000) {
      const { value } = await answer.next()
      if (value?.type === 'bytes') bytes += value.bytes.length
    }
    await lossy.close()
    const lost = await answer.next().catch((fault: unknown) => fault)
    await client.close()
    await callServer.close()
    return { refused: outcomeOf(refused.fault), bytes, lost: outcomeOf(lost) }
  },

  'what the server says to single requests': async (clients) => {
    const connection = await clients.connect()
    await clients.log('RAW')
    const ask = askOf(connection)
    const wallet = 'raw.wallet.acme'
    const get = '$JS.API.STREAM.MSG.GET.RAW'
    const expected = (sequence: number) => ({ 'Nats-Expected-Last-Subject-Sequence': String(sequence) })
    return [
      await ask(wallet, 'first', { 'Nats-Msg-Id': 'w:1', ...expected(0) }),
      await ask(wallet, 'first', { 'Nats-Msg-Id': 'w:1', ...expected(0) }),
      await ask(wallet, 'first', { 'Nats-Msg-Id': 'w:1' }),
      await ask(wallet, 'second', { 'Nats-Msg-Id': 'w:2', ...expected(0) }),
      await ask(wallet, 'second', { 'Nats-Msg-Id': 'w:2', ...expected(1) }),
      await ask('raw.wallet.beta', 'ahead', expected(1)),
      await ask('raw.journal.edge', 'stray', { 'Nats-Expected-Stream': '.' }),
      await ask(get, { last_by_subj: wallet }),
      await ask(get, { seq: 1, next_by_subj: wallet }),
      await ask(get, { seq: 3, next_by_subj: wallet }),
      await ask(get, { seq: 9 }),
      await ask('$JS.API.STREAM.INFO.ABSENT', ''),
      await ask('$JS.API.CONSUMER.INFO.RAW.absent', ''),
      await ask('$JS.API.CONSUMER.DELETE.RAW.absent', ''),
    ]
  },
}

const outcomeOf = (fault: unknown): string =>
  fault instanceof GatewayError ? `${fault.name} ${fault.code}` : String(fault)

const scenariosOfAll: Readonly<Record<string, Scenario>> = {
  ...scenarios,
  ...Object.fromEntries(
    Object.entries(rawScenarios).map(([name, scenario]): [string, Scenario] => [
      name,
      (clients, server) =>
        scenario({ connect: () => clients.connect(), kill: () => server.kill(), start: () => server.start() }),
    ]),
  ),
}

const withClients = async (server: Server, proxyUrl: string, scenario: Scenario): Promise<unknown> => {
  const [clients, proxied] = [new Clients(server.url), new Clients(proxyUrl)]
  try {
    return await scenario(clients, server, proxied)
  } finally {
    await proxied.close()
    await clients.close()
  }
}

const runSimulated = (scenario: Scenario): Promise<unknown> => {
  let loses = false
  const acknowledgement = () => ({ isLost: loses, delayMs: 0 })
  return simulate(
    {
      seed: 1,
      faults: {
        acknowledgement: (subject) =>
          /acme|journal/.test(subject) ? acknowledgement() : { isLost: false, delayMs: 0 },
      },
    },
    async ({ nats }) => {
      const url = `nats://127.0.0.1:${natsPort}`
      const server: Server = {
        url,
        dropReplies: () => {
          loses = true
        },
        passReplies: () => {
          loses = false
        },
        cut: () => nats.cut(),
        kill: async () => nats.kill(),
        start: async () => nats.start(),
      }
      return withClients(server, url, scenario)
    },
  )
}

const shared = await NatsServer.create()
t.teardown(() => shared.remove())

const runReal = async (real: NatsServer, scenario: Scenario): Promise<unknown> => {
  const proxy = await LossyProxy.create(real.port)
  try {
    const server: Server = {
      url: real.url,
      dropReplies: () => proxy.dropReplies(),
      passReplies: () => proxy.passReplies(),
      cut: () => proxy.cut(),
      kill: () => real.stop('SIGKILL'),
      start: () => real.start(),
    }
    return await withClients(server, proxy.url, scenario)
  } finally {
    await proxy.close()
  }
}

for (const [name, scenario] of Object.entries(scenariosOfAll))
  t.test(`the simulated server does as the real one: ${name}`, async (t) => {
    const simulated = await runSimulated(scenario)
    let real = await runReal(shared, scenario)
    const triesMax = timedScenarios.has(name) ? timedTriesMax : 1
    for (let tries = 1; tries < triesMax && !isDeepStrictEqual(simulated, real); tries += 1) {
      const fresh = await NatsServer.create()
      real = await runReal(fresh, scenario).finally(() => fresh.remove())
    }
    t.same(simulated, real)
  })
