import { Agent, request } from 'node:http'
import t, { type Test } from 'tap'
import { plainAsk, revokedSecret, secret, startEdge } from '../edge-fixture.ts'

/** One request on the agent's connection: its status. */
const statusOf = (
  port: number,
  agent: Agent,
  path: string,
  key: string,
  method = 'POST',
): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    request({ port, agent, method, path, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
      .on('error', reject)
      .end(method === 'POST' ? JSON.stringify(plainAsk) : undefined)
  })

const oneConnection = (t: Test): Agent => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  return agent
}

t.test('a path is found however it is spelled', async (t) => {
  const { port } = await startEdge(t)
  const agent = oneConnection(t)
  for (const path of [
    '/v1/chat/completions',
    '/v1/chat/completions?x=1',
    '/v1/chat/completions/',
    '/V1/Chat/Completions',
  ])
    t.equal(await statusOf(port, agent, path, secret), 200, path)
  t.equal(await statusOf(port, agent, '/v1/chat/completions', secret, 'GET'), 405)
  t.equal(await statusOf(port, agent, '/v1/chat/completionsx', secret), 404)
})

t.test('each request on a connection has its own key', async (t) => {
  const { port, log } = await startEdge(t)
  const agent = oneConnection(t)
  const ask = (key: string) => statusOf(port, agent, '/v1/chat/completions', key)
  t.same(
    [await ask(secret), await ask(revokedSecret), await ask(secret), await ask('sk-unknown')],
    [200, 401, 200, 401],
  )
  t.equal(await ask(secret), 200)
  await log.append([{ type: 'KeyRevoked', data: { keyId: 'key-1', workspaceId: 'acme' } }])
  t.equal(await ask(secret), 401, 'a key that is revoked meanwhile')
})
