import type { LookupAddress } from 'node:dns'
import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { GuardedClient, isPublicAddress } from '../../../src/adapters/http/guarded-client.ts'
import { httpClientLimits } from '../../../src/adapters/http/limits.ts'
import { HttpFault, type HttpRequest } from '../../../src/providers/http.ts'
import { isCallablePort } from '../../../src/runtime/callback-ports.ts'
import { makeCertificates } from '../../support/certificates.ts'

const publicAddresses = ['8.8.8.8', '1.1.1.1', '172.15.255.255', '172.32.0.1', '100.63.255.255', '2606:4700:4700::1111']
const wrappedPublicAddresses = ['::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '64:ff9b::808:808']

/** By what they are. */
const others: Readonly<Record<string, readonly string[]>> = {
  'this host': ['127.0.0.1', '127.255.255.254', '::1', '0.0.0.0', '0.1.2.3', '::', '::ffff:127.0.0.1', '::127.0.0.1'],
  'a private network': [
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    'fc00::1',
    'fd12:3456::1',
    'fec0::1',
  ],
  'the link': ['169.254.1.1', 'fe80::1', 'fe80::1%eth0'],
  'the metadata of a cloud': ['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '::ffff:169.254.169.254'],
  'the host of a cloud’s machine': ['168.63.129.16', '::ffff:168.63.129.16', '64:ff9b::a83f:8110'],
  'a provider behind NAT': ['100.64.0.1', '100.127.255.255'],
  many: ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
  'a test or a document': [
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '2001:db8::1',
    '3fff::1',
    '2001:2::1',
  ],
  'reserved or not assigned': ['240.0.0.1', '192.0.0.1', '192.88.99.1', '4000::1', '100::1', '5f00::1', '::7f00:1'],
  'another in disguise': [
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::808:808',
    '2002:7f00:1::',
    '2002:808:808::',
    '2001:0:808:808::1',
    '::ffff:0:127.0.0.1',
  ],
  'no address': ['', 'localhost', 'example.com', '1.2.3', '256.1.1.1'],
}

t.test('which addresses are public', async (t) => {
  for (const address of [...publicAddresses, ...wrappedPublicAddresses]) t.ok(isPublicAddress(address), address)
  for (const [kind, addresses] of Object.entries(others))
    for (const address of addresses) t.notOk(isPublicAddress(address), `${address}: ${kind}`)
})

interface Receiver {
  readonly port: number
  readonly asked: string[]
}

const receiverOf = (t: Test, server: ReturnType<typeof createServer>): Promise<Receiver> => {
  const asked: string[] = []
  server.on('request', ({ url = '' }) => asked.push(url))
  t.teardown(() => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()))
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve({ port: (server.address() as AddressInfo).port, asked }))
  })
}

const receive = (t: Test, listener: RequestListener = (_, answer) => answer.end('ok')): Promise<Receiver> =>
  receiverOf(t, createServer(listener))

const lookUpOf = (...answers: readonly (readonly string[])[]) => {
  const asked: string[] = []
  const lookUp = async (host: string): Promise<readonly LookupAddress[]> => {
    asked.push(host)
    const addresses = answers[asked.length - 1] ?? []
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  return { asked, lookUp }
}

const requestTo = (url: string): HttpRequest => ({
  url,
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{}',
  signal: new AbortController().signal,
  firstByteTimeoutMs: 5_000,
})

const clientOf = (t: Test, options: Partial<ConstructorParameters<typeof GuardedClient>[0]>): GuardedClient => {
  const client = new GuardedClient({ allowPrivateAddresses: false, ...options })
  t.teardown(() => client.stop())
  return client
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

t.test('hosts that are an address, however it is written, are not asked', async (t) => {
  const { port, asked } = await receive(t)
  const { lookUp, asked: lookedUp } = lookUpOf()
  const client = clientOf(t, { lookUp })
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.1',
    '0',
    '%31%32%37.0.0.1',
    '127。0。0。1',
    '①②⑦.⓪.⓪.①',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:0:0:1]',
    '[::]',
    'user:password@127.0.0.1',
  ])
    t.equal(await faultOf(client.request(requestTo(`http://${host}:${port}/`))), 'refused', host)
  t.same(asked, [])
  t.same(lookedUp, [])
})

t.test('only http and https', async (t) => {
  const client = clientOf(t, { lookUp: lookUpOf().lookUp })
  for (const url of ['ftp://example.com/', 'file:///etc/passwd', 'gopher://example.com/', 'unix:/socket', 'no url', ''])
    t.equal(await faultOf(client.request(requestTo(url))), 'refused', url)
})

t.test('ports of other protocols are refused', async (t) => {
  const client = new GuardedClient({ allowPrivateAddresses: true })
  t.teardown(() => client.stop())
  for (const port of [1, 22, 25, 53, 1_023])
    t.equal(await faultOf(client.request(requestTo(`http://127.0.0.1:${port}/`))), 'refused', String(port))
  for (const url of ['http://a.example', 'https://a.example:80', 'http://a.example:443', 'https://a.example:1024'])
    t.ok(isCallablePort(new URL(url)), url)
})

