import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { natsLimits } from '../../../src/adapters/nats/limits.ts'
import { Link } from '../../../src/adapters/nats/link.ts'
import { LogFollower } from '../../../src/adapters/nats/log-follower.ts'
import type { LogSource } from '../../../src/adapters/nats/log-source.ts'
import { buildLogNames } from '../../../src/adapters/nats/streams.ts'
import { encodeFrame } from '../../../src/events/codec.ts'
import { wrapEvent } from '../../../src/events/envelope.ts'
import type { Frame } from '../../../src/log/event-log.ts'
import { until } from '../../support/clients.ts'
import { type RecordingLogger, recordingLogger } from '../../support/log-lines.ts'
import { adjustment, adjustmentIdsOf, bill, hold, type Opened, openOn, openThroughLossy, readAll } from './open.ts'
import { NatsServer } from './server.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const reasons = ({ lines }: RecordingLogger): readonly unknown[] =>
  lines.map(({ fields }) => ('reason' in fields ? fields.reason : null))

const line = (id: string): string =>
  JSON.stringify(wrapEvent(adjustment(id), id, '/gateway/edge/w', '2025-01-01T00:00:00.000Z'))

/** Frames that no log wrote, one message each. */
const publishRaw = async ({ connection }: Opened, subject: string, texts: readonly string[]): Promise<void> => {
  const client = jetstream(connection)
  for (let start = 0; start < texts.length; start += 500)
    await Promise.all(texts.slice(start, start + 500).map((text) => client.publish(subject, text)))
}

const frameTexts = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => encodeFrame({ writer: 'w', counter: index + 1 }, [line(`a-${index}`)]))

t.test('frames come in order from the sequence asked for, and new ones as they are stored', async (t) => {
  const opened = await openOn(server, { name: 'TAIL' })
  t.teardown(opened.close)
  for (const id of ['a', 'b', 'c']) await opened.log.append([adjustment(id)])
  const seen: [number, readonly string[]][] = []
  const follower = opened.log.follow(2, (frame) => {
    seen.push([frame.sequence, adjustmentIdsOf(frame)])
  })
  await until(() => seen.length === 2)
  await opened.log.append([adjustment('d')])
  await until(() => seen.length === 3)
  await follower.stop()
  await follower.done
  await opened.log.append([adjustment('e')])
  t.same(seen, [
    [2, ['b']],
    [3, ['c']],
    [4, ['d']],
  ])
})

t.test('a follower that stops has its consumer deleted once', async (t) => {
  const opened = await openOn(server, { name: 'ONCE' })
  t.teardown(opened.close)
  await opened.log.append([adjustment('a')])
  const seen: number[] = []
  const follower = opened.log.follow(1, ({ sequence }) => void seen.push(sequence))
  await until(() => seen.length === 1)
  const before = opened.connection.stats().outMsgs
  await follower.stop()
  await opened.connection.flush()
  t.equal(opened.connection.stats().outMsgs - before, 1)
})

t.test('a follower reads of its own process what others read from the bytes', async (t) => {
  const opened = await openOn(server, { name: 'OWN' })
  const other = await openOn(server, { name: 'OWN' })
  t.teardown(() => Promise.all([opened.close(), other.close()]))
  const own: Frame[] = []
  opened.log.follow(1, (frame) => void own.push(frame))
  await opened.log.append([bill('r-1'), hold('h-1')])
  await opened.log.postToWallet('acme', [hold('h-2'), adjustment('a')])
  await until(() => own.length === 2)
  t.strictSame(own, await readAll(other.log))
})

t.test('a slow reader gets one frame at a time, and the buffer is bounded', async (t) => {
  const opened = await openOn(server, { name: 'SLOW' })
  t.teardown(opened.close)
  const count = natsLimits.followBufferFramesMax + 1000
  await publishRaw(opened, 'slow.journal.edge', frameTexts(count))
  const messagesBefore = opened.connection.stats().inMsgs
  const gate = Promise.withResolvers<void>()
  const seen: number[] = []
  let inHand = 0
  const follower = opened.log.follow(1, async ({ sequence }) => {
    inHand += 1
    t.equal(inHand, 1)
    if (seen.length === 0) await gate.promise
    seen.push(sequence)
    inHand -= 1
  })
  const received = (): number => opened.connection.stats().inMsgs - messagesBefore
  await until(() => received() > natsLimits.followBufferFramesMax - natsLimits.followPullFramesMax)
  await new Promise((resolve) => setTimeout(resolve, natsLimits.followStallMs + natsLimits.followHeartbeatMs))
  t.ok(
    received() < natsLimits.followBufferFramesMax + 100, // Heartbeats and ends of requests are messages too.
    `${received()} came`,
  )
  gate.resolve()
  await until(() => seen.length === count)
  t.ok(seen.every((sequence, index) => sequence === index + 1))
  await follower.stop()
})

