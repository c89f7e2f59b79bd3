import { randomBytes } from 'node:crypto'
import t from 'tap'
import { natsLimits } from '../../../../src/adapters/nats/limits.ts'
import { type AnswerPart, type Dispatch, DispatchLost, type RoutedRequest } from '../../../../src/roles/dispatch.ts'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { answerOf, bytesPart, head, hear, routedCall, stay } from '../../../roles/calls-contract.ts'
import { until } from '../../../support/clients.ts'
import { LossyProxy } from '../lossy-proxy.ts'
import { NatsServer } from '../server.ts'
import { openEdge, openProxy } from './open.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

/** Answers with its head and then nothing, until it is told to go. */
const silent = () => {
  const signals: AbortSignal[] = []
  const serve: Dispatch = async function* (_, clientGone) {
    signals.push(clientGone)
    yield head
    await new Promise((resolve) => clientGone.addEventListener('abort', resolve))
  }
  return { signals, serve }
}

const elapsedMs = async (work: () => Promise<unknown>): Promise<number> => {
  const startedMs = Date.now()
  await work()
  return Date.now() - startedMs
}

t.test('without a proxy a call is lost within seconds of the start, and later at once', async (t) => {
  const edge = await openEdge(server.url)
  t.teardown(() => edge.close())
  for (const withinMs of [natsLimits.callsAcceptMs, natsLimits.callsAbsentMs / 2]) {
    const tookMs = await elapsedMs(async () => {
      const { fault } = await hear(edge.dispatch(routedCall(), stay()))
      t.ok(fault instanceof DispatchLost)
      t.match(fault, { code: 'no_available_channel', retryAfterSeconds: 1 })
    })
    t.ok(tookMs < withinMs, `${tookMs} ms`)
  }
})

t.test('a proxy that is gone is found within seconds, and what had come before is read first', async (t) => {
  const proxy = await openProxy(server.url, async function* (_, clientGone) {
    yield head
    yield bytesPart(Buffer.from('half'))
    await new Promise((resolve) => clientGone.addEventListener('abort', resolve))
  })
  const edge = await openEdge(server.url)
  t.teardown(() => edge.close())
  const answer = edge.dispatch(routedCall(), stay())[Symbol.asyncIterator]()
  await answer.next()
  const tookMs = await elapsedMs(async () => {
    await proxy.connection.close()
    const { bytes, fault } = await hear({ [Symbol.asyncIterator]: () => answer })
    t.equal(bytes.toString(), 'half')
    t.ok(fault instanceof DispatchLost)
    t.match(fault, { code: 'upstream_stream_interrupted' })
  })
  t.ok(tookMs < natsLimits.callsSilentMs, `${tookMs} ms`)
  await proxy.server.close()
})

t.test('an edge that is gone is found within seconds', async (t) => {
  const { signals, serve } = silent()
  const proxy = await openProxy(server.url, serve)
  t.teardown(() => proxy.close())
  const edge = await openEdge(server.url)
  const answer = edge.dispatch(routedCall(), stay())[Symbol.asyncIterator]()
  await answer.next()
  const rest = answer.next().catch((fault: unknown) => fault)
  const tookMs = await elapsedMs(async () => {
    await edge.connection.close()
    await until(() => signals[0]?.aborted === true)
  })
  t.ok(tookMs < natsLimits.callsSilentMs, `${tookMs} ms`)
  t.match(await rest, { code: 'upstream_stream_interrupted' }, 'and without a connection nobody is waited for')
  await edge.client.close()
  await proxy.serving.stop()
})

t.test('a proxy that falls silent is given up, and is told when it is back', async (t) => {
  const lossy = await LossyProxy.create(server.port)
  t.teardown(() => lossy.close())
  const { signals, serve } = silent()
  const proxy = await openProxy(lossy.url, serve)
  t.teardown(() => proxy.close())
  const edge = await openEdge(server.url)
  t.teardown(() => edge.close())
  const answer = edge.dispatch(routedCall(), stay())[Symbol.asyncIterator]()
  await answer.next()
  const tookMs = await elapsedMs(async () => {
    lossy.holdReplies()
    t.match(await answer.next().catch((fault: unknown) => fault), { code: 'upstream_stream_interrupted' })
  })
  t.ok(tookMs > natsLimits.callsSilentMs - 1_000 && tookMs < 3 * natsLimits.callsSilentMs, `${tookMs} ms`)
  lossy.passReplies()
  await until(() => signals[0]?.aborted === true)
  const { fault } = await hear(edge.dispatch(routedCall({ deadlineMs: Date.now() - 14_000 }), stay()))
  t.match(fault, { code: 'upstream_timeout' }, 'and takes calls again')
})

t.test('a proxy that accepts too late is told to leave it', async (t) => {
  const lossy = await LossyProxy.create(server.port)
  t.teardown(() => lossy.close())
  const { signals, serve } = silent()
  const proxy = await openProxy(server.url, serve)
  t.teardown(() => proxy.close())
  const edge = await openEdge(lossy.url)
  t.teardown(() => edge.close())
  lossy.holdReplies()
  const { fault } = await hear(edge.dispatch(routedCall(), stay()))
  t.ok(fault instanceof DispatchLost)
  t.match(fault, { code: 'no_available_channel' })
  lossy.passReplies()
  await until(() => signals[0]?.aborted === true)
})

