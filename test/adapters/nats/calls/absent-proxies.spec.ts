import t, { type Test } from 'tap'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import { natsLimits } from '../../../../src/adapters/nats/limits.ts'
import { DispatchLost } from '../../../../src/roles/dispatch.ts'
import { answerOf, hear, routedCall, stay } from '../../../roles/calls-contract.ts'
import { until } from '../../../support/clients.ts'
import { LossyProxy } from '../lossy-proxy.ts'
import { NatsServer } from '../server.ts'
import { openEdge, openProxy } from './open.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const answer = Buffer.from('answer')

/** An edge that has had an answer from a proxy behind a connection that can be cut; `serves` counts its calls. */
const openCuttable = async (t: Test) => {
  const lossy = await LossyProxy.create(server.port)
  const served = { count: 0 }
  const proxy = await openProxy(lossy.url, () => {
    served.count += 1
    return answerOf([answer])
  })
  const edge = await openEdge(server.url)
  t.teardown(async () => {
    lossy.admit()
    await edge.close()
    await proxy.close()
    await lossy.close()
  })
  await hear(edge.dispatch(routedCall(), stay()))
  const cut = async () => {
    lossy.refuse()
    lossy.cut()
    // The server has noticed once nothing listens to openings.
    await until(async () => {
      const failed = await edge.connection.request('gateway.call', '', { timeout: 1_000 }).catch((fault) => fault)
      return String(failed).includes('no responders')
    })
  }
  return { edge, proxy, served, cut, lossy }
}

t.test('calls wait for a proxy that connects again', async (t) => {
  const { edge, served, cut, lossy } = await openCuttable(t)
  await cut()
  const heard = Array.from({ length: 20 }, () => hear(edge.dispatch(routedCall(), stay())))
  lossy.admit()
  for (const { bytes, fault } of await Promise.all(heard)) {
    t.equal(fault, undefined)
    t.ok(bytes.equals(answer))
  }
  t.equal(served.count, 21, 'each is served once')
})

t.test('calls of an edge that has just started wait for a proxy that connects again', async (t) => {
  const edge = await openEdge(server.url)
  const heard = Array.from({ length: 20 }, () => hear(edge.dispatch(routedCall(), stay())))
  await edge.connection.flush()
  const proxy = await openProxy(server.url, () => answerOf([answer]))
  t.teardown(async () => {
    await edge.close()
    await proxy.close()
  })
  for (const { bytes, fault } of await Promise.all(heard)) {
    t.equal(fault, undefined)
    t.ok(bytes.equals(answer))
  }
})

t.test('calls do not wait longer than a proxy is waited for, and then not at all', async (t) => {
  const { edge, cut } = await openCuttable(t)
  await cut()
  const lost = async () => {
    const startedMs = Date.now()
    const { fault } = await hear(edge.dispatch(routedCall(), stay()))
    t.ok(fault instanceof DispatchLost)
    t.match(fault, { code: 'no_available_channel', retryAfterSeconds: 1 })
    return Date.now() - startedMs
  }
  t.ok((await lost()) < natsLimits.callsAcceptMs)
  t.ok((await lost()) < natsLimits.callsAbsentMs, 'the edge has noticed that it is gone')
})

t.test('a call that waits ends with its client, and is not sent', async (t) => {
  const { edge, served, cut, lossy } = await openCuttable(t)
  await cut()
  const client = new AbortController()
  const [left, stays] = [client.signal, stay()].map((signal) => hear(edge.dispatch(routedCall(), signal)))
  const earlier = new AbortController()
  const leftEarlier = hear(edge.dispatch(routedCall(), earlier.signal))
  earlier.abort()
  for (const each of [leftEarlier, left!]) {
    const { fault } = await each
    t.ok(fault instanceof DispatchLost)
    t.match(fault, { status: 499 })
    client.abort()
  }
  lossy.admit()
  t.equal((await stays!).fault, undefined)
  t.equal(served.count, 2)
})

t.test('a call that a proxy of another version refuses goes to another', async (t) => {
  const { edge } = await openCuttable(t)
  const other = await connectNats({ url: server.url, name: 'other' })
  t.teardown(() => other.close())
  let refused = 0
  other.subscribe('gateway.call', {
    queue: 'proxy',
    callback: (_, msg) => {
      refused += 1
      msg.respond(Uint8Array.of(9))
    },
  })
  await other.flush()
  const heard = await Promise.all(Array.from({ length: 8 }, () => hear(edge.dispatch(routedCall(), stay()))))
  t.ok(refused > 0)
  t.ok(heard.every(({ bytes, fault }) => fault === undefined && bytes.equals(answer)))
})
