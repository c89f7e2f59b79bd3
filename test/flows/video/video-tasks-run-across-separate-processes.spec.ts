import { randomBytes } from 'node:crypto'
import t from 'tap'
import { workspaceCallbackSecret } from '../../../src/cli/callbacks.ts'
import type { External } from '../../../src/config/servers.ts'
import type { RoleName } from '../../../src/roles/role.ts'
import { NatsCluster } from '../../adapters/nats/cluster.ts'
import { until } from '../../support/clients.ts'
import { Deployment } from '../../support/deployment.ts'
import { startPostgres } from '../../support/postgres.ts'
import { isSigned, startReceiver } from '../../support/receiver.ts'
import { newVideo, openKnownAccount, pollVideo, videoOptions } from '../../support/video.ts'

const callbackSecret = 'a-secret-of-a-test'

/** Of 1,024 by 1,024 pixels, as far as its head tells. */
const image = (bytes: number): string => {
  const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000400000004000806000000', 'hex')
  return Buffer.concat([head, randomBytes(bytes)]).toString('base64')
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
    apart: (role) => role === 'edge' || role === 'video-poller',
    config: { ...videoOptions().config, log: { name: 'GATEWAY', replicas: 3, durability: 'synced' } },
  })
  const { operator, urls } = deployment
  const [url = ''] = urls
  const secret = await openKnownAccount(operator, urls, 'acme', '100')
  const receiver = await startReceiver(t)
  const more = { image: image(3 * 1024 * 1024), callback_url: `${receiver.url}/done` }
  const taskId = await newVideo(url, secret, { prompt: 'It turns its head.', more })
  const poll = async () => (await pollVideo(url, secret, taskId)).body.data
  await until(async () => (await poll()).status === 'SUCCESS')
  await until(() => receiver.delivered.length > 0)
  const delivered = receiver.delivered[0]!
  t.equal(delivered.headers['webhook-id'], taskId)
  t.ok(await isSigned(delivered, workspaceCallbackSecret(callbackSecret, 'acme')))
  t.same(JSON.parse(delivered.body), await poll(), 'it tells what a poll tells')
  const events = await operator.events()
  t.same(
    events.filter(({ type }) => type === 'TaskSubmitted' || type === 'TaskSettled').map(({ type }) => type),
    ['TaskSubmitted', 'TaskSettled'],
  )
  t.notMatch(deployment.logged, callbackSecret)
})
