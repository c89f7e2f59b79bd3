import type { GrowingTree } from '../../audit/merkle.ts'
import type { Verifier } from '../../audit/note.ts'
import { readSeal, type Seal, SealBuilder, SealFault, type UnsignedSeal } from '../../audit/seal.ts'
import type { SignedHead } from '../../audit/signed-head.ts'
import { atFrame, mayHoldCheckpoint, verifyCheckpoint } from '../../audit/verified-checkpoints.ts'
import type { CheckpointCosigned, CheckpointSealed } from '../../events/types.ts'
import type { RawFrame } from '../../log/raw-frames.ts'
import { decodeEvents } from '../../log/read-frame.ts'
import { schedulerLimits } from './limits.ts'

const { sealEveryMs, sealStandbyMs, sealLeavesMax } = schedulerLimits

/** Gets what the log holds about its checkpoints, each once it is in the log and was compared with the frames. */
export interface SealObserver {
  onSealed(seal: Seal, isOwn: boolean): void
  onCosigned(cosigned: CheckpointCosigned): void
}

const nothing = { checkpoints: [], cosigned: [], isNews: true } as const

interface ScannedFrame {
  readonly checkpoints: readonly CheckpointSealed[]
  readonly cosigned: readonly CheckpointCosigned[]
  readonly isNews: boolean
}

const scanFrame = (frame: RawFrame): ScannedFrame => {
  if (!mayHoldCheckpoint(frame)) return nothing
  const events = decodeEvents(frame.data)
  const checkpoints = events.flatMap((event) => (event.type === 'CheckpointSealed' ? [event.data] : []))
  const cosigned = events.flatMap((event) => (event.type === 'CheckpointCosigned' ? [event.data] : []))
  return { checkpoints, cosigned, isNews: checkpoints.length + cosigned.length < events.length }
}

interface SealStateParts {
  /** The tree at the last checkpoint of the log. */
  readonly sealed: GrowingTree
  readonly verifiers: readonly Verifier[]
  /** Of the log: what its frames' ids begin with. */
  readonly writer: string
  readonly nowMs: number
  readonly observer?: SealObserver | undefined
}

/** Which frames of the log are sealed and which are not, and when the next checkpoint is due. */
export class SealState {
  readonly #builder: SealBuilder
  readonly #verifiers: readonly Verifier[]
  readonly #ownIdPrefix: string
  readonly #observer: SealObserver | undefined
  #lastNews = 0
  #lastSealMs: number
  /** Signed once, beyond the frames taken: nothing smaller is signed, and the frames must lead to it. */
  #ahead: SignedHead | null = null
  /** The last checkpoint in the log is one of ours. */
  #isLeading = false

  constructor({ sealed, verifiers, writer, nowMs, observer }: SealStateParts) {
    this.#observer = observer
    this.#builder = new SealBuilder(sealed)
    this.#verifiers = verifiers
    this.#ownIdPrefix = `${writer}:`
    this.#lastSealMs = nowMs
  }

  /** The sequence of the last frame that was taken. */
  get size(): number {
    return this.#builder.size
  }

  get sealedSize(): number {
    return this.#builder.sealedSize
  }

  /** The sequence of the last frame that holds something besides checkpoints and their cosignatures. */
  get lastNews(): number {
    return this.#lastNews
  }

  /** No further frame fits into one checkpoint. */
  get isFull(): boolean {
    return !this.isBehind && this.#builder.unsealed >= sealLeavesMax
  }

  isDue(nowMs: number): boolean {
    if (this.isBehind || this.#lastNews <= this.sealedSize) return false
    const dueAfterMs = this.#isLeading ? sealEveryMs : sealEveryMs + sealStandbyMs
    return Math.abs(nowMs - this.#lastSealMs) >= dueAfterMs // A clock may be set back.
  }

  /** Throws SealFault where the frame holds a checkpoint that is not trusted, or that contradicts the frames. */
  take(frame: RawFrame, nowMs: number): void {
    this.#builder.take(frame)
    this.#compareAhead()
    const { checkpoints, cosigned, isNews } = scanFrame(frame)
    if (isNews) this.#lastNews = frame.sequence
    for (const checkpoint of checkpoints) {
      const seal = atFrame(frame, () => verifyCheckpoint(checkpoint, this.#verifiers))
      atFrame(frame, () => this.#builder.advanceTo(seal))
      this.#isLeading = frame.id.startsWith(this.#ownIdPrefix)
      this.#lastSealMs = nowMs
      this.#observer?.onSealed(seal, this.#isLeading)
    }
    for (const each of cosigned) this.#observer?.onCosigned(each)
  }

  get isBehind(): boolean {
    return this.#ahead !== null
  }

  /** Throws SealFault where the frames taken do not lead to a head that was signed. */
  expect(head: SignedHead): void {
    this.#ahead = head
    this.#compareAhead()
  }

  next(): UnsignedSeal {
    return this.#builder.next(sealLeavesMax)
  }

  markStored(checkpoint: CheckpointSealed, nowMs: number): void {
    const seal = readSeal(checkpoint)
    this.#builder.advanceTo(seal)
    this.#observer?.onSealed(seal, true)
    this.#lastSealMs = nowMs
  }

  #compareAhead(): void {
    if (this.#ahead === null || this.#ahead.size > this.size) return
    const { size, root } = this.#ahead
    const tree = this.#builder.treeAt(size) // Null where a checkpoint that was checked seals more.
    if (tree !== null && !tree.root.equals(root))
      throw new SealFault(`the log was changed: its frames 1 to ${size} are not those that were signed`)
    this.#ahead = null
  }
}
