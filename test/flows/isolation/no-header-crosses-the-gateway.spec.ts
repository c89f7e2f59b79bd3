import { type IncomingMessage, request } from 'node:http'
import t from 'tap'
import { until } from '../../support/clients.ts'
import { configOf, sheetOf, startTestGateway } from '../../support/gateway.ts'
import { startUpstreamBeforeSandbox } from '../../support/upstream-before-sandbox.ts'
import { videoOptions } from '../../support/video.ts'

const planted = 'PLANTED'

/** What an upstream says of itself and its account, or would do to the client's connection. */
const upstreamHeaders: readonly (readonly [name: string, value: string])[] = [
  ['Set-Cookie', `session=${planted}; Path=/`],
  ['OpenAI-Organization', planted],
  ['OpenAI-Project', planted],
  ['Anthropic-Organization-Id', planted],
  ['X-RateLimit-Limit-Requests', planted],
  ['X-Request-Id', planted],
  ['Request-Id', planted],
  ['X-Gateway-Request-Id', planted],
  ['X-Gateway-Resolved-Model', planted],
  ['Idempotent-Replayed', planted],
  ['Connection', 'x-of-the-hop'],
  ['X-Of-The-Hop', planted],
  ['Proxy-Authenticate', planted],
  ['WWW-Authenticate', planted],
  ['Upgrade', planted],
  ['Trailer', 'x-trailed'],
  ['Via', planted],
  ['Server', planted],
  ['Strict-Transport-Security', `max-age=1; ${planted}`],
  ['Access-Control-Allow-Origin', '*'],
  ['Alt-Svc', planted],
  ['Location', `http://${planted}.example/`],
]

const clientHeaders: Readonly<Record<string, string>> = {
  cookie: `session=${planted}`,
  forwarded: `for=${planted}`,
  'x-forwarded-for': planted,
  'x-forwarded-host': planted,
  'x-real-ip': planted,
  via: planted,
  'x-gateway-request-id': planted,
  'x-gateway-workspace': planted,
  'x-request-id': planted,
  'proxy-authorization': planted,
  'proxy-connection': planted,
  connection: 'keep-alive, x-of-the-hop, authorization',
  'x-of-the-hop': planted,
  te: 'trailers',
  'openai-organization': planted,
  'openai-project': planted,
  'api-key': planted,
  'x-goog-api-key': planted,
  'user-agent': planted,
  referer: `http://${planted}.example/`,
  origin: `http://${planted}.example`,
  accept: `text/${planted}`,
  'accept-language': planted,
  'x-stainless-lang': planted,
}

/** All that may come with a request upstream. */
const toldUpstream = new Set([
  ...['host', 'connection', 'authorization', 'x-api-key', 'x-goog-api-key', 'content-type', 'content-length', 'accept'],
  ...['accept-encoding', 'anthropic-version', 'anthropic-beta'],
])

/** All that may come with an answer. */
const toldClient = new Set([
  ...['x-gateway-request-id', 'x-request-id', 'request-id', 'cache-control', 'x-content-type-options', 'content-type'],
  ...['content-length', 'transfer-encoding', 'date', 'connection', 'keep-alive', 'x-accel-buffering', 'vary'],
])

const messages = [{ role: 'user', content: 'Hello!' }]
const asks: readonly (readonly [path: string, body: object])[] = [
  ...['openai/a', 'anthropic/b', 'gemini/c'].flatMap((model) =>
    [false, true].flatMap(
      (stream) =>
        [
          ['/v1/chat/completions', { model, messages, stream }],
          ['/v1/messages', { model, messages, max_tokens: 20, stream }],
        ] as const,
    ),
  ),
  ['/v1/responses', { model: 'openai/a', input: 'Hello!' }],
  ['/v1/responses', { model: 'openai/a', input: 'Hello!', stream: true }],
  ['/v1/chat/completions', { model: 'openai/a', messages: [{ role: 'user', content: 'Hello!' }], n: 'no number' }],
  ['/v1/video/generations', { model: 'vv/v3', prompt: 'A cat.', metadata: { mode: 'std', duration: '5' } }],
]

t.test('an upstream is told our key and what is asked, a client what is answered', async (t) => {
  const { url: upstreamUrl, received } = await startUpstreamBeforeSandbox(t, upstreamHeaders)
  const { providers, videoVendors } = configOf('', upstreamUrl, {})
  const sheets = Object.fromEntries(['openai/a', 'anthropic/b', 'gemini/c'].map((model) => [model, sheetOf()]))
  const { gateway, account } = await startTestGateway(t, videoOptions(sheets, { providers, videoVendors }))

  const send = (method: string, path: string, body?: object): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = {
        ...clientHeaders,
        authorization: `Bearer ${account.secret}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      }
      request(new URL(path, gateway.url), { method, headers, agent: false }, resolve)
        .on('error', reject)
        .end(body === undefined ? undefined : JSON.stringify(body))
    })
  const read = async (answer: IncomingMessage): Promise<string> => Buffer.concat(await answer.toArray()).toString()

  for (const [path, body] of asks) {
    const answer = await send('POST', path, body)
    const text = await read(answer)
    const what = `${path} ${JSON.stringify(body)}`
    t.ok(answer.statusCode === 200 || 'n' in body, `${what}: ${answer.statusCode} ${text}`)
    t.same(
      Object.keys(answer.headers).filter((name) => !toldClient.has(name)),
      [],
      what,
    )
    t.notMatch(answer.rawHeaders.join('\n'), planted, what)
    t.notMatch(text, planted, what)
    if (path === '/v1/responses' && !('stream' in body))
      t.match(await read(await send('GET', `${path}/${JSON.parse(text).id}`)), /completed/)
  }
  await until(() =>
    received.some(({ asked: { method, url } }) => method === 'GET' && url?.includes('/videos/') === true),
  )
  t.ok(received.length >= asks.length)
  for (const { rawHeaders, url = '', headers } of received.map(({ asked }) => asked)) {
    t.same(
      Object.keys(headers).filter((name) => !toldUpstream.has(name)),
      [],
      url,
    )
    t.notMatch(rawHeaders.join('\n'), new RegExp(`${planted}|${account.secret}|of-the-hop`), url)
  }
})
