import t from 'tap'
import { openEdge, openProxy } from '../adapters/nats/calls/open.ts'
import { NatsServer } from '../adapters/nats/server.ts'
import { callsContract } from './calls-contract.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

callsContract(t, async (serve) => {
  const proxy = await openProxy(server.url, serve)
  const edge = await openEdge(server.url)
  const close = async (): Promise<void> => {
    await edge.close()
    await proxy.serving.stop()
    await proxy.close()
  }
  return { dispatch: edge.dispatch, close }
})
