import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { withTimeout } from '../../src/runtime/within.ts'
import { blockEventLoop } from '../support/clients.ts'

const timeoutMs = 100
const late = (): Error => new Error('late')

t.test('it settles as the promise does, or is late', async (t) => {
  t.equal(await withTimeout(Promise.resolve(1), timeoutMs, late), 1)
  await t.rejects(withTimeout(Promise.reject(new Error('own')), timeoutMs, late), /own/)
  await t.rejects(withTimeout(new Promise(() => undefined), timeoutMs, late), /late/)
})

t.test('what waits in a socket is in time, where the event loop was blocked for longer', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [peer] = (await once(server, 'connection')) as [Socket]
  t.teardown(() => {
    client.destroy()
    peer.destroy()
    server.close()
  })
  const heard = withTimeout(once(client, 'data'), timeoutMs, late)
  peer.write('a')
  blockEventLoop(3 * timeoutMs)
  t.equal(String(await heard), 'a')
})
