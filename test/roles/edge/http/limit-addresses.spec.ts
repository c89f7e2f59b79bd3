import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { clientAddressOf } from '../../../../src/roles/edge/http/listener.ts'
import { startEdge } from '../edge-fixture.ts'

t.test('a caller is an IPv4 address, or a network of IPv6', async (t) => {
  t.equal(clientAddressOf('192.0.2.7'), '192.0.2.7')
  t.equal(clientAddressOf('::ffff:192.0.2.7'), '192.0.2.7')
  t.equal(clientAddressOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2')
  t.equal(clientAddressOf('2001:db8:1:2::6'), '2001:db8:1:2')
  t.equal(clientAddressOf('2001:db8::6'), '2001:db8:0:0')
  t.equal(clientAddressOf('::1'), '0:0:0:0')
  t.equal(clientAddressOf('fe80::1%eth0'), 'fe80:0:0:0')
})

const open = async (port: number, localAddress: string): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const isServed = async (socket: Socket): Promise<boolean> => {
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  return await Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)])
}

t.test('one address has its connections, and leaves the others theirs', async (t) => {
  const { port } = await startEdge(t, { bounds: { connectionsPerAddressMax: 2 } })
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const tried = async (localAddress: string): Promise<boolean> => {
    const socket = await open(port, localAddress)
    sockets.push(socket)
    return isServed(socket)
  }
  t.equal(await tried('127.0.0.1'), true)
  t.equal(await tried('127.0.0.1'), true)
  t.equal(await tried('127.0.0.1'), false)
  t.equal(await tried('127.0.0.2'), true)
  const [first] = sockets
  first?.destroy()
  let isFree = false
  while (!isFree) isFree = await tried('127.0.0.1')
})