t.test('a follower ends with the fault of its reader, and hands on no more', async (t) => {
  const opened = await openOn(server, { name: 'READER' })
  t.teardown(opened.close)
  for (const id of ['a', 'b']) await opened.log.append([adjustment(id)])
  const seen: number[] = []
  const thrown = opened.log.follow(1, ({ sequence }) => {
    seen.push(sequence)
    throw new Error('cannot fold')
  })
  await t.rejects(thrown.done, { message: 'cannot fold' })
  const rejected = opened.log.follow(1, () => Promise.reject(new Error('cannot write')))
  await t.rejects(rejected.done, { message: 'cannot write' })
  t.same(seen, [1])
})

t.test('stop waits for the frame in hand', async (t) => {
  const opened = await openOn(server, { name: 'STOP' })
  t.teardown(opened.close)
  for (const id of ['a', 'b']) await opened.log.append([adjustment(id)])
  const gate = Promise.withResolvers<void>()
  const begun: number[] = []
  const follower = opened.log.follow(1, ({ sequence }) => {
    begun.push(sequence)
    return gate.promise
  })
  await until(() => begun.length === 1)
  const stopped = follower.stop().then(() => 'stopped')
  t.equal(await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, 50, 'waits'))]), 'waits')
  gate.resolve()
  t.equal(await stopped, 'stopped')
  await follower.done
  t.same(begun, [1])
})

t.test('a follower whose connection is closed before it is stopped ends without a fault', async (t) => {
  const logger = recordingLogger()
  const opened = await openOn(server, { name: 'CLOSED', logger })
  await opened.log.append([adjustment('a')])
  const seen: number[] = []
  const follower = opened.log.follow(1, ({ sequence }) => void seen.push(sequence))
  await until(() => seen.length === 1)
  await opened.connection.close()
  await follower.done
  await follower.stop()
  t.same(reasons(logger), [])
})

t.test('what cannot be read ends the follower', async (t) => {
  const event = JSON.parse(line('x'))
  const cases = {
    GARBAGE: ['hello', /the frame at sequence 1 cannot be read/],
    COUNT: [
      encodeFrame({ writer: 'w', counter: 1 }, [line('x')]).replace('"events":1', '"events":2'),
      /announces 2 events/,
    ],
    SCHEMA: [
      encodeFrame({ writer: 'w', counter: 1 }, [JSON.stringify({ ...event, data: { ...event.data, amount: 1 } })]),
      /does not follow events\/AdjustmentPosted.v1.json: amount must be a decimal number/,
    ],
    VERSION: [
      encodeFrame({ writer: 'w', counter: 1 }, [
        JSON.stringify({ ...event, dataschema: 'events/AdjustmentPosted.v9.json' }),
      ]),
      /is unknown to this version/,
    ],
    TYPE: [encodeFrame({ writer: 'w', counter: 1 }, [JSON.stringify({ ...event, type: 'KeyRevoked' })]), /is unknown/],
  } as const
  for (const [name, [text, message]] of Object.entries(cases)) {
    const opened = await openOn(server, { name })
    await publishRaw(opened, `${name.toLowerCase()}.journal.edge`, [text])
    await t.rejects(opened.log.follow(1, () => void t.fail('must not be handed on')).done, { message }, name)
    await opened.close()
  }
})

