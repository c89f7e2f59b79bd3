import { jetstreamManager } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import { natsLimits } from '../../../../src/adapters/nats/limits.ts'
import { type OpenOutcomes, type OutcomesOptions, openOutcomes } from '../../../../src/adapters/nats/outcomes/open.ts'
import { admissionLimits } from '../../../../src/roles/edge/admission/limits.ts'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { recordingLogger } from '../../../support/log-lines.ts'
import { LossyProxy } from '../lossy-proxy.ts'
import { NatsServer } from '../server.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())
const connection = await connectNats({ url: server.url, name: 'test' })
t.teardown(() => connection.close())
const jsm = await jetstreamManager(connection)

const open = async (
  t: Test,
  { url = server.url, ...own }: Partial<OutcomesOptions> & { readonly url?: string } = {},
): Promise<OpenOutcomes> => {
  const connection = await connectNats({ url, name: 'test', role: 'edge' })
  t.teardown(() => connection.close())
  const outcomes = await openOutcomes({
    connection,
    name: 'GATEWAY',
    role: 'edge',
    replicas: 1,
    durability: 'synced',
    monitoringUrl: server.monitoringUrl,
    create: true,
    newId: v7,
    logger: recordingLogger(),
    ...own,
  })
  t.teardown(() => outcomes.close())
  return outcomes
}

const placeOf = (keyDigest: string) => ({ workspaceId: 'acme', keyDigest })
const bytesOf = (text: string): Uint8Array => Buffer.from(text)
const textIn = async (outcomes: OpenOutcomes, keyDigest: string): Promise<string> =>
  Buffer.from((await outcomes.find(placeOf(keyDigest))).bytes).toString()

const revisionOf = async (put: ReturnType<OpenOutcomes['put']>): Promise<number> => {
  const done = await put
  if ('refused' in done) throw new Error(done.refused)
  return done.revision
}

t.test('one stands under a key, and is replaced by whoever knows it', async (t) => {
  const one = await open(t)
  const other = await open(t)
  t.same(await one.find(placeOf('a')), { revision: 0, bytes: new Uint8Array() })
  const first = await revisionOf(one.put(placeOf('a'), bytesOf('claim'), 0, sharedLimits.outcomeWriteMs))
  t.same(await other.put(placeOf('a'), bytesOf('another'), 0, sharedLimits.outcomeWriteMs), { refused: 'taken' })
  t.equal((await other.find(placeOf('a'))).revision, first)
  const second = await revisionOf(other.put(placeOf('a'), bytesOf('outcome'), first, sharedLimits.outcomeWriteMs))
  t.same(await one.put(placeOf('a'), bytesOf('late'), first, sharedLimits.outcomeWriteMs), { refused: 'taken' })
  t.equal(await textIn(one, 'a'), 'outcome')
  const freed = await revisionOf(one.put(placeOf('a'), new Uint8Array(), second, sharedLimits.outcomeWriteMs))
  t.same(await one.put(placeOf('a'), bytesOf('again'), 0, sharedLimits.outcomeWriteMs), { refused: 'taken' })
  t.ok((await revisionOf(one.put(placeOf('a'), bytesOf('again'), freed, sharedLimits.outcomeWriteMs))) > freed)
  t.equal((await one.find({ workspaceId: 'other', keyDigest: 'a' })).revision, 0, 'of a workspace')
})

t.test('what is removed takes no room, and its key can be claimed as a new one', async (t) => {
  const outcomes = await open(t)
  const storedBytes = async (): Promise<number> => (await jsm.streams.info('GATEWAY_OUTCOMES')).state.bytes
  const before = await storedBytes()
  const claim = await revisionOf(outcomes.put(placeOf('gone'), bytesOf('claim'), 0, sharedLimits.outcomeWriteMs))
  const freed = await revisionOf(outcomes.put(placeOf('gone'), new Uint8Array(), claim, sharedLimits.outcomeWriteMs))
  t.equal(await outcomes.remove(claim), false, 'a revision that was replaced')
  t.equal(await outcomes.remove(freed), true)
  t.equal(await storedBytes(), before)
  t.same(await outcomes.find(placeOf('gone')), { revision: 0, bytes: new Uint8Array() })
  t.same(await outcomes.put(placeOf('gone'), bytesOf('late'), freed, sharedLimits.outcomeWriteMs), { refused: 'taken' })
  await revisionOf(outcomes.put(placeOf('gone'), bytesOf('again'), 0, sharedLimits.outcomeWriteMs))
})

