import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import { openSnapshots } from '../../../../src/adapters/nats/snapshots/open.ts'
import { auditLimits } from '../../../../src/audit/limits.ts'
import type { SnapshotHead } from '../../../../src/audit/seal.ts'
import { recordingLogger } from '../../../support/log-lines.ts'
import { NatsServer } from '../server.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())
const connection = await connectNats({ url: server.url, name: 'test' })
t.teardown(() => connection.close())
const logger = recordingLogger()
const jsm = await jetstreamManager(connection)
const store = await openSnapshots({ connection, name: 'GATEWAY', role: 'scheduler', replicas: 1, create: true, logger })

const headOf = (sequence: number): SnapshotHead => ({ sequence, format: 1, sha256: 'a'.repeat(64) })
const pieceOf = (text: string): Uint8Array => Buffer.alloc(auditLimits.snapshotPieceBytes, text)

async function* piecesOf(sequence: number, count: number): AsyncGenerator<Uint8Array, SnapshotHead> {
  for (let piece = 0; piece < count; piece += 1) yield pieceOf(`${sequence}-${piece} `)
  return headOf(sequence)
}

const read = async (sequence: number): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  for await (const piece of store.read(headOf(sequence))) pieces.push(piece)
  return Buffer.concat(pieces)
}

const listed = async (): Promise<readonly number[]> => (await store.list()).map(({ sequence }) => sequence)

const storedSubjects = async (): Promise<readonly string[]> => {
  const { state } = await jsm.streams.info('GATEWAY_SNAPSHOTS', { subjects_filter: '>' })
  return Object.keys(state.subjects ?? {})
}

t.test('what was written is read, the newest first; the oldest make room', async (t) => {
  t.same(await store.list(), [])
  for (const sequence of [9, 10, 200, 1_000])
    t.same(await store.write(sequence, piecesOf(sequence, 3)), headOf(sequence))
  t.same(await store.list(), [1_000, 200, 10].map(headOf))
  t.same(await read(200), Buffer.concat([0, 1, 2].map((piece) => pieceOf(`200-${piece} `))))
  t.notOk(
    (await storedSubjects()).some((subject) => subject.includes('.9')),
    'nothing is left of the oldest',
  )
})

t.test('those that make room while they are listed are left out', async (t) => {
  let isWriting = true
  const writing = (async () => {
    for (let sequence = 1_001; sequence <= 1_100; sequence += 1) await store.write(sequence, piecesOf(sequence, 0))
    isWriting = false
  })()
  while (isWriting) await store.list()
  await writing
  t.same(await store.list(), [1_100, 1_099, 1_098].map(headOf))
  await store.removeBeyond(async () => 0)
  for (const sequence of [200, 1_000]) await store.write(sequence, piecesOf(sequence, 3))
})

t.test('one that was interrupted is not listed, and its pieces go once newer ones are kept', async (t) => {
  const interrupted = async function* (): AsyncGenerator<Uint8Array, SnapshotHead> {
    yield pieceOf('first')
    throw new Error('killed')
  }
  await t.rejects(store.write(2_000, interrupted()), { message: 'killed' })
  t.same((await store.list())[0], headOf(1_000))
  t.ok((await storedSubjects()).includes('gateway.snapshot-part.2000.1'))
  for (const sequence of [2_001, 2_002, 2_003]) await store.write(sequence, piecesOf(sequence, 1))
  t.notOk((await storedSubjects()).includes('gateway.snapshot-part.2000.1'))
  t.same(await listed(), [2_003, 2_002, 2_001])
})

/** While it is written, another sealer writes those of `others`. */
async function* piecesBeside(sequence: number, others: readonly number[]): AsyncGenerator<Uint8Array, SnapshotHead> {
  yield pieceOf(`${sequence}`)
  for (const other of others) await store.write(other, piecesOf(other, 1))
  return headOf(sequence)
}

t.test('one that is written while another sealer stores a newer one is whole', async (t) => {
  await store.write(2_004, piecesBeside(2_004, [2_005]))
  t.same(await listed(), [2_005, 2_004, 2_003])
  t.same(await read(2_004), pieceOf('2004'))
})

t.test('nothing is left of one that is older, once written, than those that are kept', async (t) => {
  await store.write(2_006, piecesBeside(2_006, [2_007, 2_008, 2_009]))
  t.same(await listed(), [2_009, 2_008, 2_007])
  t.notOk((await storedSubjects()).some((subject) => subject.includes('.2006')))
})

t.test('those beyond the end of the log are removed on demand, but not what is written meanwhile', async (t) => {
  await store.removeBeyond(async () => {
    await store.write(2_010, piecesOf(2_010, 1))
    return 2_008
  })
  t.same(await listed(), [2_010, 2_008])
  t.notOk((await storedSubjects()).some((subject) => subject.includes('.2009')))
  await store.removeBeyond(async () => 0)
  for (const sequence of [500, 2_001]) await store.write(sequence, piecesOf(sequence, 1))
})

t.test('what is not a head is left out with a warning, and no more than so many are read', async (t) => {
  const js = jetstream(connection)
  const publish = (name: number | string, head: unknown) =>
    js.publish(`gateway.snapshot.${name}`, typeof head === 'string' ? head : JSON.stringify(head))
  const bad = ['{', {}, { ...headOf(3_002), sequence: 1, pieces: 1 }, { ...headOf(3_003), sha256: 'x', pieces: 1 }]
  for (const [place, head] of bad.entries()) await publish(3_000 + place, head)
  await publish('x', '{')
  t.same(await listed(), [2_001, 500])
  t.same(
    logger.lines.map(({ event, fields }) => [event, fields]),
    [3_003, 3_002, 3_001, 3_000].map((sequence) => ['snapshot.unreadable', { sequence }]),
  )
  for (let head = 0; head < auditLimits.snapshotHeadsReadMax; head += 1) await publish(4_000 + head, '{')
  t.same(await listed(), [])
  await store.removeBeyond(async () => 2_500)
  t.same(await listed(), [2_001, 500])
})

t.test('a piece that is gone or is no piece is reported as that', async (t) => {
  await store.write(2_000, piecesOf(2_000, 2))
  await jetstream(connection).publish('gateway.snapshot-part.2000.1', 'no piece')
  await t.rejects(read(2_000), { name: 'SnapshotFault', message: /snapshot-part\.2000\.1 is no piece/ })
  await jsm.streams.purge('GATEWAY_SNAPSHOTS', { filter: 'gateway.snapshot-part.2000.1' })
  await t.rejects(read(2_000), { name: 'SnapshotMissing', message: /snapshot-part\.2000\.1 is not stored/ })
  await t.rejects(read(7), { name: 'SnapshotMissing' })
})

t.test('without its stream everything rejects', async (t) => {
  const missing = await openSnapshots({ connection, name: 'OTHER', role: 'edge', replicas: 1, create: false, logger })
  await t.rejects(missing.list(), { message: /stream not found/ })
})
