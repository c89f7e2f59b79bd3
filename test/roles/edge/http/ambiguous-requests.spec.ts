import t from 'tap'
import { exchangeRaw } from '../../../support/raw-http.ts'
import { answerJson, completionText, plainAsk, type Serve, secret, startEdge } from '../edge-fixture.ts'

const body = JSON.stringify(plainAsk)
const usual = [`Host: x`, `Authorization: Bearer ${secret}`, 'Content-Type: application/json']
const last = 'Connection: close'

const requestOf = (headers: readonly string[], content: string, line = 'POST /v1/chat/completions HTTP/1.1'): string =>
  [line, ...headers, '', content].join('\r\n')

const chat = (headers: readonly string[], content = body): string => requestOf([...usual, ...headers], content)
const get = (line: string, headers: readonly string[] = []): string =>
  requestOf(['Host: x', ...headers, last], '', line)

const lengthOf = `Content-Length: ${body.length}`
/** What would be a second request, were the first one's end seen elsewhere. */
const smuggled = get('GET /healthz HTTP/1.1')
const chunked = 'Transfer-Encoding: chunked'
const inOneChunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

const shortBounds = {
  headersTimeoutMs: 300,
  requestBodyTimeoutMs: 600,
  slowClientsCheckMs: 50,
  idleConnectionMs: 300,
}

