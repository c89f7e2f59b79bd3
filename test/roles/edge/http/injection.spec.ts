import { hash } from 'node:crypto'
import t from 'tap'
import { exchangeRaw } from '../../../support/raw-http.ts'
import { secret, startEdge } from '../edge-fixture.ts'

const injected = '\r\nX-Injected: 1\r\n\r\n'
const token = 'a-token-of-ana-that-nobody-can-guess'
const admins = [{ name: 'ana', sha256: hash('sha256', token), role: 'owner' as const }]

const posted = (path: string, bearer: string, body: object, more: readonly string[] = []): string => {
  const text = JSON.stringify(body)
  const headers = ['Host: x', `Authorization: Bearer ${bearer}`, 'Content-Type: application/json', ...more]
  const framing = [`Content-Length: ${Buffer.byteLength(text)}`, 'Connection: close']
  return [`POST ${path} HTTP/1.1`, ...headers, ...framing, '', text].join('\r\n')
}

t.test('what a request holds becomes no header of its answer', async (t) => {
  const { port, logged } = await startEdge(t, {
    catalog: { aliases: { [`plain${injected}`]: 'openai/plain' }, routers: { auto: { candidates: ['openai/plain'] } } },
    requestLines: true,
  })
  const messages = [{ role: 'user', content: injected }]
  const rows: readonly object[] = [
    { model: `plain${injected}`, messages },
    { model: `openai/plain${injected}`, messages },
    { model: `gateway/auto${injected}`, messages },
    { model: 'x', models: [`openai/absent${injected}`, 'openai/plain'], messages },
    { model: 'openai/plain', messages, [`member${injected}`]: 1, user: injected },
  ]
  for (const body of rows) {
    const { text, statuses } = await exchangeRaw(port, posted('/v1/chat/completions', secret, body))
    t.equal(statuses.length, 1, text)
    t.notMatch(text, /^x-injected/im)
  }
  t.notMatch(JSON.stringify(logged.filter(({ event }) => event === 'request.served')), 'X-Injected')
})

t.test('a name that stands in a subject of NATS is one token of it', async (t) => {
  const { url, log } = await startEdge(t, { admins })
  const before = log.events.length
  for (const id of ['a.b', '*', '>', 'a b', 'a\r\nPUB b', 'a\0', '', '..', 'A', 'é', 'x'.repeat(64)]) {
    const response = await fetch(`${url}/admin/v1/workspaces`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id, name: id }),
    })
    t.equal(response.status, 400, JSON.stringify(id))
  }
  t.equal(log.events.length, before)
})
