import t from 'tap'
import { auditLimits } from '../../src/audit/limits.ts'
import type { Signer } from '../../src/audit/note.ts'
import { readSeal, SealBuilder, type SnapshotHead, signSeal } from '../../src/audit/seal.ts'
import { readLines, restoreLedger } from '../../src/audit/snapshots.ts'
import { wrapEvent } from '../../src/events/envelope.ts'
import type { CheckpointSealed } from '../../src/events/types.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'
import { rawFrameOf } from '../support/memory-log.ts'
import { randomOf } from '../support/random.ts'
import { MemorySnapshots } from '../support/snapshots.ts'
import {
  MemorySource,
  type SealedLog,
  type StoredSnapshot,
  sealedLog,
  signer,
  stranger,
  verifier,
} from './sealed-log.ts'

const ours = sealedLog({ frames: 120, random: randomOf(3), snapshots: true })
const others = sealedLog({ frames: 40, random: randomOf(4), snapshots: true })

const restore = async (frames: readonly RawFrame[], { head, bytes }: StoredSnapshot, verifiers = [verifier]) => {
  const store = new MemorySnapshots()
  store.put(head, bytes)
  const refused: string[] = []
  const onRefused = (_: SnapshotHead, fault: unknown): void => void refused.push(String(fault))
  const ledger = await restoreLedger({ store, log: new MemorySource(frames), verifiers, onRefused })
  return { sequence: ledger?.sequence ?? null, refused }
}

const checkpointFrame = (sequence: number, data: CheckpointSealed): RawFrame => {
  const event = wrapEvent({ type: 'CheckpointSealed', data }, 'one', '/gateway/test', '2026-03-01T00:00:00.000Z')
  return rawFrameOf({ sequence, walletSubject: null, writer: 'test', counter: 1, events: [event] })
}

const lastOf = ({ seals, snapshots }: SealedLog) => ({ ...seals.at(-1)!, snapshot: snapshots.at(-1)! })

const sealedBy = (signer: Signer, frames: readonly RawFrame[], { head }: StoredSnapshot, from: number) => {
  const builder = new SealBuilder()
  for (const frame of frames.slice(0, from)) builder.take(frame)
  builder.advanceTo(builder.next().tree)
  for (const frame of frames.slice(from)) builder.take(frame)
  return signSeal(builder.next(), signer, head)
}

t.test('no snapshot is believed without a public key', async (t) => {
  const { snapshot } = lastOf(ours)
  t.match(await restore(ours.frames, snapshot), { sequence: snapshot.head.sequence, refused: [] })
  t.match(await restore(ours.frames, snapshot, []), { sequence: null, refused: [/`audit\.public_key` is needed/] })
})

t.test('one of an older format is not read: its process replays', async (t) => {
  const { snapshot } = lastOf(ours)
  const older = { ...snapshot, head: { ...snapshot.head, format: 1 } }
  t.match(await restore(ours.frames, older), { sequence: null, refused: [/it has format 1/] })
})

t.test('a checkpoint of another log with the same key confirms nothing', async (t) => {
  const { snapshot, seal } = lastOf(others)
  const { head } = snapshot
  t.match(await restore(others.frames, snapshot), { sequence: head.sequence, refused: [] })
  const into = (checkpoint: CheckpointSealed) =>
    restore([...ours.frames, checkpointFrame(ours.frames.length + 1, checkpoint)], snapshot)
  t.match(await into(seal), { sequence: null, refused: [/is not the one that the checkpoint of size \d+ seals/] })
  const without = sealedBy(signer, others.frames.slice(0, seal.size), snapshot, seal.size)
  t.equal(readSeal(without).leaves.length, 0)
  t.match(await into(without), { sequence: null, refused: [/names no frame/] })
})

t.test('a checkpoint that nobody trusts does not hide the real one behind it', async (t) => {
  const { snapshot, seal, sequence } = lastOf(ours)
  const before = ours.frames.slice(0, sequence - 1)
  const forged = checkpointFrame(sequence, sealedBy(stranger, ours.frames.slice(0, seal.size), snapshot, 0))
  t.match(await restore([...before, forged], snapshot), { sequence: null, refused: [/is not signed by/] })
  const real = checkpointFrame(sequence + 1, seal)
  t.match(await restore([...before, forged, real], snapshot), { sequence: snapshot.head.sequence, refused: [] })
})

const { snapshotBytesMax, snapshotLineBytesMax, snapshotPieceBytes } = auditLimits

t.test('a snapshot is read no further than its limits', async (t) => {
  let read = 0
  const endless = async function* (piece: Buffer): AsyncGenerator<Buffer> {
    for (read = 0; ; ) {
      read += piece.length
      yield piece
    }
  }
  const drain = async (pieces: AsyncIterable<Buffer>): Promise<void> => {
    for await (const _ of readLines(pieces));
  }
  const piece = Buffer.alloc(snapshotPieceBytes, 'a')
  await t.rejects(drain(endless(piece)), { message: /a line of it has more than/ })
  t.equal(read, snapshotLineBytesMax + snapshotPieceBytes)
  piece[0] = 10
  await t.rejects(drain(endless(piece)), { message: /^it has more than/ })
  t.equal(read, snapshotBytesMax + snapshotPieceBytes)
})

t.test('lines are those of the text, wherever its pieces end', async (t) => {
  const text = 'one\n\ntwo and three\nfour\n'
  for (let size = 1; size <= text.length; size += 1) {
    const pieces = async function* (): AsyncGenerator<Buffer> {
      for (let start = 0; start < text.length; start += size) yield Buffer.from(text.slice(start, start + size))
    }
    const lines: string[] = []
    for await (const some of readLines(pieces())) lines.push(...some.map(String))
    t.same(lines, text.split('\n').slice(0, -1))
  }
})