t.test('a proxy that does not end a call in time is not waited for', async (t) => {
  const { signals, serve } = silent()
  const proxy = await openProxy(server.url, serve)
  t.teardown(() => proxy.close())
  const edge = await openEdge(server.url)
  t.teardown(() => edge.close())
  const deadlineMs = Date.now() - sharedLimits.closingAckMs - natsLimits.callsEndLateMs + 500
  const { fault } = await hear(edge.dispatch(routedCall({ deadlineMs }), stay()))
  t.ok(fault instanceof DispatchLost)
  t.match(fault, { code: 'upstream_timeout' })
  await until(() => signals[0]?.aborted === true)
})

t.test('a reader of a complete answer is not bound by the deadline of its request', async (t) => {
  const { serve: serveSilently } = silent()
  const large = randomBytes(2 * natsLimits.callsWindowBytes)
  const proxy = await openProxy(server.url, (call, ...rest) =>
    call.stream ? serveSilently(call, ...rest) : answerOf([large]),
  )
  t.teardown(() => proxy.close())
  const edge = await openEdge(server.url)
  t.teardown(() => edge.close())
  const deadlineMs = Date.now() - sharedLimits.closingAckMs - natsLimits.callsEndLateMs + 500
  const answer = edge.dispatch(routedCall({ deadlineMs, stream: false }), stay())[Symbol.asyncIterator]()
  await answer.next()
  const late = await hear(edge.dispatch(routedCall({ deadlineMs }), stay()))
  t.match(late.fault, { code: 'upstream_timeout' }, 'the deadline has passed')
  const { bytes, fault } = await hear({ [Symbol.asyncIterator]: () => answer })
  t.equal(fault, undefined)
  t.ok(bytes.equals(large))
})

t.test('who records the end of a call whose client went early', async (t) => {
  const seen: RoutedRequest[] = []
  const signals: AbortSignal[] = []
  const proxy = await openProxy(server.url, async function* (call, clientGone): AsyncGenerator<AnswerPart> {
    seen.push(call)
    signals.push(clientGone)
    yield head
    await new Promise((resolve) => clientGone.addEventListener('abort', resolve))
  })
  t.teardown(() => proxy.close())
  const edge = await openEdge(server.url)
  t.teardown(() => edge.close())

  const { fault: untaken } = await hear(edge.dispatch(routedCall(), AbortSignal.abort()))
  t.ok(untaken instanceof DispatchLost, 'the edge, where no proxy has heard of it')
  t.match(untaken, { status: 499 })
  t.equal(seen.length, 0)

  const gone = new AbortController()
  const taken = hear(edge.dispatch(routedCall(), gone.signal))
  gone.abort()
  const { fault } = await taken
  t.notOk(fault instanceof DispatchLost, 'the proxy, once it has the call')
  t.match(fault, { status: 499 })
  await until(() => signals[0]?.aborted === true)

  const large = routedCall({ body: { text: randomBytes(2_000_000).toString('hex') } })
  const goneAgain = new AbortController()
  const half = hear(edge.dispatch(large, goneAgain.signal))
  goneAgain.abort()
  t.ok((await half).fault instanceof DispatchLost, 'the edge, while the proxy has only half of it')
  t.equal(seen.length, 1)
})

t.test('a proxy that is gone after the client of its call records nothing: the call is lost', async (t) => {
  const leave: Record<string, (answer: AsyncIterator<AnswerPart>, client: AbortController) => Promise<unknown>> = {
    'its reader waits for the end': (answer, client) => {
      const end = answer.next()
      client.abort()
      return end
    },
    'its reader ended': (answer) => answer.return!(),
  }
  for (const [how, leaves] of Object.entries(leave)) {
    const left = Promise.withResolvers<void>()
    const over = Promise.withResolvers<void>()
    const proxy = await openProxy(server.url, async function* (_, clientGone) {
      clientGone.addEventListener('abort', () => left.resolve())
      yield head
      await over.promise
    })
    const edge = await openEdge(server.url)
    const client = new AbortController()
    const answer = edge.dispatch(routedCall(), client.signal)[Symbol.asyncIterator]()
    await answer.next()
    const fault = leaves(answer, client).catch((each: unknown) => each)
    await left.promise
    await proxy.connection.close()
    t.ok((await fault) instanceof DispatchLost, how)
    over.resolve()
    await proxy.server.close()
    await edge.close()
  }
})

t.test('a fault of the proxy stays there', async (t) => {
  const proxy = await openProxy(server.url, async function* () {
    yield head
    throw new TypeError('sk-secret')
  })
  t.teardown(() => proxy.close())
  const edge = await openEdge(server.url)
  t.teardown(() => edge.close())
  const { fault } = await hear(edge.dispatch(routedCall(), stay()))
  t.match(fault, { code: 'internal_error' })
  t.notMatch(String(fault), 'sk-secret')
  t.match(proxy.logger.lines, [{ event: 'dispatch.call_failed' }])
})

t.test('clocks that differ do not move a deadline', async (t) => {
  const hourMs = 3_600_000
  let seenMs = 0
  const proxy = await openProxy(
    server.url,
    (call) => {
      seenMs = call.deadlineMs
      return answerOf([])
    },
    { clock: () => Date.now() + hourMs },
  )
  t.teardown(() => proxy.close())
  const edge = await openEdge(server.url)
  t.teardown(() => edge.close())
  const call = routedCall()
  await hear(edge.dispatch(call, stay()))
  t.ok(Math.abs(seenMs - hourMs - call.deadlineMs) < hourMs / 60)
})
