import { faultText } from '../errors/gateway-error.ts'
import type { CheckpointSealed } from '../events/types.ts'
import { type FrameSource, FramesFault, type RawFrame } from '../log/raw-frames.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { type IntegrityFinding, IntegrityFindings } from './findings.ts'
import { auditLimits } from './limits.ts'
import { computeRootFromPeaks, GrowingTree, type Hash, hashFrame } from './merkle.ts'
import type { Verifier } from './note.ts'
import { readSeal } from './seal.ts'
import { readCheckpoints, type VerifiedSeal, verifyCheckpoint } from './verified-checkpoints.ts'

export interface ArchiveHead {
  readonly size: number
  readonly peaks: readonly Hash[]
  readonly checkpoint: CheckpointSealed | null
}

export interface ArchiveTarget {
  readonly head: ArchiveHead
  readonly bytes: number
  write(frame: RawFrame): Promise<void>
  /** Ends the segment, if one was begun, with a checkpoint over all frames written, whose tree is `tree`. */
  finish(checkpoint: CheckpointSealed, tree: GrowingTree): Promise<void>
}

interface ArchiveParts {
  readonly source: FrameSource
  readonly target: ArchiveTarget
  readonly verifiers: readonly Verifier[]
  readonly onProgress?: (sequence: number, lastSequence: number) => void
}

export interface ArchiveReport {
  readonly from: number
  readonly to: number
  readonly lastSequence: number
  /** Why nothing further was archived, and checkpoints that were rejected. */
  readonly findings: readonly IntegrityFinding[]
  readonly total: number
}

class ArchiveConflict extends Error {
  readonly finding: IntegrityFinding

  constructor(kind: IntegrityFinding['kind'], sequence: number, text: string) {
    super(text)
    this.finding = { kind, sequence, toSequence: sequence, text }
  }
}

interface Candidate {
  readonly checkpoint: CheckpointSealed
  readonly seal: VerifiedSeal
}

class ArchiveRun {
  readonly findings = new IntegrityFindings(sharedLimits.verifyFindingsMax)
  readonly #parts: ArchiveParts
  #tree: GrowingTree
  #last: CheckpointSealed | null = null
  #isWriting = false
  /** Frames that no checkpoint seals yet, up to the last one read; the first are missing if there were too many. */
  #waiting: RawFrame[] = []
  #waitingBytes = 0

  constructor(parts: ArchiveParts) {
    this.#parts = parts
    const { size, peaks } = parts.target.head
    this.#tree = new GrowingTree(size, peaks)
  }

  get size(): number {
    return this.#tree.size
  }

