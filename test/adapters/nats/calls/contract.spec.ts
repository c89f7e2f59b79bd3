import t from 'tap'
import { callsContract } from '../../../roles/calls-contract.ts'
import { NatsServer } from '../server.ts'
import { openEdge, openProxy } from './open.ts'

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
