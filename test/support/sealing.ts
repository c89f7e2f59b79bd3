import type { Test } from 'tap'
import { GrowingTree, hashFrame } from '../../src/audit/merkle.ts'
import type { Verifier } from '../../src/audit/note.ts'
import { largerHead, type SignedHead, type SignedHeadStore } from '../../src/audit/signed-head.ts'
import { mayHoldCheckpoint, readCheckpoints, verifyCheckpoint } from '../../src/audit/verified-checkpoints.ts'
import type { CheckpointSealed } from '../../src/events/types.ts'
import type { RawFrame, RawFrames } from '../../src/log/raw-frames.ts'
import { decodeEvents } from '../../src/log/read-frame.ts'

/** Keeps the head in memory, as a file or a table keeps it on disk. */
export class MemoryHeadStore implements SignedHeadStore {
  readonly place: string
  head: SignedHead | null
  /** Thrown by every call while it is set. */
  fault: Error | null = null
  /** Awaited before a head is stored. */
  beforeWrite: (head: SignedHead) => Promise<void> = async () => {}

  constructor(place = 'memory', head: SignedHead | null = null) {
    this.place = place
    this.head = head
  }

  async read(): Promise<SignedHead | null> {
    if (this.fault !== null) throw this.fault
    return this.head
  }

  async advance(head: SignedHead): Promise<SignedHead> {
    await this.beforeWrite(head)
    if (this.fault !== null) throw this.fault
    this.head = this.head === null ? head : largerHead(head, this.head)
    return this.head
  }

  async replace(head: SignedHead): Promise<void> {
    this.head = head
  }
}

/** A checkpoint, and the frame that holds it. */
export interface FoundCheckpoint extends CheckpointSealed {
  readonly sequence: number
  readonly writer: string
  readonly storedMs: number
}

export const framesOf = async (log: RawFrames): Promise<readonly RawFrame[]> => {
  const frames: RawFrame[] = []
  for await (const some of log.read(1, await log.lastSequence())) frames.push(...some)
  return frames
}

export const checkpointsAmong = (frames: readonly RawFrame[]): readonly FoundCheckpoint[] =>
  frames.flatMap((frame) => {
    const { sequence, storedMs, id } = frame
    return readCheckpoints(frame).map((each) => ({ ...each, sequence, storedMs, writer: id.split(':')[0]! }))
  })

/** Every checkpoint of the log, in its order. */
export const checkpointsOf = async (log: RawFrames): Promise<readonly FoundCheckpoint[]> =>
  checkpointsAmong(await framesOf(log))

/** Every checkpoint is signed by one of the keys, and seals the frames that stand there and none that came after it. */
export const checkSealed = (
  t: Test,
  frames: readonly RawFrame[],
  verifiers: readonly Verifier[],
): readonly FoundCheckpoint[] => {
  const checkpoints = checkpointsAmong(frames)
  const tree = new GrowingTree()
  for (const checkpoint of checkpoints.toSorted((one, other) => one.size - other.size)) {
    const { size, sequence } = checkpoint
    while (tree.size < size) tree.append(hashFrame(frames[tree.size]!))
    if (!verifyCheckpoint(checkpoint, verifiers).root.equals(tree.root))
      t.fail(`the checkpoint of size ${size} seals others`)
    if (size >= sequence) t.fail(`the checkpoint of size ${size} stands in frame ${sequence}`)
  }
  return checkpoints
}

/** Frames that hold something besides checkpoints. */
export const newsAmong = (frames: readonly RawFrame[]): readonly RawFrame[] =>
  frames.filter(
    (frame) => !mayHoldCheckpoint(frame) || decodeEvents(frame.data).some(({ type }) => type !== 'CheckpointSealed'),
  )

/** For each frame with news behind a sequence how long it took until a checkpoint sealed it, in the order of the log; infinite where none does. */
export const sealedAfterMs = (
  frames: readonly RawFrame[],
  behind: number,
  checkpoints = checkpointsAmong(frames),
): readonly number[] =>
  newsAmong(frames.slice(behind)).map(({ sequence, storedMs }) => {
    const first = checkpoints.find(({ size }) => size >= sequence)
    return first === undefined ? Number.POSITIVE_INFINITY : first.storedMs - storedMs
  })
