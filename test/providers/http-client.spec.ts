import { createServer, type RequestListener } from 'node:http'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { UndiciClient } from '../../src/adapters/http/client.ts'
import { HttpFault, type HttpRequest, type HttpResponse } from '../../src/providers/http.ts'
import { blockEventLoop } from '../support/clients.ts'

const listen = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1?x=1`)
    })
  })

interface Bench {
  readonly request: (more?: Partial<HttpRequest>) => Promise<HttpResponse>
  /** Connections made. */
  readonly connections: () => number
}

const benchOf = async (t: Test, server: Server): Promise<Bench> => {
  const http = new UndiciClient()
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  const url = await listen(server)
  t.teardown(async () => {
    await http.stop()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const signal = new AbortController().signal
  const usual = { url, method: 'POST', headers: {}, body: '{}', signal, firstByteTimeoutMs: 5_000 } as const
  return { request: (more = {}) => http.request({ ...usual, ...more }), connections: () => sockets.size }
}

const serve = (t: Test, listener: RequestListener): Promise<Bench> => benchOf(t, createServer(listener))

const read = async (response: HttpResponse): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const faultOf = async (doing: Promise<unknown>): Promise<string> => {
  try {
    await doing
    return 'none'
  } catch (fault) {
    if (fault instanceof HttpFault) return fault.kind
    throw fault
  }
}

t.test('path, query, body and encoding as asked; a compressed body stays as it is', async (t) => {
  const packed = gzipSync('hello')
  const { request } = await serve(t, (asked, answer) => {
    t.match([asked.method, asked.url, asked.headers['accept-encoding']], ['POST', '/v1?x=1', 'identity'])
    answer.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)
  })
  t.ok(packed.equals(await read(await request())))
})

t.test('a redirect is an answer', async (t) => {
  const { request } = await serve(t, (_, answer) => answer.writeHead(302, { location: '/elsewhere' }).end())
  const response = await request()
  t.match(response, { status: 302, headers: { location: '/elsewhere' } })
  t.equal((await read(response)).length, 0)
})

t.test('silence before the head, and behind it', async (t) => {
  const silent = await serve(t, () => undefined)
  t.equal(await faultOf(silent.request({ firstByteTimeoutMs: 50 })), 'timeout')
  const headed = await serve(t, (_, answer) => answer.writeHead(200).flushHeaders())
  t.equal(await faultOf(headed.request({ firstByteTimeoutMs: 50 }).then(read)), 'timeout')
})

t.test('after the first byte silence is no fault', async (t) => {
  const { request } = await serve(t, (_, answer) => {
    answer.write('a')
    setTimeout(() => answer.end('b'), 800)
  })
  t.equal((await read(await request({ firstByteTimeoutMs: 500 }))).toString(), 'ab')
})

t.test('silence between two pieces, where it is bounded: of the upstream, not of the reader', async (t) => {
  const { request } = await serve(t, (_, answer) => {
    answer.write('a')
    setTimeout(() => answer.write('b'), 30)
  })
  const idleTimeoutMs = 300
  t.equal(await faultOf(request({ idleTimeoutMs }).then(read)), 'timeout')
  const { body } = await request({ idleTimeoutMs })
  const chunks = body[Symbol.asyncIterator]()
  await chunks.next()
  await pause(2 * idleTimeoutMs)
  t.equal((await chunks.next()).value?.toString(), 'b', 'what came while nobody read is there')
  t.equal(await faultOf(chunks.next()), 'timeout')
})

t.test('bytes that wait in the socket when a time-out fires late count: the event loop was blocked', async (t) => {
  const timeoutMs = 200
  const upstream = Promise.withResolvers<Socket>()
  const writeAndBlock = (socket: Socket, text: string): void => {
    socket.write(text)
    blockEventLoop(2 * timeoutMs)
  }
  const { request } = await benchOf(
    t,
    createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => writeAndBlock(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na'))
      upstream.resolve(socket)
    }),
  )
  const { body } = await request({ firstByteTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs })
  const chunks = body[Symbol.asyncIterator]()
  t.equal((await chunks.next()).value?.toString(), 'a')
  const waiting = chunks.next()
  writeAndBlock(await upstream.promise, 'b')
  t.equal((await waiting).value?.toString(), 'b')
})

t.test('aborted: before, without a head, inside the body', async (t) => {
  const { request } = await serve(t, (asked, answer) => {
    if (asked.headers['x-body'] !== undefined) answer.write('a')
  })
  t.equal(await faultOf(request({ signal: AbortSignal.abort() })), 'aborted')
  t.equal(await faultOf(request({ signal: AbortSignal.timeout(30) })), 'aborted')
  const stop = new AbortController()
  const { body } = await request({ headers: { 'x-body': '1' }, signal: stop.signal })
  const chunks = body[Symbol.asyncIterator]()
  t.equal((await chunks.next()).value?.length, 1)
  const waiting = chunks.next()
  stop.abort()
  t.equal(await faultOf(waiting), 'aborted')
})

t.test('a connection that is cut', async (t) => {
  const refused = await benchOf(
    t,
    createTcpServer((socket) => void socket.destroy()),
  )
  t.equal(await faultOf(refused.request()), 'network')
  const cut = await benchOf(
    t,
    createTcpServer((socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc')),
  )
  t.equal(await faultOf(cut.request().then(read)), 'network')
  const garbled = await benchOf(
    t,
    createTcpServer((socket) => void socket.end('SMTP ready\r\n')),
  )
  t.equal(await faultOf(garbled.request()), 'network')
})

t.test('a small rest is drained and its connection used again; a large one is cut', async (t) => {
  const small = await serve(t, (_, answer) => answer.end('x'.repeat(1_000)))
  for (let index = 0; index < 20; index += 1) {
    const response = await small.request()
    response.discard()
    t.equal((await read(response)).length, 0)
  }
  // The pool may open a second one while the first is just being given back.
  t.ok(small.connections() <= 2, `${small.connections()} connections`)
  const cut = Promise.withResolvers<void>()
  const large = await serve(t, (_, answer) => {
    answer.on('close', () => cut.resolve())
    answer.write('x'.repeat(64 * 1024 * 1024))
  })
  const response = await large.request()
  response.discard()
  await cut.promise
})
