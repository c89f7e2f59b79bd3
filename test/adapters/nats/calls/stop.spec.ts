import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { natsLimits } from '../../../../src/adapters/nats/limits.ts'
import { type AnswerPart, AnswerUnread, type Dispatch, DispatchLost } from '../../../../src/roles/dispatch.ts'
import { answerOf, hear, routedCall, stay } from '../../../roles/calls-contract.ts'
import { LossyProxy } from '../lossy-proxy.ts'
import { NatsServer } from '../server.ts'
import { type OpenedEdge, type OpenedProxy, openEdge, openProxy } from './open.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const openBoth = async (
  t: Test,
  serve: Dispatch,
  edgeUrl = server.url,
): Promise<{ readonly edge: OpenedEdge; readonly proxy: OpenedProxy }> => {
  const proxy = await openProxy(server.url, serve)
  const edge = await openEdge(edgeUrl)
  t.teardown(async () => {
    await edge.close()
    await proxy.close()
  })
  return { edge, proxy }
}

/** A reader that has asked for the head and nothing more. */
const slowReaderOf = async ({ dispatch }: OpenedEdge): Promise<AsyncIterable<AnswerPart>> => {
  const answer = dispatch(routedCall({ stream: false }), stay())[Symbol.asyncIterator]()
  await answer.next()
  return { [Symbol.asyncIterator]: () => answer }
}

t.test('a proxy that gives up breaks off what its reader has not asked for, and tells it', async (t) => {
  const large = randomBytes(2 * natsLimits.callsWindowBytes)
  const { edge, proxy } = await openBoth(t, () => answerOf([large]))
  const slow = await slowReaderOf(edge)
  let isStopped = false
  const stopped = proxy.serving.stop().then(() => {
    isStopped = true
  })
  await proxy.connection.flush()
  t.notOk(isStopped, 'until then its reader is waited for')
  proxy.serving.giveUp()
  await stopped
  const { bytes, fault } = await hear(slow)
  t.ok(bytes.length > 0 && bytes.length < large.length, `${bytes.length} bytes came`)
  t.ok(bytes.equals(large.subarray(0, bytes.length)))
  t.match(fault, { code: 'upstream_stream_interrupted' })
  t.notOk(fault instanceof AnswerUnread, 'it was not its reader that took too long')
})

t.test('a proxy that gives up still gives out what its reader has room for', async (t) => {
  const small = randomBytes(natsLimits.callsWindowBytes / 2)
  const { promise: goOn, resolve } = Promise.withResolvers<void>()
  const { edge, proxy } = await openBoth(t, async function* () {
    yield* answerOf([])
    await goOn
    yield { type: 'bytes', bytes: small }
  })
  const slow = await slowReaderOf(edge)
  const stopped = proxy.serving.stop()
  proxy.serving.giveUp()
  resolve()
  await stopped
  const { bytes, fault } = await hear(slow)
  t.equal(fault, undefined)
  t.ok(bytes.equals(small))
})

for (const when of ['after', 'before'])
  t.test(`a call that is not whole is lost: its proxy gives up ${when} it accepts it`, async (t) => {
    const wire = await LossyProxy.create(server.port)
    t.teardown(() => wire.close())
    let served = 0
    const serve: Dispatch = () => {
      served += 1
      return answerOf([])
    }
    const { edge, proxy } = await openBoth(t, serve, wire.url)
    const { promise: stopped, resolve } = Promise.withResolvers<void>()
    const giveUp = (): void => {
      resolve(proxy.serving.stop())
      proxy.serving.giveUp()
    }
    proxy.connection.subscribe('gateway.call', {
      // The server sends the opening here before it does to the queue group of the proxies.
      callback: () => {
        wire.holdRequests('test')
        if (when === 'before') giveUp()
        else void proxy.connection.flush().then(giveUp)
      },
    })
    await proxy.connection.flush() // The server listens from here on.
    const text = 'x'.repeat(8 * natsLimits.callsWindowBytes) // More than can be on its way when the wire holds the rest.
    const heard = hear(edge.dispatch(routedCall({ body: { text } }), stay()))
    await stopped
    wire.passRequests()
    await proxy.server.close()
    t.ok((await heard).fault instanceof DispatchLost)
    t.equal(served, 0)
    t.same(proxy.logger.lines, [], 'it did not wait until it took the edge for lost')
  })
