import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { listenerLimits } from '../../../../src/roles/edge/http/limits.ts'
import { HttpListener } from '../../../../src/roles/edge/http/listener.ts'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { until } from '../../../support/clients.ts'
import { silentLogger } from '../../../support/log-lines.ts'
import {
  answerJson,
  completionText,
  jsonHead,
  plainAsk,
  type Serve,
  secret,
  startEdge,
  streamHead,
  textBytes,
} from '../edge-fixture.ts'

const headOf = (length: number): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

/** All that a connection answers to these bytes until it ends. */
const exchange = async (port: number, bytes: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString()
  })
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

const shortBounds = { headersTimeoutMs: 100, requestBodyTimeoutMs: 200, slowClientsCheckMs: 20 }

t.test('slow and broken requests end with an error object and an id', async (t) => {
  const { port, post, logged } = await startEdge(t, { bounds: shortBounds })
  const rows: readonly (readonly [what: string, bytes: string, status: number])[] = [
    ['headers that never end', 'GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: ', 408],
    ['a body that never ends', `${headOf(100)}{"model":`, 408],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['headers without bound', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ]
  for (const [what, bytes, status] of rows) {
    const [head = '', body = ''] = (await exchange(port, bytes)).split('\r\n\r\n')
    t.ok(head.startsWith(`HTTP/1.1 ${status} `), `${what}: ${head.split('\r\n')[0]}`)
    t.match(head, /x-gateway-request-id: \S+/i)
    t.match(JSON.parse(body), { error: { type: 'invalid_request_error', code: null } })
  }
  await until(async () => (await post(plainAsk)).status === 200) // Of a busy machine even this may be slow.
  t.same(logged, [])
})

t.test('a slow request to the messages surface ends in the words of that surface', async (t) => {
  const { port } = await startEdge(t, { bounds: shortBounds })
  const head = headOf(100)
    .replace('/v1/chat/completions', '/v1/messages?beta=true')
    .replace('Host: x', 'anthropic-version: 2023-06-01\r\nHost: x')
  const [answered = '', body = ''] = (await exchange(port, `${head}{"model":`)).split('\r\n\r\n')
  t.match(answered, /^HTTP\/1\.1 408 /)
  t.match(JSON.parse(body), { type: 'error', error: { type: 'invalid_request_error' }, request_id: String })
})

t.test(
  'a request without host, and one that expects what there is not, end with an error object and an id',
  async (t) => {
    const { port, logged } = await startEdge(t, { requestLines: true })
    const rest = 'Connection: close\r\n\r\n'
    const rows: readonly (readonly [bytes: string, status: number, words: RegExp])[] = [
      [`GET /healthz HTTP/1.1\r\n${rest}`, 400, /`Host`/],
      [`POST /v1/messages HTTP/1.1\r\n${rest}`, 400, /`Host`.*"request_id"/],
      [`GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: a-pony\r\n${rest}`, 417, /`100-continue`/],
      [`POST /v1/messages HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 9\r\n${rest}`, 417, /"request_id"/],
    ]
    for (const [bytes, status, words] of rows) {
      const [head = '', body = ''] = (await exchange(port, bytes)).split('\r\n\r\n')
      t.ok(head.startsWith(`HTTP/1.1 ${status} `), `${bytes.split('\r\n')[0]}: ${head.split('\r\n')[0]}`)
      const [, requestId] = /x-gateway-request-id: (\S+)/i.exec(head) ?? []
      t.match(head, new RegExp(`\\bx-request-id: ${requestId}`, 'i'))
      t.match(JSON.parse(body), { error: { type: 'invalid_request_error', code: null } })
      t.match(body, words)
      t.match(logged.at(-1), { event: 'request.served', fields: { requestId, status } })
    }
    t.match(await exchange(port, `GET /healthz HTTP/1.0\r\n${rest}`), /^HTTP\/1\.1 200 /, 'which needs no host')
    t.match(
      await exchange(port, `GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n${rest}`),
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /,
    )
  },
)

t.test('an upload that is given up', async (t) => {
  const { port, post, logged } = await startEdge(t)
  const socket = connect(port, '127.0.0.1')
  socket.write(`${headOf(1_000)}{"model"`)
  await once(socket, 'connect')
  socket.destroy()
  t.equal((await post(plainAsk)).status, 200)
  t.same(
    logged.filter(({ level }) => level !== 'debug'),
    [],
  )
})

t.test('more connections than the limit are not taken', async (t) => {
  const { port } = await startEdge(t, { bounds: { connectionsMax: 1 } })
  const first = connect(port, '127.0.0.1')
  t.teardown(() => first.destroy())
  await once(first, 'connect')
  const second = connect(port, '127.0.0.1')
  second.on('error', () => undefined)
  await once(second, 'close')
  t.equal(first.destroyed, false)
})

interface Received {
  readonly status: number | undefined
  readonly connection: string | undefined
  readonly text: string
}

const ask = (port: number, agent: Agent): Promise<Received> =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify(plainAsk)
    const headers = {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      'content-length': body.length,
    }
    const sent = request(
      { port, host: '127.0.0.1', agent, method: 'POST', path: '/v1/chat/completions', headers },
      async (response) => {
        const chunks = await response.toArray()
        resolve({
          status: response.statusCode,
          connection: response.headers.connection,
          text: Buffer.concat(chunks).toString(),
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })

t.test('stop finishes what is in flight, ends its connection, and gives the allowance back', async (t) => {
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const { promise: called, resolve: onCalled } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, bill) {
    onCalled()
    await goOn
    yield* answerJson(call, bill)
  }
  const { port, stop, log, url } = await startEdge(t, { serve })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const answered = ask(port, agent)
  await called
  const stopped = stop()
  await t.rejects(fetch(`${url}/healthz`), 'no new connection is taken')
  finish()
  t.match(await answered, { status: 200, connection: 'close', text: completionText })
  await stopped
  t.equal(log.events.at(-1)?.type, 'HoldReleased')
})

t.test('a new request on a connection that is kept alive is refused while stopping', async (t) => {
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, bill) {
    await bill()
    yield { type: 'head', contentType: 'text/event-stream', level: 0, model: call.candidates[0]!.model }
    yield textBytes('data: {}\n\n')
    await goOn
    yield textBytes('data: [DONE]\n\n')
  }
  const { port, stop } = await startEdge(t, { serve })
  const body = JSON.stringify(plainAsk)
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString()
  })
  socket.write(headOf(body.length) + body)
  while (!text.includes('data: {}')) await once(socket, 'data')
  const stopped = stop()
  socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`)
  finish()
  await once(socket, 'close')
  await stopped
  t.match(text, /\[DONE\]/)
  t.match(text, /HTTP\/1\.1 503 .*connection: close/is)
})

t.test('an edge that leaves is not ready, and serves who comes all the same, on a last connection', async (t) => {
  const { port, stop, url } = await startEdge(t, { bounds: { withdrawMs: 1_000 } })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  t.match(await ask(port, agent), { status: 200, connection: 'keep-alive' })
  const stopped = stop()
  const ready = await fetch(`${url}/readyz`)
  t.equal(ready.status, 503)
  t.match(await ready.json(), { checks: { accepting: { ok: false, reason: 'is stopping' } } })
  t.match(await ask(port, agent), { status: 200, connection: 'close', text: completionText })
  await stopped
  await t.rejects(fetch(`${url}/readyz`))
})

t.test('a stream of an edge that leaves ends its connection too', async (t) => {
  const serve: Serve = async function* (call, bill) {
    await bill()
    yield streamHead(call)
    yield textBytes('data: [DONE]\n\n')
  }
  const { port, stop } = await startEdge(t, { serve, bounds: { withdrawMs: 1_000 } })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  t.match(await ask(port, agent), { status: 200, connection: 'keep-alive' })
  const stopped = stop()
  t.match(await ask(port, agent), { status: 200, connection: 'close', text: 'data: [DONE]\n\n' })
  await stopped
})

t.test('more requests than there is room for, of all or of one workspace, are refused', async (t) => {
  for (const [bounds, status, code] of [
    [{ workspaceOpenRequestsMax: 2 }, 429, 'concurrency_limit_exceeded'],
    [{ openRequestsMax: 2 }, 503, 'no_available_channel'],
  ] as const) {
    const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
    let open = 0
    const serve: Serve = async function* (call, bill) {
      open += 1
      await goOn
      yield* answerJson(call, bill)
    }
    const { post, url } = await startEdge(t, { serve, bounds })
    const served = [post(plainAsk), post(plainAsk)]
    while (open < 2) await pause(5)
    const refused = await post(plainAsk)
    t.equal(refused.status, status)
    t.ok(Number(refused.headers.get('retry-after')) >= 1)
    t.match(await refused.json(), { error: { code } })
    t.equal((await fetch(`${url}/healthz`)).status, 200, 'what costs nothing is answered')
    finish()
    for (const each of await Promise.all(served)) t.match(await each.text(), completionText)
    t.equal((await post(plainAsk)).status, 200, 'there is room again')
  }
})

const bodyOf = (bytes: number): string =>
  JSON.stringify({ ...plainAsk, user: 'u'.repeat(bytes - JSON.stringify({ ...plainAsk, user: '' }).length) })

t.test('the bodies of open requests have a bound in bytes, announced or not, until the requests end', async (t) => {
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  let open = 0
  const serve: Serve = async function* (call, bill) {
    open += 1
    await goOn
    yield* answerJson(call, bill)
  }
  const { port, url } = await startEdge(t, { serve, bounds: { workspaceOpenBytesMax: 10_000 } })
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const send = (body: string | ReadableStream): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body, duplex: 'half' })
  const inPieces = (text: string): ReadableStream => new Blob([text]).stream()
  const served = [send(bodyOf(4_000)), send(inPieces(bodyOf(4_000)))]
  while (open < 2) await pause(5)
  for (const [what, refused] of [
    ['announced', await send(bodyOf(2_001))],
    ['in pieces', await send(inPieces(bodyOf(2_001)))],
  ] as const) {
    t.equal(refused.status, 429, what)
    t.ok(Number(refused.headers.get('retry-after')) >= 1)
    t.match(await refused.json(), { error: { code: 'byte_limit_exceeded', type: 'rate_limit_error' } })
  }
  const silent = connect(port, '127.0.0.1').end(headOf(2_001))
  const [answered] = await once(silent, 'data')
  t.match(String(answered), /^HTTP\/1\.1 429 /, 'before a byte of it has come')
  silent.destroy()
  finish()
  for (const each of await Promise.all(served)) t.match(await each.text(), completionText)
  t.equal((await send(bodyOf(9_000))).status, 200, 'there is room again')
})

t.test('a body that never ends, and one whose client leaves, give back what they took', async (t) => {
  const { port, url } = await startEdge(t, { bounds: { ...shortBounds, workspaceOpenBytesMax: 5_000 } })
  const send = (): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: bodyOf(4_000),
    })
  t.match(await exchange(port, headOf(4_000) + bodyOf(4_000).slice(0, 3_000)), /^HTTP\/1\.1 408 /)
  t.equal((await send()).status, 200, 'the slow one')
  const socket = connect(port, '127.0.0.1')
  socket.write(headOf(4_000) + bodyOf(4_000).slice(0, 3_000))
  await until(async () => (await send()).status === 429)
  socket.destroy()
  await until(async () => (await send()).status === 200)
})

t.test('a request whose client has left takes its room for as long as it goes on', async (t) => {
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const { promise: called, resolve: onCalled } = Promise.withResolvers<void>()
  const { promise: gone, resolve: onGone } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, bill, clientGone) {
    onCalled()
    clientGone.addEventListener('abort', () => onGone(), { once: true })
    await goOn
    yield* answerJson(call, bill)
  }
  const { post, url } = await startEdge(t, { serve, bounds: { workspaceOpenRequestsMax: 1 } })
  const leave = new AbortController()
  const left = fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(plainAsk),
    signal: leave.signal,
  })
  await called
  leave.abort()
  await t.rejects(left)
  await gone
  t.equal((await post(plainAsk)).status, 429)
  finish()
  while ((await post(plainAsk)).status !== 200) await pause(5)
})

t.test('what outlives the stop limit is broken off', async (t) => {
  const { promise: called, resolve: onCalled } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, _bill, clientGone) {
    onCalled()
    await once(clientGone, 'abort')
    yield jsonHead(call)
  }
  const { port, stop } = await startEdge(t, { serve, bounds: { stopMs: 100 } })
  const agent = new Agent()
  const answered = ask(port, agent)
  answered.catch(() => undefined)
  await called
  await stop()
  await t.rejects(answered)
})

t.test('of requests that arrive together some are handled in each turn, in turn between credentials', async (t) => {
  const handled: { readonly turn: number; readonly path: string | undefined }[] = []
  let turn = 0
  const countTurns = (): void => {
    turn += 1
    setImmediate(countTurns).unref()
  }
  countTurns()
  const listener = new HttpListener({
    handler:
      () =>
      ({ url: path }, response) => {
        if (handled.length === 0) sockets.at(-1)?.resetAndDestroy()
        handled.push({ turn, path })
        response.end()
      },
    bounds: { ...sharedLimits, ...listenerLimits },
    newId: randomUUID,
    logger: silentLogger,
    tls: undefined,
  })
  const { port } = await listener.listen('127.0.0.1', 0)
  t.teardown(() => listener.abortOpen(0))
  const paths = ['/other', ...Array.from({ length: 300 }, () => '/busy'), '/other', '/busy/left']
  const sockets = await Promise.all(
    paths.map(async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    }),
  )
  await until(async () => (await listener.connections()) === paths.length)
  for (const [at, path] of paths.entries())
    sockets[at]?.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${path.split('/')[1]}\r\n\r\n`)
  await until(() => handled.length >= paths.length - 1)
  const counts = [...Map.groupBy(handled, (each) => each.turn).values()].map(({ length }) => length)
  t.ok(Math.max(...counts) <= listenerLimits.requestsPerTurn, counts.join())
  t.ok(handled.findLastIndex(({ path }) => path === '/other') < paths.length / 2, 'before most of the busy one')
  t.notOk(handled.some(({ path }) => path === '/busy/left'))
  for (const socket of sockets) socket.destroy()
})