t.test('followers that meet a backlog of full frames do not lose the connection that they share', async (t) => {
  const connection = await connectNats({ url: server.url, name: 'test' })
  t.teardown(() => connection.close())
  const jsm = await jetstreamManager(connection)
  await jsm.streams.add({ name: 'BACKLOG', subjects: ['backlog.journal.*', 'backlog.wallet.*'] })
  const count = 160
  const full = Buffer.alloc(natsLimits.frameBytesMax, 'a') // A follower reads frames; its tail hands on whatever is there.
  const client = jetstream(connection)
  for (let n = 0; n < count; n += 1) await client.publish('backlog.journal.edge', full)
  const parts = {
    connection,
    jsm,
    names: buildLogNames('BACKLOG'),
    inboxPrefix: '_INBOX',
    link: new Link(connection),
    sources: new Set<LogSource>(),
  }
  const logger = recordingLogger()
  const seen = [0, 0, 0]
  const tails = seen.map(
    (_, which) =>
      new LogFollower({ ...parts, logger }, 1, () => {
        seen[which]! += 1
      }),
  )
  await until(() => seen.every((each) => each === count))
  await Promise.all(tails.map((tail) => tail.stop()))
  t.same(reasons(logger), [])
})

const countConsumers = async ({ connection }: Opened, stream: string): Promise<number> => {
  const jsm = await jetstreamManager(connection)
  return (await jsm.streams.info(stream)).state.consumer_count
}

t.test(
  'followers at the same position share a consumer and what they read; one that stops leaves it to the others',
  async (t) => {
    const opened = await openOn(server, { name: 'SHARED' })
    t.teardown(opened.close)
    await publishRaw(opened, 'shared.journal.edge', frameTexts(300))
    const seen: Frame[][] = [[], [], []]
    const followers = seen.map((frames, which) => opened.log.follow(1 + which, (frame) => void frames.push(frame)))
    await until(() => seen.every((frames) => frames.at(-1)?.sequence === 300))
    await until(async () => {
      const { sequence } = await opened.log.append([adjustment('next')])
      await until(() => seen.every((frames) => frames.at(-1)?.sequence === sequence))
      return (await countConsumers(opened, 'SHARED')) === 1
    })
    const [first, ...others] = seen.map((frames) => frames.at(-1))
    t.ok(others.every((frame) => frame === first))
    await followers[0]?.stop()
    const stoppedAt = seen[0]?.length
    const { sequence } = await opened.log.append([adjustment('last')])
    await until(() => seen.slice(1).every((frames) => frames.at(-1)?.sequence === sequence))
    t.equal(seen[0]?.length, stoppedAt)
    for (const [which, frames] of seen.entries())
      t.ok(
        frames.every((frame, index) => frame.sequence === index + 1 + which),
        `follower ${which}`,
      )
    await Promise.all(followers.map((follower) => follower.stop()))
    await until(async () => (await countConsumers(opened, 'SHARED')) === 0)
  },
)

t.test('a follower that waits holds back no other, and misses nothing', async (t) => {
  const opened = await openOn(server, { name: 'WAITING' })
  t.teardown(opened.close)
  const gate = Promise.withResolvers<void>()
  const slow: number[] = []
  const quick: number[] = []
  opened.log.follow(1, async ({ sequence }) => {
    slow.push(sequence)
    if (sequence === 2) await gate.promise
  })
  opened.log.follow(1, ({ sequence }) => void quick.push(sequence))
  await opened.log.append([adjustment('a')])
  await until(() => slow.length === 1 && quick.length === 1)
  const count = natsLimits.followBufferFramesMax + 1_000
  await publishRaw(opened, 'waiting.journal.edge', frameTexts(count))
  await until(() => quick.length === count + 1)
  t.same(slow, [1, 2])
  gate.resolve()
  await until(() => slow.length === count + 1)
  t.same(slow, quick)
  t.ok(slow.every((sequence, index) => sequence === index + 1))
})

t.test('a reader that fails ends alone', async (t) => {
  const opened = await openOn(server, { name: 'ALONE' })
  t.teardown(opened.close)
  const seen: number[] = []
  opened.log.follow(1, ({ sequence }) => void seen.push(sequence))
  const failing = opened.log.follow(1, ({ sequence }) => {
    if (sequence === 3) throw new Error('cannot fold')
  })
  const failed = t.rejects(failing.done, { message: 'cannot fold' })
  for (const id of ['a', 'b', 'c', 'd']) await opened.log.append([adjustment(id)])
  await failed
  await until(() => seen.length === 4)
  t.same(seen, [1, 2, 3, 4])
})

