import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { UndiciClient } from '../../src/adapters/http/client.ts'
import type { Connection } from '../../src/providers/dialect/provider.ts'
import { HttpFault, readBody } from '../../src/providers/http.ts'
import { makeCertificates } from '../support/certificates.ts'

const listen = async (t: Test, server: Server): Promise<number> => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const startUpstream = async (t: Test) => {
  const certificates = await makeCertificates()
  t.teardown(() => certificates.remove())
  const { certFile, keyFile } = certificates.server
  const server = createHttpsServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) =>
    request.resume().on('end', () => response.end('served')),
  )
  return { url: `https://127.0.0.1:${await listen(t, server)}/v1`, ca: readFileSync(certificates.caFile, 'utf8') }
}

/** Tunnels for those who have the password; the result is its address and what was asked of it. */
const startProxy = async (t: Test) => {
  const asked: string[] = []
  const server = createHttpServer()
  server.on('connect', ({ url = '', headers }: IncomingMessage, client: Socket) => {
    const isKnown = headers['proxy-authorization'] === `Basic ${Buffer.from('us:p@ss').toString('base64')}`
    asked.push(`${isKnown ? 'known' : 'unknown'} ${url}`)
    if (!isKnown) return client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    const [host = '', port = ''] = url.split(':')
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    upstream.on('error', () => client.destroy())
    client.on('error', () => upstream.destroy())
  })
  return { port: await listen(t, server), asked }
}

const askBy = (t: Test) => {
  const http = new UndiciClient()
  t.teardown(() => http.stop())
  const signal = new AbortController().signal
  return async (url: string, connection?: Connection): Promise<string> => {
    try {
      const request = { url, method: 'POST', headers: {}, body: '{}', signal, firstByteTimeoutMs: 5_000 } as const
      const response = await http.request({ ...request, connection })
      return Buffer.from((await readBody(response, 1_000)) ?? []).toString()
    } catch (fault) {
      if (fault instanceof HttpFault) return fault.kind
      throw fault
    }
  }
}

t.test('a certificate counts by the authority that is named, for that connection alone', async (t) => {
  const { url, ca } = await startUpstream(t)
  const ask = askBy(t)
  t.equal(await ask(url), 'network')
  t.equal(await ask(url, { ca }), 'served')
  t.equal(await ask(url), 'network', 'no connection of the other way is used')
})

t.test('the way leads over the proxy, which is given its password and no more', async (t) => {
  const { url, ca } = await startUpstream(t)
  const proxy = await startProxy(t)
  const ask = askBy(t)
  t.equal(await ask(url, { ca, proxyUrl: `http://us:p%40ss@127.0.0.1:${proxy.port}` }), 'served')
  t.equal(await ask(url, { ca, proxyUrl: `http://us:wrong@127.0.0.1:${proxy.port}` }), 'network')
  t.equal(await ask(url, { ca, proxyUrl: `http://127.0.0.1:${proxy.port}` }), 'network')
  const { host } = new URL(url)
  t.same(proxy.asked, [`known ${host}`, `unknown ${host}`, `unknown ${host}`])
  t.equal(await ask(url, { ca }), 'served')
  t.equal(proxy.asked.length, 3, 'and only where it is named')
})
