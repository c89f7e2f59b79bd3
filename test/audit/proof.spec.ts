import t from 'tap'
import { findEvent, findSeal } from '../../src/audit/find-frame.ts'
import { createSigner, deriveVerifier } from '../../src/audit/note.ts'
import { checkProof, makeProof, type Proof, readProof } from '../../src/audit/proof.ts'
import { readFramesAt } from '../../src/audit/read-evidence.ts'
import { readSeal, SealBuilder, signSeal } from '../../src/audit/seal.ts'
import { decodeFrame, encodeFrame } from '../../src/events/codec.ts'
import { readFrameAt } from '../../src/log/raw-frames.ts'
import { randomOf } from '../support/random.ts'
import { MemorySource, sealedLog, signer, stranger, verifier } from './sealed-log.ts'

const log = sealedLog({ frames: 120, random: randomOf(21), sealers: 2 })
const source = new MemorySource(log.frames)
const sealedTo = log.seals.at(-1)!.seal.size

const eventsAt = (sequence: number) => decodeFrame(Buffer.from(log.frames[sequence - 1]!.data).toString()).events

const sealOf = (sequence: number, believed = verifier) =>
  findSeal(source, sequence, [believed], sequence + 1, log.frames.length)

const proofOf = async (sequence: number, index = 0): Promise<Proof> => {
  const frame = await readFrameAt(source, sequence, log.frames.length)
  const seal = await sealOf(sequence)
  return makeProof(frame!, index, seal!)
}

const sent = (proof: Proof): Proof => readProof(JSON.stringify(proof))

t.test('every sealed event can be proved, with the key and the file alone', async (t) => {
  let proved = 0
  for (let sequence = 1; sequence <= sealedTo; sequence += 1)
    for (const [index, event] of eventsAt(sequence).entries()) {
      const proof = sent(await proofOf(sequence, index))
      const { origin, size } = checkProof(proof, [deriveVerifier(stranger), verifier])
      if (origin !== verifier.name || size < sequence) t.fail(`frame ${sequence}`)
      t.same(proof.event, event)
      proved += 1
    }
  t.ok(proved > sealedTo)
  t.ok((await proofOf(sealedTo)).path.length <= 10, 'a proof is short')
})

t.test('what is not sealed yet cannot be', async (t) => {
  t.equal(await sealOf(sealedTo + 1), null)
  t.equal(await sealOf(1, deriveVerifier(stranger)), null)
  t.equal(await readFrameAt(source, log.frames.length + 1, log.frames.length), null)
  t.equal(await readFrameAt(source, 0, log.frames.length), null)
})

t.test('a proof that was changed anywhere proves nothing', async (t) => {
  const proof = await proofOf(40)
  const other = await proofOf(41)
  const changes: readonly Partial<Proof>[] = [
    { sequence: 41 },
    { sequence: sealedTo + 1 },
    { index_in_frame: 7 },
    { event: other.event },
    { event: { ...proof.event, time: '2026-01-01T00:00:00.000Z' } },
    { frame: other.frame },
    { frame: { ...proof.frame, subject: 'journal.other' } },
    { frame: { ...proof.frame, data: `${proof.frame.data} ` } },
    { path: other.path },
    { path: proof.path.slice(1) },
    { path: [...proof.path, 'ab'.repeat(32)] },
    { path: [] },
    { checkpoint: log.seals.at(-1)!.seal.note },
    { checkpoint: proof.checkpoint.replace('\n', '\n1') },
    { checkpoint: '' },
  ]
  for (const change of changes)
    t.throws(() => checkProof(sent({ ...proof, ...change }), [verifier]), JSON.stringify(Object.keys(change)))
  t.throws(() => checkProof(proof, [deriveVerifier(stranger)]), { name: 'NoteFault' })
  t.throws(() => checkProof(proof, [deriveVerifier(createSigner('other.log', Buffer.alloc(32, 7)))]), {
    name: 'NoteFault',
  })
  const seal = log.seals.at(-1)!.seal
  t.throws(() => checkProof({ ...proof, checkpoint: seal.note }, [verifier]), { name: 'ProofFault' })
})

t.test('a half character does not pass for the character that was sealed', async (t) => {
  const proving = (model: string): Proof => {
    const event = { ...eventsAt(1)[0]!, data: { model } }
    const data = Buffer.from(encodeFrame({ writer: 'w', counter: 1 }, [JSON.stringify(event)]))
    const frame = { sequence: 1, subject: 'journal.edge', id: 'w:1', storedMs: 0, data }
    const sealing = new SealBuilder()
    sealing.take(frame)
    return makeProof(frame, 0, readSeal(signSeal(sealing.next(), signer)))
  }
  const text = JSON.stringify(proving('m\uFFFD'))
  t.equal(checkProof(readProof(text), [verifier]).size, 1)
  t.throws(() => readProof(text.replaceAll('\uFFFD', '\\ud83d')), { name: 'ProofFault', message: /half a character/ })
  t.equal(checkProof(sent(proving('m\ud83d')), [verifier]).size, 1, 'where it was sealed as an escape, it stands')
})

t.test('a file that is no proof', async (t) => {
  const proof = await proofOf(3)
  for (const text of [
    '',
    '[]',
    '{}',
    JSON.stringify({ ...proof, format: 'x' }),
    JSON.stringify({ ...proof, path: ['x'] }),
  ])
    t.throws(() => readProof(text), { name: 'ProofFault' })
  t.throws(
    () =>
      makeProof(log.frames[0]!, 0, {
        ...log.seals.at(-1)!.seal,
        peaks: [],
        leaves: [],
        root: Buffer.alloc(32),
        snapshot: null,
      }),
    {
      name: 'ProofFault',
    },
  )
})

t.test('an event is found by its own id, and by what it ended', async (t) => {
  const all = log.frames.flatMap(({ sequence }) =>
    eventsAt(sequence).map((event, indexInFrame) => ({ sequence, event, indexInFrame })),
  )
  for (const { sequence, event, indexInFrame } of all.slice(0, 40)) {
    const found = await findEvent(source.read(1, log.frames.length), event.id)
    t.match(found, { indexInFrame, frame: { sequence }, event: { id: event.id } })
  }
  const used = all.find(({ event }) => event.type === 'UsageRecorded')!
  const { requestId } = used.event.data as { requestId: string }
  t.match(await findEvent(source.read(1, log.frames.length), requestId), { event: { id: used.event.id } })
  t.equal(await findEvent(source.read(1, log.frames.length), 'nobody'), null)
})

t.test('of a charge and its corrections, what others have between is not read', async (t) => {
  const last = log.frames.length
  const ranges: (readonly [from: number, to: number])[] = []
  const counted = {
    read: (from: number, to: number) => {
      ranges.push([from, to])
      return source.read(from, to)
    },
  }
  const sequences: number[] = []
  for await (const frames of readFramesAt(counted, [1, 3, last])) sequences.push(...frames.map((each) => each.sequence))
  t.same(sequences, [1, 3, last])
  t.same(ranges, [
    [1, 3],
    [last, last],
  ])
})
