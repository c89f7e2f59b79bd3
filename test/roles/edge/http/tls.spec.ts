import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect as connectPlain, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { type Certificate, type Certificates, makeCertificates } from '../../../support/certificates.ts'
import { until } from '../../../support/clients.ts'
import { completionText, plainAsk, secret, startEdge } from '../edge-fixture.ts'

const newCertificates = async (t: Test): Promise<Certificates> => {
  const certificates = await makeCertificates()
  t.teardown(() => certificates.remove())
  return certificates
}

const serialOf = ({ certFile }: Certificate): string => new X509Certificate(readFileSync(certFile)).serialNumber

const handshake = async (port: number, options: object = {}): Promise<{ protocol: string | null; serial: string }> => {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  try {
    await once(socket, 'secureConnect')
    return { protocol: socket.getProtocol(), serial: socket.getPeerCertificate().serialNumber }
  } finally {
    socket.destroy()
  }
}

const askOver = async (port: number, ca: string): Promise<{ status: number | undefined; body: string }> => {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const asked = request({ port, host: 'localhost', ca, method: 'POST', path: '/v1/chat/completions', headers })
  asked.end(JSON.stringify(plainAsk))
  const [response] = await once(asked, 'response')
  return { status: response.statusCode, body: await text(response) }
}

t.test('the edge serves HTTPS by TLS 1.2 and 1.3 alone', async (t) => {
  const certificates = await newCertificates(t)
  const { url, port } = await startEdge(t, { tls: certificates.server })
  t.equal(url, `https://127.0.0.1:${port}`)
  const ca = readFileSync(certificates.caFile, 'utf8')
  t.same(await askOver(port, ca), { status: 200, body: completionText })
  t.equal((await handshake(port)).protocol, 'TLSv1.3')
  t.equal((await handshake(port, { maxVersion: 'TLSv1.2' })).protocol, 'TLSv1.2')
  const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
  await t.rejects(handshake(port, old))
  const plain = connectPlain(port, '127.0.0.1').on('error', () => undefined)
  plain.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  t.notMatch(await text(plain).catch(() => ''), /HTTP/, 'plain HTTP gets no answer')
  t.same(await askOver(port, ca), { status: 200, body: completionText })
})

/** A folder whose link `now` leads to one of its folders, as orchestrators mount secrets. */
const mountSecret = (t: Test) => {
  const folder = t.testdir({})
  const files = { certFile: join(folder, 'now', 'tls.crt'), keyFile: join(folder, 'now', 'tls.key') }
  let count = 0
  const mount = (cert: string, key: string): void => {
    count += 1
    const name = `..${count}`
    mkdirSync(join(folder, name))
    copyFileSync(cert, join(folder, name, 'tls.crt'))
    copyFileSync(key, join(folder, name, 'tls.key'))
    symlinkSync(name, join(folder, 'next'))
    renameSync(join(folder, 'next'), join(folder, 'now'))
  }
  return { files, mount }
}

t.test('a certificate that changes is served, and a pair that cannot be used is not', async (t) => {
  const certificates = await newCertificates(t)
  const first = certificates.server
  const second = await certificates.newClient('second')
  const { files, mount } = mountSecret(t)
  mount(first.certFile, first.keyFile)
  const { port, logged } = await startEdge(t, { tls: files, bounds: { tlsReloadMs: 10 } })
  const served = async (): Promise<string> => (await handshake(port)).serial
  const events = (): readonly string[] => logged.map(({ event }) => event)
  t.equal(await served(), serialOf(first))

  mount(second.certFile, second.keyFile)
  await until(() => events().includes('tls.certificate_reloaded'))
  t.equal(await served(), serialOf(second))

  mount(first.certFile, second.keyFile)
  await until(() => events().includes('tls.certificate_rejected'))
  t.equal(await served(), serialOf(second), 'the one before is served on')
  t.match(logged.at(-1), { level: 'error', fields: { fault: { message: /tls\.key is not the key of .*tls\.crt/ } } })

  mount(first.certFile, first.keyFile)
  await until(() => events().length === 4)
  t.equal(await served(), serialOf(first))
  t.same(events(), [
    'tls.certificate_reloaded',
    'tls.certificate_rejected',
    'tls.certificate_usable',
    'tls.certificate_reloaded',
  ])

  writeFileSync(files.certFile, '')
  await until(() => events().length === 5)
  t.equal(await served(), serialOf(first), 'nor is an empty file')
})

t.test('handshakes that do not end give way to others, and end with their time', async (t) => {
  const certificates = await newCertificates(t)
  const bounds = { tlsHandshakesMax: 3, tlsHandshakeMs: 300, connectionsPerAddressMax: 5 }
  const { port } = await startEdge(t, { tls: certificates.server, bounds })
  const open = async (): Promise<Socket> => {
    const socket = connectPlain(port, '127.0.0.1').on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }
  const sockets = [await open(), await open(), await open()]
  const [oldest] = sockets
  const gone = once(oldest!, 'close')
  t.equal((await handshake(port)).protocol, 'TLSv1.3', 'served at once')
  await gone
  const rest = sockets.slice(1)
  t.ok(
    rest.every((socket) => !socket.closed),
    'and the others may go on',
  )
  await Promise.all(rest.map((socket) => once(socket, 'close')))
  for (let round = 0; round < 12; round += 1) t.equal((await handshake(port)).protocol, 'TLSv1.3')
})

t.test('a handshake that does not end does not hold up a stop', async (t) => {
  const certificates = await newCertificates(t)
  const { port, stop } = await startEdge(t, { tls: certificates.server })
  const socket = connectPlain(port, '127.0.0.1').on('error', () => undefined)
  await once(socket, 'connect')
  await handshake(port)
  const began = performance.now()
  await stop()
  t.ok(performance.now() - began < 2_000)
})
