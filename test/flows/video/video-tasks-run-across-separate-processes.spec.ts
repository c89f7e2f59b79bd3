import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { openEndUserKeys } from '../../../src/adapters/nats/end-users/open.ts'
import { workspaceCallbackSecret } from '../../../src/cli/callbacks.ts'
import { startRole } from '../../../src/cli/gateway.ts'
import { type Platform, withPlatform } from '../../../src/cli/platform.ts'
import type { Config } from '../../../src/config/config.ts'
import type { External } from '../../../src/config/servers.ts'
import { NatsCluster, type User } from '../../adapters/nats/cluster.ts'
import { openSession } from '../../roles/edge/browser-session.ts'
import { chatBody, until } from '../../support/clients.ts'
import { Deployment } from '../../support/deployment.ts'
import { runtime, untilKeyIsKnown } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { isSigned, startReceiver } from '../../support/receiver.ts'
import { newVideo, openKnownAccount, pollVideo, videoOptions } from '../../support/video.ts'

const callbackSecret = 'a-secret-of-a-test'

/** Of 1,024 by 1,024 pixels, as far as its head tells. */
const image = (bytes: number): string => {
  const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000400000004000806000000', 'hex')
  return Buffer.concat([head, randomBytes(bytes)]).toString('base64')
}

/** With an end user, and an idempotency key, whose repetition is answered alike. */
const servesOnce = async (t: Test, url: string, secret: string): Promise<void> => {
  const idempotencyKey = randomBytes(8).toString('hex')
  const headers = {
    authorization: `Bearer ${secret}`,
    'content-type': 'application/json',
    'idempotency-key': idempotencyKey,
  }
  const body = JSON.stringify({ ...JSON.parse(chatBody('plain', false)), user: 'ana' })
  const ask = () => fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
  const first = await ask()
  t.equal(first.status, 200)
  t.equal(await (await ask()).text(), await first.text())
}

/** And its background process. Resolves with its address. */
const startWorker = async (t: Test, config: Config): Promise<string> => {
  const start = (role: 'worker' | 'background') => startRole(role, config, runtime, (fault) => t.fail(fault.message))
  const started = await Promise.all([start('worker'), start('background')])
  t.teardown(() => Promise.all(started.map((each) => each.stop())))
  return started[0].url ?? ''
}

const makeEndUserKey = async ({ connect, endUsers }: Platform): Promise<void> => {
  const connection = await connect('end-users')
  await (await openEndUserKeys({ ...endUsers, connection })).create('other', 'a-key')
  await connection.close()
}

t.test('submitted at an edge, done by a video-poller, each with the rights of its role, and called back', async (t) => {
  const cluster = await NatsCluster.create()
  t.teardown(() => cluster.remove())
  const { url: databaseUrl } = await (await startPostgres(t)).newDatabase()
  const externalOf = (user: User): External => ({
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
  await servesOnce(t, url, secret)
  const session = await openSession(url, secret)
  const workerUrl = await startWorker(t, { ...deployment.config, external: externalOf('gateway') })
  await untilKeyIsKnown(workerUrl, { secret })
  await servesOnce(t, workerUrl, secret)
  const known = await fetch(`${workerUrl}/dashboard/session`, { headers: session })
  t.match(await known.json(), { signed_in: { workspace: { id: 'acme' } } }, 'the key of sessions is shared')
  const workersTask = await newVideo(workerUrl, secret, { prompt: 'It turns its tail.', more: { image: image(1_024) } })
  await until(async () => (await pollVideo(workerUrl, secret, workersTask)).body.data.status === 'SUCCESS')
  for (const user of ['operator', 'restore'] as const)
    await withPlatform({ ...deployment.config, external: externalOf(user) }, runtime, {}, async (platform) => {
      if (user === 'operator') await makeEndUserKey(platform)
    })
  t.same(cluster.violations, [], 'no user tried what it may not')
})