  async take(frame: RawFrame): Promise<void> {
    this.#enqueue(frame)
    for (const candidate of this.#candidatesIn(frame))
      if (candidate.seal.size > this.#tree.size) await this.#archiveTo(candidate)
  }

  async finish(): Promise<void> {
    if (this.#last === null || this.#isWriting) return
    await this.#parts.target.finish(this.#last, this.#tree)
    this.#last = null
  }

  #enqueue(frame: RawFrame): void {
    this.#waiting.push(frame)
    this.#waitingBytes += frame.data.length
    if (this.#waitingBytes > auditLimits.archiveUnsealedBytesMax) this.#dropWaitingTo(frame.sequence)
  }

  #dropWaitingTo(sequence: number): void {
    this.#waiting = this.#waiting.filter((frame) => frame.sequence > sequence)
    this.#waitingBytes = this.#waiting.reduce((sum, { data }) => sum + data.length, 0)
  }

  #candidatesIn(frame: RawFrame): readonly Candidate[] {
    try {
      return readCheckpoints(frame).map((checkpoint) => ({
        checkpoint,
        seal: verifyCheckpoint(checkpoint, this.#parts.verifiers),
      }))
    } catch (fault) {
      const { sequence } = frame
      const text = `frame ${sequence} holds a checkpoint that is not trusted: ${faultText(fault)}`
      this.findings.add({ kind: 'checkpoint-forged', sequence, toSequence: sequence, text })
      return []
    }
  }

  async *#framesTo(sequence: number): AsyncIterable<RawFrame> {
    const from = this.#tree.size + 1
    if (this.#waiting[0]?.sequence === from) {
      yield* this.#waiting.slice(0, sequence - from + 1)
      return
    }
    for await (const frames of this.#parts.source.read(from, sequence)) yield* frames
  }

  async #archiveTo({ checkpoint, seal }: Candidate): Promise<void> {
    const { target } = this.#parts
    const tree = await this.#hashTo(seal)
    this.#isWriting = true
    for await (const frame of this.#framesTo(seal.size)) await target.write(frame)
    this.#isWriting = false
    this.#tree = tree
    this.#last = checkpoint
    this.#dropWaitingTo(seal.size)
    if (target.bytes >= auditLimits.archiveSegmentBytesMin) await this.finish()
  }

  /** The tree up to a checkpoint. Throws ArchiveConflict if the frames do not lead to it. */
  async #hashTo(seal: VerifiedSeal): Promise<GrowingTree> {
    const tree = new GrowingTree(this.#tree.size, this.#tree.peaks)
    for await (const frame of this.#framesTo(seal.size)) {
      const hash = hashFrame(frame)
      const sealed = seal.leaves[frame.sequence - seal.from - 1]
      if (sealed !== undefined && !sealed.equals(hash))
        throw new ArchiveConflict(
          'frame-changed',
          frame.sequence,
          `frame ${frame.sequence} is not the one that was sealed`,
        )
      tree.append(hash)
      if (tree.size === seal.from && !tree.root.equals(computeRootFromPeaks(seal.peaks)))
        throw this.#createConflict(seal, seal.from)
    }
    if (!tree.root.equals(seal.root)) throw this.#createConflict(seal, this.#tree.size)
    return tree
  }

  #createConflict({ size }: VerifiedSeal, to: number): ArchiveConflict {
    const archived = this.#tree.size
    const where = to > archived ? `among the frames ${archived + 1} to ${to}` : `at frame ${archived} or before`
    const text = `the log continues another history than the archive's: its checkpoint of size ${size} differs from the archive ${where}`
    return new ArchiveConflict('log-forked', Math.max(1, Math.min(to, archived)), text)
  }
}

/** Throws ArchiveConflict unless the log still holds the last frame that was archived. */
const assertSameHead = async ({ source, target }: ArchiveParts, end: number): Promise<void> => {
  const { size, checkpoint } = target.head
  if (checkpoint === null) return
  if (end < size)
    throw new ArchiveConflict('log-truncated', end + 1, `the log ends at sequence ${end}, the archive at ${size}`)
  const sealed = readSeal(checkpoint).leaves.at(-1)
  for await (const [frame] of source.read(size, size))
    if (frame !== undefined && sealed?.equals(hashFrame(frame)) === false)
      throw new ArchiveConflict('log-forked', size, `frame ${size} of the log is not the one that was archived`)
}

const findingOf = (fault: unknown): IntegrityFinding | null => {
  if (fault instanceof ArchiveConflict) return fault.finding
  if (!(fault instanceof FramesFault)) return null
  return { kind: 'frame-missing', sequence: fault.from, toSequence: fault.resumesAt - 1, text: fault.message }
}

/** Frames are checked against their checkpoint first; nothing after a conflict is archived. Returns conflicts. */
export const archiveSealedFrames = async (parts: ArchiveParts): Promise<ArchiveReport> => {
  const { source, target, onProgress } = parts
  const archiving = new ArchiveRun(parts)
  const from = target.head.size
  const end = await source.lastSequence()
  try {
    await assertSameHead(parts, end)
    for await (const frames of source.read(from + 1, end))
      for (const frame of frames) {
        await archiving.take(frame)
        onProgress?.(frame.sequence, end)
      }
  } catch (fault) {
    const finding = findingOf(fault)
    if (finding === null) throw fault
    archiving.findings.add(finding)
  }
  await archiving.finish()
  const { shown, total } = archiving.findings
  return { from, to: archiving.size, lastSequence: end, findings: shown, total }
}

/** Throws FramesFault where the log holds another frame than the archive at the archive's end. */
export const assertContinues = async (archive: FrameSource, log: FrameSource): Promise<void> => {
  const end = await archive.lastSequence()
  if (end === 0 || (await log.lastSequence()) < end) return
  const leaves: string[] = []
  for (const source of [archive, log])
    for await (const [frame] of source.read(end, end))
      if (frame !== undefined) leaves.push(hashFrame(frame).toString('hex'))
  if (leaves[0] !== leaves[1])
    throw new FramesFault(
      'missing',
      `the log does not continue where the archive ends: its frame ${end} is another`,
      end,
      end + 1,
    )
}
