import t from 'tap'
import { auditLimits } from '../../src/audit/limits.ts'
import type { Signer } from '../../src/audit/note.ts'
import { readSeal, SealBuilder, type SnapshotHead, signSeal } from '../../src/audit/seal.ts'
import { encodeSnapshot, readLines, restoreLedger, SnapshotMissing } from '../../src/audit/snapshots.ts'
import { verifySnapshots } from '../../src/audit/verify-snapshots.ts'
import { applyFrame, initialLedger } from '../../src/domain/ledger/ledger.ts'
import { wrapEvent } from '../../src/events/envelope.ts'
import type { CheckpointSealed } from '../../src/events/types.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'
import { frameFromRaw } from '../../src/log/source-log.ts'
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

t.test('frames between the snapshot and what its checkpoint lists are proven too', async (t) => {
  const { frames, seals } = sealedLog({ frames: 60, random: randomOf(5), sealEveryMax: 8 })
  const first = seals.findIndex(({ seal }, place) => place > 0 && seal.size > seals[place - 1]!.sequence + 2)
  const sequence = seals[first - 1]!.sequence + 1
  const from = seals[first]!.seal.size
  const ledger = initialLedger()
  for (const frame of frames.slice(0, sequence)) applyFrame(ledger, frameFromRaw(frame))
  t.ok(sequence < from && ledger.sealed !== null)
  const store = new MemorySnapshots()
  const head = await store.write(sequence, encodeSnapshot(ledger))
  const snapshot = { head, bytes: store.bytes(head) }
  const last = checkpointFrame(frames.length + 1, sealedBy(signer, frames, snapshot, from))
  t.match(await restore([...frames, last], snapshot), { sequence, refused: [] })
  const changed = frames.map((frame) =>
    frame.sequence === sequence + 1 ? { ...frame, data: Buffer.concat([frame.data, Buffer.from('\n')]) } : frame,
  )
  t.match(await restore([...changed, last], snapshot), {
    sequence: null,
    refused: [new RegExp(`the frames ${sequence + 1} to ${from} do not lead to the checkpoint`)],
  })
})

t.test('a stored snapshot that makes room meanwhile is no finding, one that is gone is', async (t) => {
  const [one, two, three, four] = ours.snapshots.slice(-4)
  const store = new MemorySnapshots()
  for (const { head, bytes } of [one!, two!, three!]) store.put(head, bytes)
  const confirmed = [one!, two!, three!].map(({ head }) => head)
  const rotating = {
    list: () => store.list(),
    read: (head: SnapshotHead) => {
      store.remove(one!.head)
      store.put(four!.head, four!.bytes)
      if (head.sequence === one!.head.sequence) throw new SnapshotMissing('its head is not stored')
      return store.read(head)
    },
  }
  t.same(await verifySnapshots(rotating, confirmed), { findings: [], unproven: [] })
  const lapped = confirmed.slice(0, 1)
  t.same(await verifySnapshots(store, lapped), { findings: [], unproven: [] }, 'three newer ones are kept')
  store.remove(four!.head)
  t.match(await verifySnapshots(store, lapped), { unproven: [/is not stored/] })
  const lost = {
    list: () => store.list(),
    read: () => {
      throw new SnapshotMissing('a piece is not stored')
    },
  }
  t.match(await verifySnapshots(lost, confirmed), {
    findings: [{ kind: 'snapshot-missing' }, { kind: 'snapshot-missing' }],
  })
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
