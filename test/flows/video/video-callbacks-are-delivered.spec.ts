import t from 'tap'
import { workspaceCallbackSecret } from '../../../src/cli/callbacks.ts'
import { until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { type Delivered, isSigned, startReceiver } from '../../support/receiver.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import {
  eventsOf,
  newVideo,
  openKnownAccount,
  pollVideo,
  queuedItems,
  videoOptions,
  walletFigures,
} from '../../support/video.ts'

const servers = await startExternalServers(t)
const { direct, nats, postgres } = servers
const running = await startRolesTogether(t, { external: direct, counts: { proxy: 0 }, ...videoOptions() })
const { operator, sandbox } = running
const url = running.urls[0]!
const receiver = await startReceiver(t)
const secret = await openKnownAccount(operator, [url], 'acme', '100')
const callbackSecret = workspaceCallbackSecret('a-secret-of-a-test', 'acme')

const done = '[[queue_ms=0;run_ms=0]]'
const deliveriesTo = (path: string): readonly Delivered[] => receiver.delivered.filter((each) => each.path === path)

t.test('signed with the workspace’s secret, telling what a poll tells', async (t) => {
  for (const [surface, path, directives] of [
    ['generic', '/generic', done],
    ['native', '/native', done],
    ['generic', '/failed', '[[queue_ms=0;run_ms=0;failed]]'],
    ['generic', '/refused', '[[code=1301]]'],
  ] as const) {
    const asked = { prompt: `A cat. ${directives}`, surface, more: { callback_url: receiver.url + path } }
    const taskId = await newVideo(url, secret, asked)
    await until(() => deliveriesTo(path).length > 0)
    const [delivered] = deliveriesTo(path)
    t.equal(delivered!.headers['webhook-id'], taskId)
    t.same(JSON.parse(delivered!.body), (await pollVideo(url, secret, taskId, surface)).body.data)
    t.ok(await isSigned(delivered!, callbackSecret))
    t.notOk(await isSigned(delivered!, workspaceCallbackSecret('a-secret-of-a-test', 'other')))
    t.notOk(await isSigned({ ...delivered!, body: `${delivered!.body} ` }, callbackSecret))
  }
})

t.test('again when the receiver fails, with the same words', async (t) => {
  receiver.answerWith(({ path }, before) => (path === '/failing' && before < 2 ? 500 : 204))
  const taskId = await newVideo(url, secret, {
    prompt: `A cat. ${done}`,
    more: { callback_url: `${receiver.url}/failing` },
  })
  await until(() => deliveriesTo('/failing').length === 3)
  for (const { headers, body } of deliveriesTo('/failing'))
    t.same([headers['webhook-id'], body], [taskId, deliveriesTo('/failing')[0]!.body])
  await until(async () => (await queuedItems(nats, 'GATEWAY')) === 0)
  t.equal(deliveriesTo('/failing').length, 3, 'and not once it was taken')
  t.match(await eventsOf(operator, 'CallbackFailed'), [{ taskId, tries: 1, reason: 'status 500', givenUp: false }])
})

t.test('a receiver that says nothing delays no bill', async (t) => {
  receiver.answerWith(({ path }) => (path === '/silent' ? null : 200))
  const silent = { prompt: `A cat. ${done}`, more: { callback_url: `${receiver.url}/silent` } }
  const taskIds = await Promise.all(Array.from({ length: 8 }, () => newVideo(url, secret, silent)))
  await until(async () => (await walletFigures(operator, 'acme')).held === '0')
  for (const taskId of taskIds) t.equal((await pollVideo(url, secret, taskId)).body.data.status, 'SUCCESS')
  receiver.answerWith(() => 200)
  await until(async () => (await queuedItems(nats, 'GATEWAY')) === 0)
})

t.test('an address that is not public is not called, where that is not allowed', async (t) => {
  const { url: databaseUrl } = await postgres.newDatabase()
  const callbacks = { secret: 'a-secret-of-a-test', allowPrivateAddresses: false }
  const log = { name: 'GUARDED', replicas: 1, durability: 'synced' } as const
  const guarded = await startRolesTogether(t, {
    external: { ...direct, databaseUrl },
    counts: { proxy: 0 },
    ...videoOptions({}, { callbacks, log }),
  })
  const [url = ''] = guarded.urls
  const secret = await openKnownAccount(guarded.operator, [url], 'acme', '10')
  const { port } = new URL(receiver.url)
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433']) {
    const asked = { prompt: `A cat. ${done}`, more: { callback_url: `http://${host}:${port}/private` } }
    await newVideo(url, secret, asked)
  }
  await until(async () => (await walletFigures(guarded.operator, 'acme')).balance === '7.9')
  await until(async () => (await queuedItems(nats, 'GUARDED')) === 0)
  t.same(deliveriesTo('/private'), [])
  const failures = await eventsOf(guarded.operator, 'CallbackFailed')
  const givenUp = failures.filter((failure) => failure.givenUp)
  t.equal(givenUp.length, 5, 'what was given up is in the log')
  t.ok(givenUp.some(({ tries, reason }) => tries === 2 && reason === 'an address that is not public'))
  t.equal(guarded.sandbox.videos.totals().callbacksAsked, 0)
})

t.test('and the vendor never learns of it', async (t) => {
  t.equal(sandbox.videos.totals().callbacksAsked, 0)
  t.notOk(sandbox.calls().some(({ body }) => JSON.stringify(body ?? '').includes(receiver.url)))
})
