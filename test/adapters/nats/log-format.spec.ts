import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { buildLogNames, logStream } from '../../../src/adapters/nats/streams.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import { adjustment, hold, openOn, readAll } from './open.ts'
import { NatsServer } from './server.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const ofLaterRelease = /the log has format 3, and this release reads it up to format 2: start the release that finished/
const closing: Fact = { type: 'PeriodCutOff', data: { month: '2026-10' } }
const raised = (format: number): Fact => ({ type: 'LogFormatRaised', data: { format } })

const manage = async (t: Tap) => {
  const connection = await connectNats({ url: server.url, name: 'test' })
  t.teardown(() => connection.close())
  return jetstreamManager(connection)
}

/** As release 0.1.0 made it. */
const createOldLog = async (t: Tap, name: string) => {
  const jsm = await manage(t)
  await jsm.streams.add({ ...logStream(buildLogNames(name)).config, num_replicas: 1 })
}

const open = async (t: Tap, name: string) => {
  const { log, close } = await openOn(server, { name })
  t.teardown(close)
  return log
}

type Tap = { teardown(callback: () => unknown): void }

t.test('a new log has the format of the release that made it', async (t) => {
  const log = await open(t, 'NEW')
  t.equal(log.format.number, 2)
  t.same(await log.append([closing]), { sequence: 1 })
})

t.test('before the upgrade is finished a log gets what the release before can read', async (t) => {
  await createOldLog(t, 'UPGRADED')
  const [log, other] = [await open(t, 'UPGRADED'), await open(t, 'UPGRADED')]
  t.equal(log.format.number, 1)
  const refusal = {
    code: 'conflict',
    message: /^PeriodCutOff cannot be in the log .* from 1 to 2: run `gateway upgrade --finish`/,
  }
  await t.rejects(log.append([closing]), refusal)
  const { data } = hold('a')
  const ofTag: Fact = { type: 'HoldPlaced', data: { ...data, tags: { team: 'search' } } }
  await t.rejects(log.appendToWallet('acme', [ofTag], 0), { message: /^HoldPlaced.tags cannot be in the log/ })
  const refund = adjustment('refund')
  await log.postToWallet('acme', [{ ...refund, data: { ...refund.data, tags: { team: 'search' } } }])
  t.same(
    (await readAll(log)).flatMap(({ events }) => events.map((event) => event.data)),
    [refund.data],
  )

  await log.format.raise('operator:root')
  t.equal(log.format.number, 2)
  await t.resolves(log.append([closing]))
  await t.resolves(other.append([closing]), 'a process that opened the log before looks again')
  t.equal((await open(t, 'UPGRADED')).format.number, 2)
})

t.test('a release refuses a log of a later one', async (t) => {
  const [log, other] = [await open(t, 'LATER'), await open(t, 'LATER')]
  await log.append([raised(3)])
  await t.rejects(other.follow(1, () => undefined).done, ofLaterRelease)
  const later = await openOn(server, { name: 'LATER', role: 'format-3' })
  t.teardown(later.close)
  await later.log.append([raised(3)])
  await t.rejects(open(t, 'LATER'), ofLaterRelease)
})
