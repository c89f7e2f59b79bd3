import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Fact } from '../../../../src/events/envelope.ts'
import { admissionLimits } from '../../../../src/roles/edge/admission/limits.ts'
import { until } from '../../../support/clients.ts'
import {
  answerJson,
  type EdgeOptions,
  errorOf,
  plainAsk,
  type Serve,
  secret,
  sheetOf,
  startEdge,
  type TestEdge,
  workspaceId,
} from '../edge-fixture.ts'

const bytesMax = 262_144
const free = sheetOf({ per_million_tokens: { input: '0', output: '0' } })
const freeAsk = { ...plainAsk, model: 'openai/free' }
const poor: EdgeOptions = { creditUsd: '0', sheets: { 'openai/free': free } }
const version = { 'anthropic-version': '2023-06-01' }
const spent = { status: 402, type: 'insufficient_quota', code: 'insufficient_user_quota' }

/** The JSON of a body with so many bytes. */
const padded = (body: object, bytes: number): string => {
  const empty = JSON.stringify({ ...body, user: '' }).length
  return JSON.stringify({ ...body, user: 'x'.repeat(bytes - empty) })
}

const refusalOf = async (response: Response): Promise<object> => ({
  status: response.status,
  ...(await errorOf(response)),
})

const learn = async ({ log, tail }: TestEdge, fact: Fact): Promise<void> => {
  const { sequence } = await log.postToWallet(workspaceId, [fact])
  await tail.waitForSequence(sequence)
}

const headOf = (length: number, more = ''): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n${more}Content-Length: ${length}\r\n\r\n`

const open = (t: Test, port: number): { readonly socket: Socket; readonly statuses: () => readonly string[] } => {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  return { socket, statuses: () => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = '']) => status) }
}

t.test('without money, a body above 256 KB is refused wherever one is read; a smaller one is read', async (t) => {
  t.equal(admissionLimits.unfundedBodyBytesMax, bytesMax)
  const { post, calls, queued } = await startEdge(t, poor)
  const rows: readonly (readonly [path: string, headers?: Record<string, string>])[] = [
    ['/v1/chat/completions'],
    ['/v1/messages', version],
    ['/v1/messages/count_tokens', version],
    ['/v1/responses'],
    ['/v1/video/generations'],
    ['/v1/videos'],
    ['/v1/videos', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['/vv/v1/videos/image2video'],
  ]
  for (const [path, headers] of rows) {
    const refused = await post(padded({ no: 'request' }, bytesMax + 1), headers, path)
    const text = await refused.text()
    t.equal(refused.status, 402, path)
    t.match(text, /262144 bytes/, path)
    t.ok(refused.headers.get('x-gateway-request-id'), path)
    const read = await post(padded({ no: 'request' }, bytesMax), headers, path)
    t.equal(read.status, 400, `${path}: read, and found wanting`)
    await read.text()
  }
  t.equal(calls.length + queued.size, 0)
})

t.test('it is refused before it is sent, and the connection goes on', async (t) => {
  const { port } = await startEdge(t, poor)
  const { socket, statuses } = open(t, port)
  const bytes = 1_000_000
  socket.write(headOf(bytes))
  await once(socket, 'data')
  t.same(statuses(), ['402'])
  socket.write(Buffer.alloc(bytes, ' '))
  const small = JSON.stringify(freeAsk)
  socket.write(headOf(small.length, 'Connection: close\r\n') + small)
  await once(socket, 'close')
  t.same(statuses(), ['402', '200'], 'what came all the same was thrown away')
})

t.test('a body whose length is not announced is refused when it passes the bound', async (t) => {
  const { port, post, url } = await startEdge(t, poor)
  const chunk = `8000\r\n${' '.repeat(0x8000)}\r\n`
  const { socket, statuses } = open(t, port)
  socket.write(headOf(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked'))
  for (let sent = 0; sent < 8; sent += 1) socket.write(chunk)
  t.match(await post(freeAsk), { status: 200 })
  t.same(statuses(), [], 'as long as it may become a small one')
  socket.write('1\r\n \r\n')
  await once(socket, 'data')
  t.same(statuses(), ['402'])
  t.equal((await fetch(`${url}/healthz`)).status, 200)
})

t.test('what is free, and what was paid before, is answered without money', async (t) => {
  const edge = await startEdge(t, { ...poor, creditUsd: '1' })
  const key = { 'idempotency-key': 'order-7' }
  const paid = await (await edge.post(plainAsk, key)).text()
  await learn(edge, {
    type: 'AdjustmentPosted',
    data: { adjustmentId: 'a', workspaceId, amount: '-0.99998', reason: 'reconciliation', corrects: 'a', note: '' },
  })
  t.match(await refusalOf(await edge.post(padded(plainAsk, bytesMax + 1))), spent)
  const again = await edge.post(plainAsk, key)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal(await again.text(), paid)
  t.equal((await edge.post(padded(freeAsk, bytesMax))).status, 200)
})

t.test('money that is held, a credit limit, or new credit is money', async (t) => {
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, bill) {
    if (call.body['user'] === 'waits') await goOn
    yield* answerJson(call, bill)
  }
  // The worst case of one request is all that there is.
  const held = await startEdge(t, { ...poor, creditUsd: '0.0021', serve })
  const waiting = held.post({ ...plainAsk, user: 'waits' })
  await until(() => held.calls.length === 1)
  t.equal((await held.post(padded(freeAsk, bytesMax + 1))).status, 200)
  finish()
  await (await waiting).text()

  const poorEdge = await startEdge(t, poor)
  const large = padded(freeAsk, bytesMax + 1)
  t.match(await refusalOf(await poorEdge.post(large)), spent)
  await learn(poorEdge, { type: 'WorkspaceChanged', data: { workspaceId, name: 'Acme', creditLimit: '5' } })
  t.equal((await poorEdge.post(large)).status, 200)
  await learn(poorEdge, { type: 'WorkspaceChanged', data: { workspaceId, name: 'Acme', creditLimit: '0' } })
  t.equal((await poorEdge.post(large)).status, 402)
  await learn(poorEdge, {
    type: 'WalletCredited',
    data: { workspaceId, amount: '1', reference: 'credit-2', note: '' },
  })
  t.equal((await poorEdge.post(large)).status, 200)
})