t.test('a gap in the stream, before or behind the start, is a fault', async (t) => {
  const connection = await connectNats({ url: server.url, name: 'test' })
  t.teardown(() => connection.close())
  const jsm = await jetstreamManager(connection)
  await jsm.streams.add({ name: 'GAP', subjects: ['gap.journal.*', 'gap.wallet.*'] })
  const client = jetstream(connection)
  for (const text of frameTexts(5)) await client.publish('gap.journal.edge', text)
  const names = buildLogNames('GAP')
  const link = new Link(connection)
  const parts = {
    ...{ connection, jsm, names, inboxPrefix: '_INBOX', link, logger: recordingLogger() },
    sources: new Set<LogSource>(),
  }
  const seen: number[] = []
  const follow = (fromSequence: number): Promise<void> =>
    new LogFollower(parts, fromSequence, ({ sequence }) => void seen.push(sequence)).done
  await jsm.streams.deleteMessage('GAP', 3)
  await t.rejects(follow(1), { name: 'LogFault', message: 'sequence 3 is missing: 4 came' })
  t.same(seen, [1, 2])
  await t.rejects(follow(9), { name: 'LogFault', message: 'the log ends before sequence 8, which was read from it' })
  await jsm.streams.deleteMessage('GAP', 1)
  await t.rejects(follow(1), { name: 'LogFault', message: 'the log continues at sequence 2, not at 1' })
  parts.link.close()
})

t.test('a follower goes on after lost messages, silence, a cut connection and a lost consumer', async (t) => {
  const logger = recordingLogger()
  const { proxy, opened, beside: writer } = await openThroughLossy(t, server, { name: 'TROUBLE', logger })
  const seen: number[] = []
  opened.log.follow(1, ({ sequence }) => void seen.push(sequence))
  const appendUntilSeen = async (id: string): Promise<void> => {
    const { sequence } = await writer.log.append([adjustment(id)])
    await until(() => seen.at(-1) === sequence)
  }
  await appendUntilSeen('a')
  proxy.dropReplies()
  await writer.log.append([adjustment('b')])
  await new Promise((resolve) => setTimeout(resolve, 50))
  proxy.passReplies()
  await appendUntilSeen('c')
  proxy.dropReplies()
  await until(() => reasons(logger).includes(`silent for ${natsLimits.followStallMs} ms`))
  proxy.passReplies()
  proxy.cut()
  await appendUntilSeen('d')
  const jsm = await jetstreamManager(writer.connection)
  for await (const { name } of jsm.consumers.list('TROUBLE')) await jsm.consumers.delete('TROUBLE', name)
  await appendUntilSeen('e')
  t.same(seen, [1, 2, 3, 4, 5])
  t.ok(reasons(logger).includes('delivery 2 did not come'), reasons(logger).join('; '))
})

t.test('a follower that is cut off is behind until it has what the log had when it came back', async (t) => {
  const { proxy, opened, beside: writer } = await openThroughLossy(t, server, { name: 'BEHIND' })
  const seen: number[] = []
  const follower = opened.log.follow(1, ({ sequence }) => void seen.push(sequence))
  t.ok(follower.behindSinceMs !== null, 'before it has begun')
  await until(() => follower.behindSinceMs === null)
  const beforeMs = performance.now()
  proxy.dropReplies()
  const { sequence } = await writer.log.append([adjustment('a')])
  await until(() => follower.behindSinceMs !== null)
  t.ok(follower.behindSinceMs! > beforeMs)
  t.same(seen, [])
  proxy.passReplies()
  proxy.cut()
  await until(() => follower.behindSinceMs === null)
  await until(() => seen.at(-1) === sequence)
})

t.test('a frame that is read alone is the same as among others; one that is not there yet is awaited', async (t) => {
  const opened = await openOn(server, { name: 'SINGLE' })
  t.teardown(opened.close)
  await opened.log.append([adjustment('a')])
  await opened.log.postToWallet('acme', [adjustment('b')])
  const read = async (from: number, to: number) => {
    const frames = []
    for await (const some of opened.log.read(from, to)) frames.push(...some)
    return frames
  }
  const both = await read(1, 2)
  t.equal(both.length, 2)
  t.same([...(await read(1, 1)), ...(await read(2, 2))], both)
  const later = read(3, 3)
  await opened.log.append([adjustment('c')])
  t.match(await later, [{ sequence: 3, subject: 'journal.edge' }])
})
