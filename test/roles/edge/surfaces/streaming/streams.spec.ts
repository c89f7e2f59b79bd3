import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { GatewayError } from '../../../../../src/errors/gateway-error.ts'
import { until } from '../../../../support/clients.ts'
import { errorOf, plainAsk, type Serve, secret, startEdge, streamHead, textBytes } from '../../edge-fixture.ts'

const streamAsk = { ...plainAsk, stream: true }
const event = (text: string): string => `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`
const done = 'data: [DONE]\n\n'

/** POST over a socket of our own, to see and to pace the bytes. */
const openRaw = (port: number, body: object): Socket => {
  const text = JSON.stringify(body)
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  )
  return socket
}

t.test('events go out as they come', async (t) => {
  const serve: Serve = async function* (call, bill) {
    yield streamHead(call)
    for (const text of ['Hello', ' world']) yield textBytes(event(text))
    await bill()
    yield textBytes(done)
  }
  const { post, calls } = await startEdge(t, { serve })
  const response = await post(streamAsk)
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(response.headers.get('cache-control'), 'no-cache')
  t.equal(response.headers.get('x-accel-buffering'), 'no')
  t.ok(response.headers.get('x-request-id'))
  t.equal(await response.text(), event('Hello') + event(' world') + done)
  t.equal(calls[0]?.stream, true)
})

t.test('an error before the first byte has a status', async (t) => {
  const serve: Serve = async function* (call) {
    yield streamHead(call)
    throw new GatewayError('upstream_error', 'The upstream is gone.')
  }
  const { post } = await startEdge(t, { serve })
  const response = await post(streamAsk)
  t.match({ status: response.status, ...(await errorOf(response)) }, { status: 502, code: 'upstream_error' })
  t.equal(response.headers.get('content-type'), 'application/json')
})

t.test('an error after it is told in the stream, which then ends as streams end', async (t) => {
  const told = `data: ${JSON.stringify({ error: { message: 'Broken off.', type: 'upstream_error', code: 'upstream_stream_interrupted', param: null } })}\n\n${done}`
  for (const [cut, between] of [
    [event('Hello'), ''],
    [event('Hello').slice(0, 20), '\n\n'],
  ] as const) {
    const serve: Serve = async function* (call) {
      yield streamHead(call)
      yield textBytes(cut)
      throw new GatewayError('upstream_stream_interrupted', 'Broken off.')
    }
    const { post } = await startEdge(t, { serve })
    t.equal(await (await post(streamAsk)).text(), cut + between + told)
  }
})

t.test('a fault of ours after it is told without detail and logged once', async (t) => {
  const serve: Serve = async function* (call) {
    yield streamHead(call)
    yield textBytes(event('Hello'))
    throw new Error('the secret detail')
  }
  const { post, logged } = await startEdge(t, { serve })
  const text = await (await post(streamAsk)).text()
  t.match(text, '"code":"internal_error"')
  t.notMatch(text, 'secret')
  t.equal(logged.length, 1)
})

t.test('silence is filled with comments, between events only', async (t) => {
  const half = event('Hello').length / 2
  const { promise: commented, resolve: onComment } = Promise.withResolvers<void>()
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, bill) {
    yield streamHead(call)
    yield textBytes(event('Hello'))
    await commented
    yield textBytes(event('Hello').slice(0, half))
    await goOn
    yield textBytes(event('Hello').slice(half))
    await bill()
    yield textBytes(done)
  }
  const { port } = await startEdge(t, { serve, bounds: { keepAliveCommentMs: 20 } })
  const socket = openRaw(port, streamAsk)
  t.teardown(() => socket.destroy())
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString()
    if (text.includes(': keep-alive\n\n')) onComment()
    // Five comments would have come in this time.
    if (text.includes(event('Hello').slice(0, half), text.indexOf(': keep-alive'))) setTimeout(finish, 100)
  })
  while (!text.includes('[DONE]')) await once(socket, 'data')
  const body = text.replace(/^[0-9a-f]+\r\n|\r\n/gm, '')
  t.match(body, /Hello.*\n\n(?:: keep-alive\n\n)+data: /s)
  t.ok(body.includes(event('Hello') + done), 'the event that came in halves is whole')
})

t.test('a client that leaves is told to the call', async (t) => {
  const { promise: gone, resolve: onGone } = Promise.withResolvers<string>()
  const serve: Serve = async function* (call, _bill, clientGone) {
    yield streamHead(call)
    yield textBytes(event('Hello'))
    await once(clientGone, 'abort')
    onGone('gone')
    throw new GatewayError('invalid_request', 'Nobody reads.', { status: 499 })
  }
  const { port, logged, post } = await startEdge(t, { serve })
  const socket = openRaw(port, streamAsk)
  await once(socket, 'data')
  socket.destroy()
  t.equal(await gone, 'gone')
  t.same(logged, [])
  t.ok(await post({}), 'the edge lives on')
})

