import fc from 'fast-check'
import t from 'tap'
import { countPeaks, GrowingTree, hashFrame } from '../../src/audit/merkle.ts'
import { createSigner, deriveVerifier, NoteFault, openCheckpoint, signCheckpoint } from '../../src/audit/note.ts'
import { checkSeal, readSeal, SealBuilder, SealFault, signSeal } from '../../src/audit/seal.ts'
import { getValidator } from '../../src/encoding/schema-validation.ts'
import type { CheckpointSealed } from '../../src/events/types.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'
import { propertyRuns } from '../support/property-runs.ts'

const signer = createSigner('example.com/log', Buffer.alloc(32, 7))
const verifier = deriveVerifier(signer)

const frameAt = (sequence: number): RawFrame => ({
  sequence,
  subject: sequence % 3 === 0 ? 'wallet.acme' : 'journal.edge',
  id: `w:${sequence}`,
  storedMs: sequence,
  data: Buffer.from(`frame ${sequence}`),
})

const framesTo = (size: number): readonly RawFrame[] => Array.from({ length: size }, (_, place) => frameAt(place + 1))

const treeOver = (frames: readonly RawFrame[]): GrowingTree => {
  const tree = new GrowingTree()
  for (const frame of frames) tree.append(hashFrame(frame))
  return tree
}

/** Checkpoints over a log of so many frames, one wherever a size is named. */
const checkpointsOf = (sizes: readonly number[]): readonly CheckpointSealed[] => {
  const sealing = new SealBuilder()
  return sizes.map((size) => {
    for (let next = sealing.size + 1; next <= size; next += 1) sealing.take(frameAt(next))
    const checkpoint = signSeal(sealing.next(), signer)
    sealing.advanceTo(readSeal(checkpoint))
    return checkpoint
  })
}

/** Two checkpoints, one behind the other. */
const twoSizes = fc
  .tuple(fc.integer({ min: 1, max: 150 }), fc.integer({ min: 1, max: 150 }))
  .map(([a, b]) => [a, a + b])

const refuses = (work: () => unknown): boolean => {
  try {
    work()
    return false
  } catch (fault) {
    return fault instanceof SealFault || fault instanceof NoteFault || fault instanceof RangeError
  }
}

const changedAt = (text: string, place: number): string => {
  const bytes = Buffer.from(text, 'base64')
  bytes[place % bytes.length]! ^= 1
  return bytes.toString('base64')
}

t.test('checkpoints one behind the other have the roots of the tree that never stopped', async () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 12 }), (some) => {
      const sizes = some.toSorted((one, other) => one - other)
      return checkpointsOf(sizes).every((checkpoint, place) => {
        const seal = readSeal(checkpoint)
        const { root } = treeOver(framesTo(seal.size))
        return (
          getValidator('events/CheckpointSealed.v1.json')(checkpoint).length === 0 &&
          seal.from === (sizes[place - 1] ?? 0) &&
          seal.peaks.length === countPeaks(seal.from) &&
          seal.leaves.every((leaf, index) => leaf.equals(hashFrame(frameAt(seal.from + index + 1)))) &&
          seal.root.equals(root) &&
          checkSeal(seal, verifier).root.equals(root) &&
          openCheckpoint(seal.note, verifier).root.equals(root)
        )
      })
    }),
    propertyRuns(30),
  )
})

t.test('any figure that is changed is noticed', async () => {
  fc.assert(
    fc.property(twoSizes, fc.nat(), (sizes, place) => {
      const checkpoint = checkpointsOf(sizes)[1]!
      const changes: readonly Partial<CheckpointSealed>[] = [
        { size: checkpoint.size + 1 },
        { size: checkpoint.size - 1 },
        { from: checkpoint.from + 1 },
        { from: checkpoint.from - 1 },
        { root: changedAt(checkpoint.root, place) },
        { leaves: changedAt(checkpoint.leaves, place) },
        { leaves: Buffer.from(checkpoint.leaves, 'base64').subarray(32).toString('base64') },
        { peaks: checkpoint.peaks.slice(1) },
        { peaks: checkpoint.peaks.map((peak, index) => (index === 0 ? changedAt(peak, place) : peak)) },
        { note: checkpointsOf(sizes)[0]!.note },
        // Moved as a whole: the leaf that comes next is left out, and counted among those before.
        { from: checkpoint.from + 1, leaves: Buffer.from(checkpoint.leaves, 'base64').subarray(32).toString('base64') },
      ]
      return changes.every((change) => refuses(() => checkSeal(readSeal({ ...checkpoint, ...change }), verifier)))
    }),
  )
})

