import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { findChromium, openBrowser, openVisitor, withoutChromium } from '../../../dashboard/browser.ts'
import { plainAsk, secret, startEdge } from '../edge-fixture.ts'

const app = 'https://app.example'
const preflight = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,x-stainless-os',
}

const sharingOf = ({ headers }: Response): Readonly<Record<string, string>> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')))

t.test('no origin is allowed by default', async (t) => {
  const { url, post } = await startEdge(t)
  const asked = await fetch(`${url}/v1/chat/completions`, { method: 'OPTIONS', headers: { ...preflight, origin: app } })
  t.same([asked.status, sharingOf(asked)], [405, {}])
  const answered = await post(plainAsk, { origin: app })
  t.same([answered.status, sharingOf(answered), answered.headers.get('vary')], [200, {}, null])
})

t.test('scripts of a configured origin call the APIs of clients', async (t) => {
  const { url, post } = await startEdge(t, { corsOrigins: [app] })
  const ask = (path: string, origin = app): Promise<Response> =>
    fetch(url + path, { method: 'OPTIONS', headers: { ...preflight, origin } })

  for (const path of [
    '/v1/chat/completions',
    '/v1/messages',
    '/v1/responses',
    '/v1/models',
    '/vv/v1/videos/omni-video',
  ]) {
    const asked = await ask(path)
    t.equal(asked.status, 204, path)
    t.same(sharingOf(asked), {
      'access-control-allow-origin': app,
      'access-control-allow-methods': 'GET,POST,DELETE',
      'access-control-allow-headers': preflight['access-control-request-headers'],
      'access-control-max-age': '7200',
    })
  }

  const shared = { 'access-control-allow-origin': app, 'access-control-expose-headers': '*' }
  const answered = await post(plainAsk, { origin: app })
  t.same([answered.status, sharingOf(answered), answered.headers.get('vary')], [200, shared, 'Origin'])
  const streamed = await post({ ...plainAsk, stream: true }, { origin: app })
  t.same([streamed.status, sharingOf(streamed)], [200, shared])
  await streamed.text()
  const refused = await post(plainAsk, { origin: app, authorization: 'Bearer sk-unknown' })
  t.same([refused.status, sharingOf(refused)], [401, shared])

  const others: readonly (readonly [string, string])[] = [
    ['/v1/chat/completions', 'https://app.example.evil.test'],
    ['/v1/chat/completions', 'http://app.example'],
    ['/v1/chat/completions', 'null'],
    ['/admin/v1/keys', app],
    ['/v1/ledger/wallet', app],
    ['/V1/Ledger/wallet', app],
    ['/v1/ledger', app],
    ['/v1/dashboard/billing', app],
    ['/dashboard', app],
  ]
  for (const [path, origin] of others) t.same(sharingOf(await ask(path, origin)), {}, `${path} for ${origin}`)
  t.same(sharingOf(await post(plainAsk, { origin: 'https://other.example' })), {})
})

const servePage = async (t: Test): Promise<string> => {
  const server = createServer((_request, response) =>
    response.setHeader('Content-Type', 'text/html').end('<title>app</title>'),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Runs in a page: the status, the text and a header of the answer, or the name of the error. */
const callFromPage = (url: string): string => `(async () => {
  try {
    const response = await fetch(${JSON.stringify(url)} + '/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer ${secret}', 'content-type': 'application/json' },
      body: ${JSON.stringify(JSON.stringify(plainAsk))},
    })
    const { choices } = await response.json()
    return [response.status, choices.length, response.headers.has('x-gateway-request-id')]
  } catch (fault) {
    return fault.name
  }
})()`

const chromium = findChromium()

t.test(
  'a browser lets the pages of the configured origin alone call',
  { skip: chromium === null && withoutChromium },
  async (t) => {
    const [allowed, other] = [await servePage(t), await servePage(t)]
    const { url, calls } = await startEdge(t, { corsOrigins: [allowed] })
    const { page } = await openVisitor(t, await openBrowser(chromium ?? ''))
    await page.goto(allowed)
    t.same(await page.evaluate(callFromPage(url)), [200, 1, true])
    await page.goto(other)
    t.equal(await page.evaluate(callFromPage(url)), 'TypeError')
    t.equal(calls.length, 1)
  },
)