t.test('a name that leads to one address that is not public is refused, whatever else it leads to', async (t) => {
  const { port, asked } = await receive(t)
  for (const addresses of [['127.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['::1', '8.8.8.8'], ['::ffff:10.0.0.1']]) {
    const { lookUp, asked: lookedUp } = lookUpOf(addresses)
    const url = `http://callbacks.example:${port}/`
    t.equal(await faultOf(clientOf(t, { lookUp }).request(requestTo(url))), 'refused', addresses.join(', '))
    t.same(lookedUp, ['callbacks.example'])
  }
  t.same(asked, [])
})

t.test('a name without an address is no fault of the guard', async (t) => {
  const client = clientOf(t, { lookUp: lookUpOf([]).lookUp })
  t.equal(await faultOf(client.request(requestTo('http://callbacks.example/'))), 'network')
  const failing = clientOf(t, { lookUp: () => Promise.reject(new Error('no such name')) })
  t.equal(await faultOf(failing.request(requestTo('http://callbacks.example/'))), 'network')
})

t.test(
  'the connection goes to the address that was checked, though the name leads elsewhere a moment later',
  async (t) => {
    const { port, asked } = await receive(t)
    const elsewhere: string[] = []
    const other = createServer((_, answer) => answer.end('elsewhere'))
    other.on('connection', ({ localAddress = '' }) => elsewhere.push(localAddress))
    t.teardown(() => other.close())
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.2', resolve))
    const { lookUp, asked: lookedUp } = lookUpOf(['127.0.0.1'], ['127.0.0.2'])
    const client = clientOf(t, { allowPrivateAddresses: true, lookUp })
    const response = await client.request(requestTo(`http://rebinding.example:${port}/`))
    response.discard()
    t.same([asked, elsewhere, lookedUp], [['/'], [], ['rebinding.example']])
  },
)

t.test(
  'where private addresses are allowed a request goes out, once looked up, with its path and without a redirect',
  async (t) => {
    const inner = await receive(t)
    const { port, asked } = await receive(t, (request, answer) => {
      t.match(
        [request.method, request.headers['content-type'], request.headers.host],
        ['POST', 'application/json', /^hooks/],
      )
      answer.writeHead(307, { location: `http://127.0.0.1:${inner.port}/secret` }).end('moved')
    })
    const { lookUp, asked: lookedUp } = lookUpOf(['127.0.0.1'], ['127.0.0.1'])
    const client = clientOf(t, { allowPrivateAddresses: true, lookUp })
    const response = await client.request(requestTo(`http://hooks.example:${port}/done?task=1`))
    t.equal(response.status, 307)
    response.discard()
    await client.request(requestTo(`http://hooks.example:${port}/again`))
    t.same(asked, ['/done?task=1', '/again'])
    t.same(lookedUp, ['hooks.example', 'hooks.example'], 'a connection is not used twice')
    t.same(inner.asked, [])
    t.equal((await client.request(requestTo(`http://127.0.0.1:${inner.port}/`))).status, 200)
    t.equal(
      (await clientOf(t, { allowPrivateAddresses: true }).request(requestTo(`http://localhost:${inner.port}/`))).status,
      200,
    )
  },
)

t.test('the certificate must be that of the name', async (t) => {
  const certificates = await makeCertificates()
  t.teardown(() => certificates.remove())
  const [cert, key] = await Promise.all([readFile(certificates.server.certFile), readFile(certificates.server.keyFile)])
  const { port, asked } = await receiverOf(
    t,
    createTlsServer({ cert, key }, (_, answer) => answer.end('ok')),
  )
  const client = clientOf(t, { allowPrivateAddresses: true, lookUp: lookUpOf(['127.0.0.1']).lookUp })
  t.equal(await faultOf(client.request(requestTo(`https://hooks.example:${port}/`))), 'network')
  t.same(asked, [])
})

t.test('of an answer no more is read than its first part', async (t) => {
  const { port } = await receive(t, (_, answer) => {
    answer.writeHead(200)
    const chunk = Buffer.alloc(16 * 1024)
    const more = (): void => {
      while (answer.write(chunk));
    }
    answer.on('drain', more)
    more()
  })
  const client = clientOf(t, { allowPrivateAddresses: true })
  let bytes = 0
  for await (const chunk of (await client.request(requestTo(`http://127.0.0.1:${port}/`))).body) bytes += chunk.length
  t.ok(
    bytes >= httpClientLimits.callbackAnswerBytesMax && bytes < httpClientLimits.callbackAnswerBytesMax + 1024 * 1024,
    `${bytes} bytes`,
  )
})

t.test('name servers are asked without a private address coming through', async (t) => {
  const client = clientOf(t, {})
  t.match(await faultOf(client.request(requestTo('http://localhost:1/'))), /refused|network/)
})