t.test('twenty at once: one claims', async (t) => {
  const all = await Promise.all([open(t), open(t)])
  const puts = Array.from({ length: 20 }, (_, n) =>
    all[n % 2]!.put(placeOf('race'), bytesOf(`${n}`), 0, sharedLimits.outcomeWriteMs),
  )
  t.equal((await Promise.all(puts)).filter((put) => 'revision' in put).length, 1)
})

t.test('the largest there is', async (t) => {
  const outcomes = await open(t)
  await revisionOf(
    outcomes.put(placeOf('large'), Buffer.alloc(admissionLimits.outcomeBytesMax, 'x'), 0, sharedLimits.outcomeWriteMs),
  )
  t.equal((await outcomes.find(placeOf('large'))).bytes.length, admissionLimits.outcomeBytesMax)
})

t.test('a full stream refuses what is new, and takes what is smaller than what stands', async (t) => {
  const outcomes = await open(t, { name: 'FULL' })
  const { config } = await jsm.streams.info('FULL_OUTCOMES')
  t.equal(config.max_bytes, natsLimits.outcomesBytes)
  await jsm.streams.update('FULL_OUTCOMES', { max_bytes: 2_000 })
  const claimed = await revisionOf(outcomes.put(placeOf('a'), Buffer.alloc(300, 'x'), 0, sharedLimits.outcomeWriteMs))
  await revisionOf(outcomes.put(placeOf('b'), Buffer.alloc(900, 'x'), 0, sharedLimits.outcomeWriteMs))
  t.same(await outcomes.put(placeOf('c'), Buffer.alloc(900, 'x'), 0, sharedLimits.outcomeWriteMs), { refused: 'full' })
  t.same(await outcomes.put(placeOf('a'), Buffer.alloc(1_500, 'x'), claimed, sharedLimits.outcomeWriteMs), {
    refused: 'full',
  })
  await revisionOf(outcomes.put(placeOf('a'), Buffer.alloc(200, 'x'), claimed, sharedLimits.outcomeWriteMs))
  await open(t, { name: 'FULL' })
  t.pass('an operator may change how much is kept')
})

t.test('a stream with other settings is refused, and one that is not there', async (t) => {
  await t.rejects(open(t, { name: 'NOPE', create: false }), /outcomes NOPE_OUTCOMES does not exist on this server/)
  await jsm.streams.add({ name: 'OTHER_OUTCOMES', subjects: ['other.outcome.*.*'], discard: 'old' })
  const message = await open(t, { name: 'OTHER' }).then(
    () => 'opened',
    (error: Error) => error.message,
  )
  for (const part of [
    'discard is "old", not "new"',
    'max_age is 0, not 86400000000000',
    'max_msgs_per_subject is -1, not 1',
  ])
    t.ok(message.includes(part), part)
})

t.test('an acknowledgement that is lost, and a server that is away', async (t) => {
  const wire = await LossyProxy.create(server.port)
  t.teardown(() => wire.close())
  const outcomes = await open(t, { url: wire.url })
  const direct = await open(t)
  wire.dropReplies()
  const putting = outcomes.put(placeOf('lost'), bytesOf('claim'), 0, sharedLimits.outcomeWriteMs)
  while ((await textIn(direct, 'lost')) !== 'claim') await new Promise((resolve) => setTimeout(resolve, 10))
  wire.cut()
  wire.passReplies()
  const put = await putting
  const { revision } = await direct.find(placeOf('lost'))
  if ('revision' in put) t.equal(put.revision, revision, 'known again by its id')
  else t.equal(put.refused, 'taken', 'or told as taken, as newer servers do')

  wire.refuse()
  wire.cut()
  const askedMs = Date.now()
  await t.rejects(outcomes.put(placeOf('away'), bytesOf('claim'), 0, sharedLimits.outcomeWriteMs), {
    code: 'log_unavailable',
    retryAfterSeconds: 1,
  })
  await t.rejects(outcomes.find(placeOf('away')), { code: 'log_unavailable' })
  t.ok(Date.now() - askedMs < 5 * sharedLimits.outcomeWriteMs, 'nothing hangs')
  wire.admit()
  await outcomes.close()
  t.ok(outcomes.isClosed)
  await t.rejects(outcomes.put(placeOf('closed'), bytesOf('claim'), 0, sharedLimits.outcomeWriteMs), {
    code: 'log_unavailable',
  })
})
