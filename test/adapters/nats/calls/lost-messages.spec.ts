import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { AnswerPart } from '../../../../src/roles/dispatch.ts'
import { answerOf, bytesPart, head, hear, routedCall, stay } from '../../../roles/calls-contract.ts'
import { until } from '../../../support/clients.ts'
import { LossyProxy } from '../lossy-proxy.ts'
import { NatsServer } from '../server.ts'
import { openEdge, openProxy } from './open.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const chunks = Array.from({ length: 400 }, (_, index) => randomBytes(1 + ((index * 131) % 20_000)))
const whole = Buffer.concat(chunks)

/** An answer that takes about two seconds, and how far it is. */
const slowAnswer = () => {
  const progress = { sent: 0 }
  const serve = async function* (): AsyncGenerator<AnswerPart> {
    yield head
    for (const chunk of chunks) {
      yield bytesPart(chunk)
      progress.sent += 1
      await delay(5)
    }
  }
  return { progress, serve }
}

for (const side of ['the edge', 'the proxy', 'either'] as const)
  t.test(`a stream survives that what reaches ${side} is lost and the connection cut`, async (t) => {
    const [toEdge, toProxy] = [await LossyProxy.create(server.port), await LossyProxy.create(server.port)]
    const lossy = { 'the edge': [toEdge], 'the proxy': [toProxy], either: [toEdge, toProxy] }[side]
    const { progress, serve } = slowAnswer()
    const proxy = await openProxy(toProxy.url, serve)
    const edge = await openEdge(toEdge.url)
    t.teardown(async () => {
      await edge.close()
      await proxy.close()
      await toEdge.close()
      await toProxy.close()
    })
    const heard = hear(edge.dispatch(routedCall(), stay()))
    for (const after of [20, 60, 100]) {
      await until(() => progress.sent >= after)
      for (const each of lossy) each.dropReplies()
      await until(() => progress.sent >= after + 3)
      for (const each of lossy) {
        each.cut()
        each.passReplies()
      }
    }
    const { bytes, fault } = await heard
    t.equal(fault, undefined)
    t.ok(bytes.equals(whole))
    await proxy.serving.stop()
  })

t.test('a large call survives a cut connection', async (t) => {
  const lossy = await LossyProxy.create(server.port)
  const text = randomBytes(5_000_000).toString('hex')
  const proxy = await openProxy(server.url, ({ body }) => answerOf([Buffer.from(String(body['text']))]))
  const edge = await openEdge(lossy.url)
  t.teardown(async () => {
    await edge.close()
    await proxy.close()
    await lossy.close()
  })
  const answer = edge.dispatch(routedCall({ body: { text } }), stay())[Symbol.asyncIterator]()
  const first = answer.next()
  await delay(20)
  lossy.cut()
  t.match(await first, { value: head })
  const { bytes, fault } = await hear({ [Symbol.asyncIterator]: () => answer })
  t.equal(fault, undefined)
  t.ok(bytes.equals(Buffer.from(text)))
})

t.test('answers survive a server that is killed, and calls wait for its return', async (t) => {
  const { progress, serve } = slowAnswer()
  const proxy = await openProxy(server.url, serve)
  const edge = await openEdge(server.url)
  t.teardown(async () => {
    await edge.close()
    await proxy.close()
  })
  const heard = Array.from({ length: 5 }, () => hear(edge.dispatch(routedCall(), stay())))
  await until(() => progress.sent >= 100)
  await server.stop('SIGKILL')
  await delay(50)
  const later = hear(edge.dispatch(routedCall(), stay()))
  await server.start()
  const answers = await Promise.all(heard)
  t.ok(answers.every(({ bytes, fault }) => fault === undefined && bytes.equals(whole)))
  const { bytes, fault } = await later
  // The edge may be back before the proxy is.
  if (fault === undefined) t.ok(bytes.equals(whole))
  else t.match(fault, { code: 'no_available_channel' })
})