t.test('hashes that lead to another root are refused, whoever signs them', async (t) => {
  const [checkpoint] = checkpointsOf([9])
  const seal = readSeal(checkpoint!)
  const root = Buffer.alloc(32, 1)
  const forged = { ...seal, root, note: signCheckpoint({ origin: signer.name, size: 9, root }, signer) }
  t.throws(() => checkSeal(forged, verifier), { name: 'SealFault', message: /do not lead to its root/ })
  const stranger = createSigner(signer.name, Buffer.alloc(32, 8))
  const note = signCheckpoint({ origin: signer.name, size: 9, root: seal.root }, stranger)
  t.throws(() => checkSeal({ ...seal, note }, verifier), NoteFault)
})

t.test('a checkpoint of another sealer stands where it seals the frames that the log has', async () => {
  fc.assert(
    fc.property(twoSizes, fc.nat(), (sizes, more) => {
      const [size = 0, last = 0] = sizes
      const mine = new SealBuilder()
      for (const frame of framesTo(last + (more % 20))) mine.take(frame)
      const [first, second] = checkpointsOf(sizes).map(readSeal)
      mine.advanceTo(first!)
      const between = mine.unsealed === last + (more % 20) - size && mine.sealedSize === size
      mine.advanceTo(second!)
      mine.advanceTo(first!) // Another's that came late.
      const checkpoint = mine.unsealed === 0 ? null : readSeal(signSeal(mine.next(), signer))
      return (
        between &&
        mine.sealedSize === last &&
        (checkpoint === null || (checkpoint.from === last && refuses(() => checkSeal(checkpoint, verifier)) === false))
      )
    }),
  )
})

t.test('one that seals other frames, or frames that are not there, is a fault', async (t) => {
  const sealing = new SealBuilder()
  for (const frame of framesTo(10)) sealing.take(frame)
  const elsewhere = new SealBuilder()
  for (const frame of framesTo(10))
    elsewhere.take(frame.sequence === 4 ? { ...frame, subject: 'journal.proxy' } : frame)
  t.throws(() => sealing.advanceTo(readSeal(signSeal(elsewhere.next(), signer))), {
    name: 'SealFault',
    message: 'the checkpoint of size 10 seals other frames than the log has',
  })
  t.throws(() => sealing.advanceTo(readSeal(checkpointsOf([11])[0]!)), {
    name: 'SealFault',
    message: 'a checkpoint of size 11 precedes frame 11',
  })
  t.equal(sealing.sealedSize, 0, 'and nothing of it is built on')
  t.throws(() => sealing.take(frameAt(12)), { name: 'SealFault', message: 'frame 12 came where 11 was due' })
})

t.test('what was taken can be sealed in pieces', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 40 }), (size, leavesMax) => {
      const sealing = new SealBuilder()
      for (const frame of framesTo(size)) sealing.take(frame)
      for (let sealed = 0; sealed < size; sealed = sealing.sealedSize) {
        const checkpoint = readSeal(signSeal(sealing.next(leavesMax), signer))
        if (checkpoint.from !== sealed || checkpoint.leaves.length > leavesMax) return false
        if (!checkSeal(checkpoint, verifier).root.equals(treeOver(framesTo(checkpoint.size)).root)) return false
        sealing.advanceTo(checkpoint)
      }
      return sealing.sealedSize === size && sealing.unsealed === 0
    }),
    propertyRuns(20),
  )
})

t.test('a sealer that goes on from a checkpoint makes the checkpoints of the one that never stopped', async () => {
  fc.assert(
    fc.property(twoSizes, (sizes) => {
      const [first, second] = checkpointsOf(sizes)
      const resumed = new SealBuilder(checkSeal(readSeal(first!), verifier))
      for (const frame of framesTo(sizes[1]!).slice(sizes[0]!)) resumed.take(frame)
      return JSON.stringify(signSeal(resumed.next(), signer)) === JSON.stringify(second)
    }),
  )
})
