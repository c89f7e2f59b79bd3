import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { v7 } from 'uuid'
import { encodeOpening } from '../../../../src/adapters/nats/calls/message.ts'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import { natsLimits } from '../../../../src/adapters/nats/limits.ts'
import { type AnswerPart, type Dispatch, DispatchLost } from '../../../../src/roles/dispatch.ts'
import { answerOf, bytesPart, head, hear, routedCall, stay } from '../../../roles/calls-contract.ts'
import { until } from '../../../support/clients.ts'
import { NatsServer } from '../server.ts'
import { openEdge, openProxy } from './open.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const counting = () => {
  const served = { count: 0 }
  const serve: Dispatch = () => {
    served.count += 1
    return answerOf([Buffer.from('ok')])
  }
  return { served, serve }
}

/** Waits for the word to end an answer. */
const waiting = () => {
  const word = Promise.withResolvers<void>()
  const serve = async function* (): AsyncGenerator<AnswerPart> {
    yield head
    await word.promise
    yield bytesPart(Buffer.from('late'))
  }
  return { serve, end: word.resolve }
}

t.test('two proxies share the calls of two edges', async (t) => {
  const [first, second] = [counting(), counting()]
  const proxies = [await openProxy(server.url, first.serve), await openProxy(server.url, second.serve)]
  const edges = [await openEdge(server.url), await openEdge(server.url)]
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => hear(edges[index % 2]!.dispatch(routedCall(), stay()))),
  )
  t.ok(answers.every(({ bytes, fault }) => fault === undefined && bytes.toString() === 'ok'))
  t.equal(first.served.count + second.served.count, 200)
  t.ok(first.served.count > 40 && second.served.count > 40, `${first.served.count} and ${second.served.count}`)
  for (const each of [...edges, ...proxies]) await each.close()
})

t.test('a proxy that stops ends what it has, and new calls go to the other', async (t) => {
  const { serve, end } = waiting()
  const stopping = await openProxy(server.url, serve)
  const edge = await openEdge(server.url)
  const old = hear(edge.dispatch(routedCall(), stay()))
  const reader = edge.dispatch(routedCall(), stay())[Symbol.asyncIterator]()
  await reader.next()
  const { served, serve: count } = counting()
  const other = await openProxy(server.url, count)

  let isStopped = false
  const stopped = stopping.serving.stop().then(() => {
    isStopped = true
  })
  await stopping.connection.flush()
  const answers = await Promise.all(Array.from({ length: 50 }, () => hear(edge.dispatch(routedCall(), stay()))))
  t.ok(answers.every(({ bytes }) => bytes.toString() === 'ok'))
  t.equal(served.count, 50)
  t.notOk(isStopped)
  end()
  t.equal((await old).bytes.toString(), 'late')
  t.match(await reader.next(), { value: { type: 'bytes' } })
  await stopped
  for (const each of [stopping, other, edge]) await each.close()
})

t.test('the last words of a proxy that closes reach the edge', async (t) => {
  const proxy = await openProxy(server.url, () => answerOf([randomBytes(100_000)]))
  const edge = await openEdge(server.url)
  const answers = Array.from({ length: 50 }, () => hear(edge.dispatch(routedCall(), stay())))
  await edge.connection.flush()
  await proxy.connection.flush()
  await proxy.serving.stop()
  await proxy.close()
  const heard = await Promise.all(answers)
  t.ok(heard.every(({ bytes, fault }) => fault === undefined && bytes.length === 100_000))
  await edge.close()
})

t.test('an edge that closes cancels what is open', async (t) => {
  const signals: AbortSignal[] = []
  const proxy = await openProxy(server.url, async function* (_, clientGone) {
    signals.push(clientGone)
    yield head
    await new Promise((resolve) => clientGone.addEventListener('abort', resolve))
  })
  const edge = await openEdge(server.url)
  const answer = edge.dispatch(routedCall(), stay())[Symbol.asyncIterator]()
  await answer.next()
  const rest = answer.next().catch((fault: unknown) => fault)
  const startedMs = Date.now()
  await edge.client.close()
  t.match(await rest, { code: 'upstream_stream_interrupted' })
  await until(() => signals[0]?.aborted === true)
  t.ok(Date.now() - startedMs < natsLimits.callsAbsentMs)
  t.ok((await hear(edge.dispatch(routedCall(), stay()))).fault instanceof DispatchLost)
  await edge.connection.close()
  await proxy.serving.stop()
  await proxy.close()
})