t.test('what two readers can read differently is refused, and nothing behind it is read', async (t) => {
  const { port, calls, logged } = await startEdge(t, { bounds: shortBounds })
  const rows: readonly (readonly [what: string, bytes: string])[] = [
    ['a length and chunks', chat([lengthOf, chunked], `0\r\n\r\n${smuggled}`)],
    ['chunks and a length', chat([chunked, lengthOf], `0\r\n\r\n${smuggled}`)],
    ['two lengths', chat([lengthOf, `Content-Length: ${body.length + 1}`]) + smuggled],
    ['the same length twice', chat([lengthOf, lengthOf]) + smuggled],
    ...['5, 5', '+5', '-1', '0x5', '5 5', '1e1', '99999999999999999999999'].map(
      (length) => [`the length ${length}`, chat([`Content-Length: ${length}`]) + smuggled] as const,
    ),
    ...['identity', 'xchunked', 'chunked, identity', 'gzip', 'gzip, chunked', 'chunked, chunked', '"chunked"'].map(
      (coding) => [`the coding ${coding}`, chat([`Transfer-Encoding: ${coding}`], inOneChunk) + smuggled] as const,
    ),
    ['a coding twice', chat([chunked, chunked], inOneChunk) + smuggled],
    ['chunks of HTTP/1.0', requestOf([...usual, chunked], inOneChunk, 'POST /v1/models HTTP/1.0')],
    ['a blank before a colon', chat([`Content-Length : ${body.length}`]) + smuggled],
    ['a blank before a name', requestOf([...usual, ` X: y`, lengthOf], body) + smuggled],
    ['line feeds alone', chat([lengthOf]).replaceAll('\r\n', '\n') + smuggled],
    ['a line feed alone', chat([`X: y\n${lengthOf}`]) + smuggled],
    ['a carriage return alone', chat([`X: y\r${lengthOf}`]) + smuggled],
    ['a zero byte', chat(['X: \0', lengthOf]) + smuggled],
    ['a name that is none', chat(['X(y): z', lengthOf]) + smuggled],
    ...['-1', '0x5', ' 5', '5\n', 'g', 'fffffffffffffffff'].map(
      (size) =>
        [`the chunk ${JSON.stringify(size)}`, chat([chunked], `${size}\r\n${body}\r\n0\r\n\r\n`) + smuggled] as const,
    ),
    ['a chunk without its end', chat([chunked], `4\r\nabcdX5\r\n0\r\n\r\n`) + smuggled],
    ['a chunk with a long extension', chat([chunked], `5;${'x'.repeat(20_000)}\r\n`) + smuggled],
    ...['authorization', 'Host', 'CONTENT-TYPE', 'x-api-key', 'idempotency-key', 'content-encoding'].map(
      (name) => [`${name} twice`, chat([`${name}: a`, `${name}: b`, lengthOf, last])] as const,
    ),
    [
      'a key twice, and another in the address',
      get('GET /v1/models?key=sk-a HTTP/1.1', ['Authorization: Bearer a', 'Authorization: Bearer b']),
    ],
    [
      'more headers than are looked at',
      chat([...Array.from({ length: 100 }, (_, at) => `x-${at}: y`), lengthOf, last]),
    ],
    [
      'a credential behind a hundred headers',
      chat([lengthOf, last, ...Array.from({ length: 100 }, (_, at) => `x-${at}: y`), 'authorization: Bearer other']),
    ],
    ['no host', requestOf(['X: y'], '', 'GET /healthz HTTP/1.1') + smuggled],
    ['a version that is none', get('GET /healthz HTTP/1.2') + smuggled],
    ['another protocol', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['half a line', 'GET /healthz'],
  ]
  for (const [what, bytes] of rows) {
    const { statuses, text } = await exchangeRaw(port, bytes)
    t.ok(statuses.length === 1 && statuses.every((status) => status >= 400 && status < 500), `${what}: ${text}`)
  }
  t.same(calls, [])
  t.same(logged, [])
  t.match(await exchangeRaw(port, chat([lengthOf, last])), { statuses: [200], text: completionText })
  t.match(await exchangeRaw(port, chat([chunked, last], inOneChunk)), { statuses: [200], text: completionText })
})

t.test('a trailer is no header', async (t) => {
  const { port, calls } = await startEdge(t)
  const trailed = `${body.length.toString(16)}\r\n${body}\r\n0\r\nAuthorization: Bearer ${secret}\r\n\r\n`
  const bytes = requestOf(
    ['Host: x', 'Content-Type: application/json', 'Trailer: authorization', chunked, last],
    trailed,
  )
  t.match(await exchangeRaw(port, bytes), { statuses: [401] })
  t.same(calls, [])
})

t.test('a target is a path, however it is written', async (t) => {
  const { port, logged } = await startEdge(t)
  const rows: readonly (readonly [line: string, status: number])[] = [
    ['GET /healthz HTTP/1.1', 200],
    ['GET http://elsewhere.example/healthz?x=1 HTTP/1.1', 200],
    ['GET HTTPS://elsewhere.example:443/healthz HTTP/1.1', 200],
    ['GET http://elsewhere.example/nothing HTTP/1.1', 404],
    ['GET http://[::/healthz HTTP/1.1', 400],
    ['GET http://a:b:c/healthz HTTP/1.1', 400],
    ['GET mailto:healthz HTTP/1.1', 400],
    ['OPTIONS * HTTP/1.1', 400],
    ['GET //elsewhere.example/healthz HTTP/1.1', 404],
    ['GET /healthz%00 HTTP/1.1', 404],
    ['GET /healthz#fragment HTTP/1.1', 200],
    ['GET /v1/../healthz HTTP/1.1', 404],
    ['GET /v1/%2e%2e/healthz HTTP/1.1', 404],
    ['GET /%68ealthz HTTP/1.1', 404],
    ['GET /healthz\\ HTTP/1.1', 404],
    ['GET /%0d%0aX-Injected:%201 HTTP/1.1', 404],
    ['TRACE /healthz HTTP/1.1', 405],
    ['OPTIONS /healthz HTTP/1.1', 405],
    ['HEAD /healthz HTTP/1.1', 200],
    ['PROPFIND /v1/models HTTP/1.1', 405],
  ]
  for (const [line, status] of rows) {
    const { statuses, text } = await exchangeRaw(port, get(line))
    t.same(statuses, [status], line)
    t.notMatch(text, /^x-injected/im)
  }
  t.match((await exchangeRaw(port, get('CONNECT elsewhere.example:443 HTTP/1.1'))).statuses, [])
  t.same(logged, [])
})

t.test('an upgrade is not taken: the request is answered as it is', async (t) => {
  const { port } = await startEdge(t, { bounds: shortBounds })
  for (const protocol of ['websocket', 'h2c']) {
    const headers = ['Host: x', `Upgrade: ${protocol}`, 'Connection: Upgrade', 'HTTP2-Settings: AAMAAABkAAQAAP__']
    const bytes = requestOf(headers, '', 'GET /healthz HTTP/1.1') + smuggled
    const { statuses, text } = await exchangeRaw(port, bytes)
    t.notOk(statuses.includes(101), `${protocol}: ${text}`)
  }
})

t.test('requests behind each other have their own answers, in their order', async (t) => {
  const { port } = await startEdge(t)
  const { statuses } = await exchangeRaw(
    port,
    chat([lengthOf]) + requestOf(['Host: x'], '', 'GET /v1/ledger/usage HTTP/1.1') + chat([lengthOf, last]),
  )
  t.same(statuses, [200, 401, 200])
})

t.test('what breaks behind a request is not taken for its answer', async (t) => {
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, bill) {
    await goOn
    yield* answerJson(call, bill)
  }
  const { port } = await startEdge(t, { serve })
  const answered = exchangeRaw(port, `${chat([lengthOf])}this is no HTTP\r\n\r\n`)
  const { text } = await answered
  finish()
  t.equal(text, '')
})

t.test('what breaks off after its refusal has one answer', async (t) => {
  const { port } = await startEdge(t, { bounds: shortBounds })
  const unauthorized = requestOf(['Host: x', chunked], '5\r\nhello\r\nno chunk', 'POST /v1/chat/completions HTTP/1.1')
  const [first = '', rest = ''] = [unauthorized.slice(0, -8), unauthorized.slice(-8)]
  t.same((await exchangeRaw(port, first + rest)).statuses.length <= 1, true)
  t.same((await exchangeRaw(port, first)).statuses, [401])
})

t.test('one connection has so many requests open, and not more', async (t) => {
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  let running = 0
  const serve: Serve = async function* (call, bill) {
    running += 1
    if (running === 2) setTimeout(finish, 50) // The others were sent with them, and are refused by then.
    await goOn
    yield* answerJson(call, bill)
  }
  const { port } = await startEdge(t, { serve, bounds: { pipelinedRequestsMax: 2 } })
  const { statuses } = await exchangeRaw(port, chat([lengthOf]).repeat(4) + chat([lengthOf, last]))
  t.same(statuses, [200, 200, 429, 429, 429])
  t.equal(running, 2)
})
