import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { workspaceCallbackSecret } from '../../src/commands/callbacks.ts'
import type { External } from '../../src/config.ts'
import type { RoleName } from '../../src/roles/role.ts'
import { until } from '../clients.ts'
import { Deployment } from '../deployment.ts'
import { pricesOf, sheetOf } from '../gateway.ts'
import { NatsCluster } from '../infrastructure/nats/cluster.ts'
import { startPostgres } from '../postgres.ts'

const video = { currency: 'USD', unit_price: '0.14', units_per_second: { std: '0.6', pro: '0.8' } } as const
const prices = {
  prices: [
    ...pricesOf({ 'openai/plain': sheetOf() }).prices,
    { model: 'vv/v3', effective_from: '2026-01-01T00:00:00Z', source: 'a test', video },
  ],
}
const callbackSecret = 'a-secret-of-a-test'

/** Of 1,024 by 1,024 pixels, as far as its head tells. */
const image = (bytes: number): string => {
  const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000400000004000806000000', 'hex')
  return Buffer.concat([head, randomBytes(bytes)]).toString('base64')
}

interface Delivered {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const startReceiver = (t: Test): Promise<{ readonly url: string; readonly delivered: readonly Delivered[] }> => {
  const delivered: Delivered[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      delivered.push({ headers: request.headers, body })
      response.end()
    })
  })
  t.teardown(() => server.close())
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/done`, delivered }),
    )
  })
}

const isSigned = ({ headers, body }: Delivered, secret: string): boolean => {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}

t.test('submitted at an edge, done by a video-poller, each with the rights of its role, and called back', async (t) => {
  const cluster = await NatsCluster.create()
  t.teardown(() => cluster.remove())
  const { url: databaseUrl } = await (await startPostgres(t)).newDatabase()
  const externalOf = (user: RoleName | 'operator'): External => ({
    databaseUrl: user === 'proxy' ? null : databaseUrl,
    nats: { ...cluster.accessOf(user), monitoringUrl: undefined, credentialsFile: undefined },
  })
  const deployment = await Deployment.start(t, {
    external: externalOf('operator'),
    externalOf,
    counts: { 'video-poller': 2 },
    config: { prices, log: { name: 'GATEWAY', replicas: 3, durability: 'synced' } },
  })
  const { operator, urls } = deployment
  const { secret } = await operator.openAccount('acme', '100')
  const { url: callbackUrl, delivered } = await startReceiver(t)
  const authorization = `Bearer ${secret}`
  const submitted = await fetch(`${urls[0]}/v1/video/generations`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'vv/v3',
      prompt: 'It turns its head.',
      image: image(3 * 1024 * 1024),
      metadata: { callback_url: callbackUrl },
    }),
  })
  const { task_id: taskId, status } = (await submitted.json()) as { task_id: string; status: string }
  t.match([submitted.status, status], [200, 'queued'])
  const poll = async () => {
    const response = await fetch(`${urls[0]}/v1/video/generations/${taskId}`, { headers: { authorization } })
    return ((await response.json()) as { data: { status: string } }).data
  }
  await until(async () => (await poll()).status === 'SUCCESS', 30_000)
  await until(() => delivered.length > 0, 10_000)
  t.equal(delivered[0]!.headers['webhook-id'], taskId)
  t.ok(isSigned(delivered[0]!, workspaceCallbackSecret(callbackSecret, 'acme')))
  t.same(JSON.parse(delivered[0]!.body), await poll(), 'it tells what a poll tells')
  const events = await operator.events()
  t.same(
    events.filter(({ type }) => type === 'TaskSubmitted' || type === 'TaskSettled').map(({ type }) => type),
    ['TaskSubmitted', 'TaskSettled'],
  )
  t.notMatch(deployment.logged, callbackSecret)
})