const subscriptionsOf = async (): Promise<number> => {
  const response = await fetch(`${server.monitoringUrl}/connz`)
  const { connections } = (await response.json()) as { connections: { name: string; subscriptions: number }[] }
  return connections.filter(({ name }) => name === 'test').reduce((sum, { subscriptions }) => sum + subscriptions, 0)
}

const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length

t.test('nothing is left subscribed or ticking after close', async (t) => {
  const connections = [
    await connectNats({ url: server.url, name: 'test' }),
    await connectNats({ url: server.url, name: 'test' }),
  ] as const
  const before = timers()
  const edge = await openEdge(server.url, { connection: connections[0] })
  const proxy = await openProxy(server.url, () => answerOf([Buffer.from('ok')]), { connection: connections[1] })
  await connections[1].flush()
  await hear(edge.dispatch(routedCall(), stay()))
  await edge.client.close()
  await proxy.serving.stop()
  await proxy.server.close()
  for (const each of connections) await each.flush()
  t.equal(await subscriptionsOf(), 0)
  await edge.connection.close()
  await proxy.connection.close()
  for (const each of connections) await each.close()
  t.ok(timers() <= before)
})

t.test('garbage on every subject does no harm', async (t) => {
  const proxy = await openProxy(server.url, async function* () {
    yield head
    for (let part = 0; part < 20; part += 1) {
      yield bytesPart(Buffer.alloc(5_000, part))
      await delay(5)
    }
  })
  const edge = await openEdge(server.url)
  const vandal = await connectNats({ url: server.url, name: 'vandal' })
  const heard = Array.from({ length: 20 }, () => hear(edge.dispatch(routedCall(), stay())))
  const subjects = [
    'gateway.call',
    ...[proxy.id, v7(), '4000000000', 'x'].map((sender) => `gateway.edge.${edge.id}.${sender}`),
    ...[edge.id, v7(), '4000000000', 'x'].map((sender) => `gateway.proxy.${proxy.id}.${sender}`),
  ]
  for (let round = 0; round < 60; round += 1) {
    const garbage = randomBytes((round * 7) % 120)
    if (round % 2 === 0 && garbage.length > 1) garbage.set([1, 1 + (round % 5)])
    for (const subject of subjects) {
      vandal.publish(subject, garbage)
      vandal.publish(subject, garbage, { reply: `gateway.edge.${edge.id}.4000000000` })
      vandal.publish(subject, garbage, { reply: 'nobody' })
    }
    await vandal.flush()
  }
  const expected = Buffer.concat(Array.from({ length: 20 }, (_, part) => Buffer.alloc(5_000, part)))
  const answers = await Promise.all(heard)
  t.ok(answers.every(({ bytes, fault }) => fault === undefined && bytes.equals(expected)))
  t.ok((await hear(edge.dispatch(routedCall(), stay()))).bytes.equals(expected))
  await vandal.close()
  await edge.close()
  await proxy.close()
})

t.test('a proxy refuses a version that it does not speak, and an edge takes the refusal', async (t) => {
  const proxy = await openProxy(server.url, () => answerOf([]))
  const stranger = await connectNats({ url: server.url, name: 'stranger' })
  const opening = encodeOpening({ call: 7, creditBytes: 1, totalBytes: 2, firstPiece: Buffer.from('{}') })
  opening[0] = 9
  const refusal = Promise.withResolvers<Uint8Array>()
  stranger.subscribe('gateway.edge.me.7', { callback: (_, { data }) => refusal.resolve(data) })
  stranger.publish('gateway.call', opening, { reply: 'gateway.edge.me.7' })
  t.strictSame([...(await refusal.promise)], [1])
  await proxy.serving.stop()
  await proxy.close()

  stranger.subscribe('gateway.call', { queue: 'proxy', callback: (_, msg) => void msg.respond(Uint8Array.of(9)) })
  await stranger.flush()
  const edge = await openEdge(server.url)
  const { fault } = await hear(edge.dispatch(routedCall(), stay()))
  t.ok(fault instanceof DispatchLost)
  t.match(fault, { code: 'no_available_channel', cause: { message: /version 9/ } })
  await edge.close()
  await stranger.close()
})
