import type { RawFrame, RawFrames } from '../../audit/frames.ts'
import { GrowingTree } from '../../audit/merkle.ts'
import { type Signer, verifierOf } from '../../audit/note.ts'
import { checkSeal, readSeal, Sealing } from '../../audit/seal.ts'
import { decodeFrame } from '../../events/codec.ts'
import type { CheckpointSealed } from '../../events/types.ts'
import { limits } from '../../limits.ts'
import type { Clock, Follower, Logger, LogOf, RunningRole } from '../role.ts'

export interface SealerParts {
  readonly log: LogOf<'CheckpointSealed'> & RawFrames
  readonly signer: Signer
  /** The sequence of the frame that holds the last checkpoint; null where there is none. */
  readonly lastSealAt: number | null
  readonly clock: Clock
  readonly logger: Logger
  readonly onFatal: (fault: Error) => void
}

const sealMark = Buffer.from('"type":"CheckpointSealed"')
const utf8 = new TextDecoder()

/** The checkpoints in a frame, and whether it holds anything else. */
const sealsIn = ({ data }: RawFrame): { readonly seals: readonly CheckpointSealed[]; readonly alone: boolean } => {
  if (Buffer.from(data.buffer, data.byteOffset, data.length).indexOf(sealMark) < 0) return { seals: [], alone: false }
  const { events } = decodeFrame(utf8.decode(data))
  const seals = events
    .filter(({ type }) => type === 'CheckpointSealed')
    .map(({ data: seal }) => seal as CheckpointSealed)
  return { seals, alone: seals.length === events.length }
}

const readFrame = async ({ log }: SealerParts, sequence: number): Promise<RawFrame> => {
  for await (const [frame] of log.read(sequence, sequence)) if (frame !== undefined) return frame
  throw new Error(`the frame at sequence ${sequence} is gone`)
}

/** The tree at the last checkpoint of the log. One that is not ours, or does not hold together, is not built on: the log is read anew. */
const standingTree = async (parts: SealerParts): Promise<GrowingTree> => {
  if (parts.lastSealAt === null) return new GrowingTree()
  try {
    const { seals } = sealsIn(await readFrame(parts, parts.lastSealAt))
    return checkSeal(readSeal(seals.at(-1)!), verifierOf(parts.signer))
  } catch (fault) {
    parts.logger.warn(
      { fault, sequence: parts.lastSealAt },
      'the last checkpoint is not built on; the log is sealed anew',
    )
    return new GrowingTree()
  }
}

/**
 * Seals the log: a signed checkpoint over all its frames at least every `sealEveryMs` while there is anything new. Of several sealers one
 * works and the others wait for it to fall silent; two checkpoints of one log contradict each other nowhere.
 */
class Sealer implements RunningRole {
  readonly #parts: SealerParts
  readonly #sealing: Sealing
  readonly #follower: Follower
  readonly #timer: NodeJS.Timeout
  /** The sequence of the last frame that holds something besides checkpoints. */
  #lastNews = 0
  #lastSealMs: number
  /** The last checkpoint in the log is one of ours. */
  #isLeading = false
  /** The size of the checkpoint that we appended last. */
  #ownSize = 0
  #appending: Promise<void> | null = null

  constructor(parts: SealerParts, sealing: Sealing) {
    this.#parts = parts
    this.#sealing = sealing
    this.#lastSealMs = parts.clock()
    this.#follower = parts.log.followRaw(sealing.size + 1, (frame) => this.#take(frame))
    this.#follower.done.catch(parts.onFatal)
    this.#timer = setInterval(() => this.#sealIfDue(), limits.sealTickMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#appending
    await this.#follower.stop()
  }

  #take(frame: RawFrame): Promise<void> | undefined {
    this.#sealing.take(frame)
    const { seals, alone } = sealsIn(frame)
    if (!alone) this.#lastNews = frame.sequence
    for (const seal of seals) this.#meet(seal)
    // What was never sealed is sealed in pieces that fit into a frame, and read no faster.
    return this.#sealing.unsealed < limits.sealLeavesMax ? undefined : this.#seal()
  }

  #meet(seal: CheckpointSealed): void {
    this.#isLeading = seal.size === this.#ownSize
    this.#stands(seal)
  }

  #stands(seal: CheckpointSealed): void {
    this.#sealing.sealedTo(readSeal(seal))
    this.#lastSealMs = this.#parts.clock()
  }

  #sealIfDue(): void {
    const hasNews = this.#lastNews > this.#sealing.sealedSize
    const patienceMs = this.#isLeading ? limits.sealEveryMs : limits.sealEveryMs + limits.sealStandbyMs
    const isDue = this.#parts.clock() - this.#lastSealMs >= patienceMs
    if (hasNews && isDue) void this.#seal()
  }

  #seal(): Promise<void> {
    this.#appending ??= this.#append().finally(() => {
      this.#appending = null
    })
    return this.#appending
  }

  async #append(): Promise<void> {
    const data = this.#sealing.seal(this.#parts.signer)
    this.#ownSize = data.size
    try {
      await this.#parts.log.append([{ type: 'CheckpointSealed', data }])
      this.#stands(data)
    } catch (fault) {
      this.#parts.logger.warn({ fault }, 'a checkpoint was not stored; the next one seals as much')
    }
  }
}

export const startSealer = async (parts: SealerParts): Promise<RunningRole> =>
  new Sealer(parts, new Sealing(await standingTree(parts)))
