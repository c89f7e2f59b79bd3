import t, { type Test } from 'tap'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { openRawWriter } from '../../../src/adapters/nats/raw-writer.ts'
import { hashFrame } from '../../../src/audit/merkle.ts'
import { restoreLog } from '../../../src/audit/restore.ts'
import { verifyLog } from '../../../src/audit/verify.ts'
import type { FrameSource, RawFrame } from '../../../src/log/raw-frames.ts'
import { MemorySource, renumbered, sealedLog, verifier } from '../../audit/sealed-log.ts'
import { randomOf } from '../../support/random.ts'
import { LossyProxy } from './lossy-proxy.ts'
import { adjustment, openOn } from './open.ts'
import { NatsServer } from './server.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const archived = sealedLog({ frames: 400, random: randomOf(31) })
const { size } = archived.seals.at(-1)!.seal
const frames = archived.frames.slice(0, size)
const archive = new MemorySource(frames, 40)

let logs = 0

const newLog = async (t: Test, url?: string) => {
  logs += 1
  const name = `RESTORED${logs}`
  const opened = await openOn(server, { name, role: 'operator' })
  t.teardown(opened.close)
  const connection = await connectNats({ url: url ?? server.url, name: 'restore' })
  t.teardown(() => connection.close())
  return { ...opened, name, writer: openRawWriter(connection, name) }
}

const framesOf = async (source: FrameSource): Promise<readonly RawFrame[]> => {
  const all: RawFrame[] = []
  for await (const some of source.read(1, await source.lastSequence())) all.push(...some)
  return all
}

const leavesOf = (all: readonly RawFrame[]) =>
  all.map((frame) => `${frame.sequence} ${hashFrame(frame).toString('hex')}`)

t.test('an empty log gets the same frames at the same sequences, and so the same tree', async (t) => {
  const { log, writer } = await newLog(t)
  const told: number[] = []
  t.equal(await restoreLog({ archive, log, writer, onProgress: (sequence) => told.push(sequence) }), size)
  t.equal(told.at(-1), size)
  t.same(leavesOf(await framesOf(log)), leavesOf(frames))
  t.same(
    (await framesOf(log)).map(({ id }) => id),
    frames.map(({ id }) => id),
  )
  const known = [{ note: archived.seals.at(-1)!.seal.note, place: 'the archive' }]
  t.match(await verifyLog({ source: log, verifiers: [verifier], known }), { total: 0, sealedTo: size })
  t.equal(await restoreLog({ archive, log, writer }), 0, 'again, it does nothing')
})

t.test('one that was interrupted goes on', async (t) => {
  const { log, writer } = await newLog(t)
  for (const end of [1, 2, 57, 200]) {
    await restoreLog({ archive: new MemorySource(frames.slice(0, end)), log, writer })
    t.equal(await log.lastSequence(), end)
  }
  t.equal(await restoreLog({ archive, log, writer }), size - 200)
  t.same(leavesOf(await framesOf(log)), leavesOf(frames))
})

t.test('a log that holds anything else is left as it is', async (t) => {
  const { log, writer } = await newLog(t)
  await log.append([adjustment('a')])
  await t.rejects(restoreLog({ archive, log, writer }), {
    name: 'RestoreRefused',
    message: /its frame 1 is not the archive's/,
  })
  t.equal(await log.lastSequence(), 1)

  const longer = await newLog(t)
  await restoreLog({ archive, log: longer.log, writer: longer.writer })
  await longer.log.append([adjustment('a')])
  const again = restoreLog({ archive, log: longer.log, writer: longer.writer })
  await t.rejects(again, { name: 'RestoreRefused', message: /more than the archive's/ })
})

t.test('a frame that the log holds twice is put back twice', async (t) => {
  const twice = renumbered([...frames.slice(0, 30), frames[9]!, ...frames.slice(30, 60), frames[9]!])
  const { log, writer } = await newLog(t)
  t.equal(await restoreLog({ archive: new MemorySource(twice), log, writer }), twice.length)
  t.same(leavesOf(await framesOf(log)), leavesOf(twice))
})

t.test('a frame that nobody can read is put back too', async (t) => {
  const odd = [{ sequence: 1, subject: 'journal.edge', id: '', storedMs: 0, data: Buffer.from([0, 255, 10, 13]) }]
  const { log, writer } = await newLog(t)
  await restoreLog({ archive: new MemorySource(odd), log, writer })
  t.same(leavesOf(await framesOf(log)), leavesOf(odd))
})

t.test('connections that break on the way lose and double nothing', async (t) => {
  const wire = await LossyProxy.create(server.port)
  t.teardown(() => wire.close())
  const { log, writer } = await newLog(t, wire.url)
  let breaks = 0
  const onProgress = (sequence: number): void => {
    if (sequence < (breaks + 1) * 100) return
    breaks += 1
    wire.cut()
  }
  t.equal(await restoreLog({ archive, log, writer, onProgress }), size)
  t.ok(breaks > 1)
  t.same(leavesOf(await framesOf(log)), leavesOf(frames))
})

t.test('what somebody else writes meanwhile stands, and is found', async (t) => {
  const { log, writer } = await newLog(t)
  let other: Promise<{ readonly sequence: number }> | null = null
  const onProgress = (sequence: number): void => {
    if (sequence >= 100) other ??= log.append([adjustment('in-between')])
  }
  await restoreLog({ archive, log, writer, onProgress }).catch((fault: Error) =>
    t.match(fault, { name: 'RestoreRefused' }),
  )
  const { sequence } = await other!
  const found = await verifyLog({
    source: log,
    verifiers: [verifier],
    known: [{ note: archived.seals.at(-1)!.seal.note, place: 'the archive' }],
  })
  if (sequence <= size) t.match(found.findings[0], { kind: 'frame-changed', sequence })
  else t.match(found, { total: 0, sealedTo: size })
})
