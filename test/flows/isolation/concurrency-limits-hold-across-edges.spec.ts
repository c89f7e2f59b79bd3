import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { RoleName } from '../../../src/roles/role.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { Deployment } from '../../support/deployment.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { edgesAreWorkers } from '../../support/gateway-process.ts'
import { LimitedClients, openLimited } from '../../support/limited-clients.ts'

const slowMs = 100
const atOnceMax = 3

const answer = JSON.stringify({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'plain' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
})

/** A slow provider that counts what it is asked at once, and can be told not to answer at all. */
const startUpstream = async (t: Test) => {
  const seen = { atOnce: 0, most: 0, isSilent: false }
  const server = createServer((request, response) => {
    seen.atOnce += 1
    seen.most = Math.max(seen.most, seen.atOnce)
    response.once('close', () => {
      seen.atOnce -= 1
    })
    request.resume()
    const { isSilent } = seen
    setTimeout(() => isSilent || response.writeHead(200, { 'content-type': 'application/json' }).end(answer), slowMs)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
}

const isKilled = (role: RoleName, index: number): boolean => role === 'edge' && index === 0

t.test('20 clients of two edges, and an edge that dies', async (t) => {
  const { direct } = await startExternalServers(t)
  const { seen, url } = await startUpstream(t)
  const provider = { name: 'openai', dialect: 'openai', profile: 'openai', apiKey: 'sk-upstream', models: {} } as const
  const config = { providers: [{ ...provider, baseUrl: url }] }
  const deployment = await Deployment.start(t, { external: direct, counts: { edge: 2 }, apart: isKilled, config })
  const body = chatBody('openai/plain', false)
  const secret = await openLimited(deployment, 'acme', { concurrentRequests: atOnceMax })

  const load = new LimitedClients(deployment, secret, body)
  await until(() => load.served >= 50 && load.refused >= 50)
  await load.stop()
  t.comment(`${load.served} of ${slowMs} ms in ${(load.minutes * 60).toFixed(2)} s, ${atOnceMax} at once`)
  t.equal(seen.most, atOnceMax, 'by the upstream’s own count')
  if (edgesAreWorkers) return

  const [one = '', other = ''] = deployment.urls
  seen.isSilent = true
  const broken = Promise.all(Array.from({ length: atOnceMax }, () => chat(one, secret, body)))
  await until(() => seen.atOnce === atOnceMax)
  t.equal((await chat(other, secret, body)).status, 429)
  await deployment.end('edge', 0, 'SIGKILL')
  await broken
  seen.isSilent = false
  await until(async () => (await chat(other, secret, body)).status === 200)
})
