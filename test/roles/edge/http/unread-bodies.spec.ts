import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { listenerLimits } from '../../../../src/roles/edge/http/limits.ts'
import { until } from '../../../support/clients.ts'
import { plainAsk, secret, startEdge } from '../edge-fixture.ts'

const headOf = (key: string, length: number, more = ''): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${more}Content-Length: ${length}\r\n\r\n`

interface Connection {
  readonly socket: Socket
  readonly statuses: () => readonly string[]
}

const open = (t: Test, port: number): Connection => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  t.teardown(() => socket.destroy())
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  return { socket, statuses: () => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = '']) => status) }
}

/** What Node reads at once. */
const pieceBytesMax = 64 * 1024
const plainText = JSON.stringify(plainAsk)

t.test(
  'what still comes of a body that is answered is thrown away at a pace, and the connection goes on',
  async (t) => {
    const { port } = await startEdge(t)
    const bytes = 2_000_000
    const connections = Array.from({ length: 10 }, () => open(t, port))
    const beganMs = performance.now()
    for (const { socket } of connections) {
      socket.write(headOf('sk-nobody', bytes))
      socket.write(Buffer.alloc(bytes, ' '))
      socket.write(headOf(secret, plainText.length, 'Connection: close\r\n') + plainText)
    }
    await Promise.all(connections.map(({ socket }) => once(socket, 'close')))
    for (const { statuses } of connections) t.same(statuses(), ['401', '200'])
    const turns = (bytes * connections.length) / (pieceBytesMax * listenerLimits.discardPiecesMax)
    t.ok(
      performance.now() - beganMs > turns * listenerLimits.discardTurnMs * 0.8,
      'no faster than so many pieces a turn',
    )
  },
)

t.test('connections wait for that beside others, and end when the edge stops', async (t) => {
  const { port, post, logged, stop } = await startEdge(t)
  const connections = Array.from({ length: 70 }, () => open(t, port))
  for (const { socket, statuses } of connections) {
    socket.write(headOf('sk-nobody', 40_000_000))
    await until(() => statuses().length === 1)
  }
  const ended = (): number => connections.filter(({ socket }) => socket.closed).length
  connections.at(-1)?.socket.destroy()
  t.equal((await post(plainAsk)).status, 200)
  await until(() => ended() === 1)
  await stop()
  await until(() => ended() === connections.length)
  t.same(
    logged.filter(({ level }) => level !== 'debug'),
    [],
  )
})

t.test('what never comes ends with the time for a request', async (t) => {
  const { port, logged } = await startEdge(t, {
    bounds: { headersTimeoutMs: 100, requestBodyTimeoutMs: 200, slowClientsCheckMs: 20 },
  })
  const { socket, statuses } = open(t, port)
  socket.write(headOf('sk-nobody', 1_000_000))
  await once(socket, 'close')
  t.same(statuses(), ['401'])
  t.same(logged, [])
})

t.test('a client that goes takes no turn from those that stay', async (t) => {
  const { port } = await startEdge(t)
  const gone = Array.from({ length: 400 }, () => open(t, port))
  for (const { socket } of gone) socket.write(headOf('sk-nobody', 40_000_000))
  await until(() => gone.every(({ statuses }) => statuses().length === 1))
  for (const { socket } of gone) socket.destroy()
  const { socket, statuses } = open(t, port)
  const bytes = 1_500_000
  const beganMs = performance.now()
  socket.write(headOf('sk-nobody', bytes))
  socket.write(Buffer.alloc(bytes, ' '))
  socket.write(headOf(secret, plainText.length, 'Connection: close\r\n') + plainText)
  await once(socket, 'close')
  t.same(statuses(), ['401', '200'])
  const turnsAmongAll = ((bytes / pieceBytesMax) * gone.length) / listenerLimits.discardPiecesMax
  t.ok(performance.now() - beganMs < (turnsAmongAll * listenerLimits.discardTurnMs) / 3, 'not one turn in a hundred')
})