t.test('so is one that leaves before an answer', async (t) => {
  const { promise: gone, resolve: onGone } = Promise.withResolvers<string>()
  const { promise: called, resolve: onCalled } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, bill, clientGone) {
    onCalled()
    await once(clientGone, 'abort')
    await bill()
    onGone('gone')
    yield streamHead(call)
    yield textBytes('{}')
  }
  const { port, logged, log } = await startEdge(t, { serve })
  const socket = openRaw(port, plainAsk)
  await called
  socket.destroy()
  t.equal(await gone, 'gone')
  t.same(logged, [])
  t.equal(log.events.filter(({ type }) => type === 'UsageRecorded').length, 1, 'it is billed')
})

t.test('a client that stops reading holds the upstream back, and is disconnected', async (t) => {
  const chunk = event('x'.repeat(64 * 1024))
  const totalMax = 2_000
  let given = 0
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call) {
    try {
      yield streamHead(call)
      for (; given < totalMax; given += 1) yield textBytes(chunk)
    } finally {
      onEnd()
    }
  }
  const { port } = await startEdge(t, { serve, bounds: { clientStallMs: 300 } })
  const socket = openRaw(port, streamAsk)
  const sending = setInterval(() => socket.write('\r\n'), 50) // What it sends gains it nothing.
  t.teardown(() => {
    clearInterval(sending)
    socket.destroy()
  })
  socket.pause()
  const startedMs = Date.now()
  await ended
  t.ok(Date.now() - startedMs >= 250, 'it was waited for')
  t.ok(given < 200, `only what the socket buffers hold was taken: ${given} of ${totalMax}`)
})

t.test('a client that reads too slowly in all is disconnected, whatever it is answered', async (t) => {
  const big = 'x'.repeat(1024 * 1024)
  const parts = 64
  const whole: Serve = async function* (call, bill) {
    await bill()
    yield { type: 'head', contentType: 'application/json', level: 0, model: call.candidates[0]!.model }
    yield textBytes(big.repeat(parts))
  }
  const inPieces: Serve = async function* (call, bill) {
    await bill()
    yield { type: 'head', contentType: 'application/json', level: 0, model: call.candidates[0]!.model }
    for (let given = 0; given < parts; given += 1) yield textBytes(big)
  }
  const streamed: Serve = async function* (call, bill) {
    yield streamHead(call)
    for (let given = 0; given < parts; given += 1) yield textBytes(event(big))
    await bill()
  }
  for (const [ask, serve] of [
    [plainAsk, whole],
    [plainAsk, inPieces],
    [streamAsk, streamed],
  ] as const) {
    const { port } = await startEdge(t, { serve, bounds: { answerReadMs: 200 } })
    const socket = openRaw(port, ask)
    const closed = once(socket, 'close')
    let read = 0
    socket.on('data', (bytes) => {
      read += bytes.length
      socket.pause()
      setTimeout(() => socket.resume(), 10)
    })
    await closed
    t.ok(read < parts * big.length, `${read} bytes were read`)
  }
})

t.test('a client that reads slowly gets everything', async (t) => {
  const chunk = event('x'.repeat(64 * 1024))
  const total = 200
  const serve: Serve = async function* (call, bill) {
    yield streamHead(call)
    for (let given = 0; given < total; given += 1) yield textBytes(chunk)
    await bill()
    yield textBytes(done)
  }
  const { port } = await startEdge(t, { serve, bounds: { clientStallMs: 500 } })
  const socket = openRaw(port, streamAsk)
  t.teardown(() => socket.destroy())
  let read = 0
  let last = ''
  socket.on('data', (bytes) => {
    read += bytes.length
    last = bytes.toString('latin1').slice(-60)
    socket.pause()
    setTimeout(() => socket.resume(), 2)
  })
  while (!last.includes('[DONE]')) await once(socket, 'data')
  t.ok(read > total * chunk.length)
})

t.test('an answer that nobody reads ends its connection', async (t) => {
  const big = `"${'x'.repeat(30 * 1024 * 1024)}"`
  const serve: Serve = async function* (call, bill) {
    await bill()
    yield { type: 'head', contentType: 'application/json', level: 0, model: call.candidates[0]!.model }
    yield textBytes(big)
  }
  const { port, logged } = await startEdge(t, { serve, requestLines: true, bounds: { clientStallMs: 200 } })
  const socket = openRaw(port, plainAsk)
  socket.pause()
  await once(socket, 'connect')
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  let read = 0
  socket.on('data', (bytes) => {
    read += bytes.length
  })
  socket.on('close', () => resolve())
  await until(() => logged.some(({ event, fields }) => event === 'request.served' && 'cut' in fields))
  socket.resume() // What the kernel holds is read after the stall, and is not all of it.
  await closed
  t.ok(read < big.length)
})
