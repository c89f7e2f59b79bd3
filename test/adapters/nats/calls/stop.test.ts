import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { natsLimits } from '../../../../src/adapters/nats/limits.ts'
import { type AnswerPart, type Dispatch, DispatchLost } from '../../../../src/roles/dispatch.ts'
import { answerOf, hear, routedCall, stay, until } from '../../../roles/calls-contract.ts'
import { NatsServer } from '../server.ts'
import { type OpenedEdge, type OpenedProxy, openEdge, openProxy } from './open.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const openBoth = async (
  t: Test,
  serve: Dispatch,
): Promise<{ readonly edge: OpenedEdge; readonly proxy: OpenedProxy }> => {
  const proxy = await openProxy(server.url, serve)
  const edge = await openEdge(server.url)
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

t.test('a call that is not whole when its proxy gives up is lost', async (t) => {
  let served = 0
  const { edge, proxy } = await openBoth(t, () => {
    served += 1
    return answerOf([])
  })
  let opened = 0
  proxy.connection.subscribe('gateway.call', {
    callback: () => {
      opened += 1
    },
  })
  await proxy.connection.flush() // The server listens from here on.
  const text = 'x'.repeat(50 * 1024 * 1024)
  const heard = hear(edge.dispatch(routedCall({ body: { text } }), stay()))
  await until(() => opened > 0)
  const stopped = proxy.serving.stop()
  proxy.serving.giveUp()
  await stopped
  await proxy.server.close()
  t.ok((await heard).fault instanceof DispatchLost)
  t.equal(served, 0)
})
