import t from 'tap'
import { until } from '../../support/clients.ts'
import { LossyProxy } from './lossy-proxy.ts'
import { adjustment, hold, openOn, openThroughLossy, readAll } from './open.ts'
import { NatsServer } from './server.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const holdIds = (frames: Awaited<ReturnType<typeof readAll>>): readonly string[] =>
  frames.flatMap(({ events }) => events.flatMap((event) => (event.type === 'HoldPlaced' ? [event.data.holdId] : [])))

t.test('a wallet frame is stored only behind the sequence it was decided on', async (t) => {
  const one = await openOn(server, { name: 'OCC' })
  const other = await openOn(server, { name: 'OCC' })
  t.teardown(async () => {
    await one.close()
    await other.close()
  })
  t.same(await one.log.appendToWallet('acme', [hold('a')], 0), { sequence: 1 })
  t.same(await other.log.appendToWallet('acme', [hold('b')], 0), { conflict: true, sequence: 1 })
  t.same(await other.log.appendToWallet('beta', [hold('c', 'beta')], 0), { sequence: 2 }, 'each wallet for itself')
  t.same(await one.log.postToWallet('acme', [adjustment('d')]), { sequence: 3 })
  t.same(await one.log.appendToWallet('acme', [hold('e')], 1), { conflict: true, sequence: 3 })
  t.same(
    await other.log.appendToWallet('acme', [hold('e')], 3),
    { sequence: 4 },
    'a conflict burns no more than a counter',
  )
  const frames = await readAll(one.log)
  t.same(
    frames.map(({ walletSubject }) => walletSubject),
    ['acme', 'beta', 'acme', 'acme'],
  )
  t.notOk(frames.some(({ writer }) => [one.log.writer, other.log.writer].includes(writer)))
})

t.test('of many that decide on the same sequence one is stored', async (t) => {
  const opened = await Promise.all(Array.from({ length: 4 }, () => openOn(server, { name: 'RACE' })))
  t.teardown(() => Promise.all(opened.map(({ close }) => close())))
  const results = await Promise.all(
    opened.flatMap(({ log }, writer) =>
      Array.from({ length: 10 }, (_, index) => log.appendToWallet('acme', [hold(`h-${writer}-${index}`)], 0)),
    ),
  )
  t.equal(results.filter((result) => !('conflict' in result)).length, 1)
  t.equal(await opened[0]?.log.lastSequence(), 1)
  t.ok(results.every(({ sequence }) => sequence === 1))
})

t.test('a lost acknowledgement is found behind another writer’s frame', async (t) => {
  const { proxy, opened: unlucky, beside: lucky } = await openThroughLossy(t, server, { name: 'TRAP' })
  proxy.dropReplies()
  const appended = unlucky.log.appendToWallet('acme', [hold('mine')], 0)
  await until(async () => (await lucky.log.lastSequence()) === 1)
  t.same(await lucky.log.appendToWallet('acme', [hold('theirs')], 1), { sequence: 2 })
  proxy.cut()
  proxy.passReplies()
  t.same(await appended, { sequence: 1 })
  t.same(holdIds(await readAll(lucky.log)), ['mine', 'theirs'])
})

t.test('a frame that never reached the server conflicts when another writer came first', async (t) => {
  const { proxy, opened: unlucky, beside: lucky } = await openThroughLossy(t, server, { name: 'LATE' })
  proxy.refuse()
  proxy.cut()
  const appended = unlucky.log.appendToWallet('acme', [hold('mine')], 0)
  t.same(await lucky.log.appendToWallet('acme', [hold('theirs')], 0), { sequence: 1 })
  proxy.admit()
  t.same(await appended, { conflict: true, sequence: 1 })
  t.same(holdIds(await readAll(lucky.log)), ['theirs'])
})

t.test('a frame that never reached the server is sent again when nobody came first', async (t) => {
  const proxy = await LossyProxy.create(server.port)
  const opened = await openOn(server, { name: 'AGAIN', url: proxy.url })
  t.teardown(async () => {
    await opened.close()
    await proxy.close()
  })
  proxy.refuse()
  proxy.cut()
  const appended = opened.log.appendToWallet('acme', [hold('mine')], 0)
  const posted = opened.log.postToWallet('beta', [adjustment('credit', 'beta')])
  await until(() => opened.log.oldestUnacknowledgedMs() > 100)
  proxy.admit()
  const sequences = [(await appended).sequence, (await posted).sequence]
  t.same(sequences.toSorted(), [1, 2])
  t.equal((await readAll(opened.log)).length, 2)
})

t.test('wallets do not wait for one another', async (t) => {
  const opened = await openOn(server, { name: 'MANY' })
  t.teardown(opened.close)
  const workspaces = Array.from({ length: 200 }, (_, index) => `workspace-${index}`)
  const results = await Promise.all(workspaces.map((id) => opened.log.appendToWallet(id, [hold('h', id)], 0)))
  t.equal(new Set(results.map(({ sequence }) => sequence)).size, 200)
})

t.test('a caller that expects more than there is gets an error, not a conflict', async (t) => {
  const opened = await openOn(server, { name: 'AHEAD' })
  t.teardown(opened.close)
  await t.rejects(opened.log.appendToWallet('acme', [hold('h')], 7), /ahead\.wallet\.acme ends at sequence 0, before 7/)
})
