import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { GrowingTree } from '../../audit/merkle.ts'
import { deriveVerifier, type Signer, type Verifier } from '../../audit/note.ts'
import { readSeal, SealBuilder, SealFault } from '../../audit/seal.ts'
import { mayHoldCheckpoint, readCheckpoints, verifyCheckpoint } from '../../audit/verified-checkpoints.ts'
import type { LastSeal } from '../../domain/ledger/ledger.ts'
import { faultText } from '../../errors/gateway-error.ts'
import type { CheckpointSealed } from '../../events/types.ts'
import type { Follower, LogOf } from '../../log/event-log.ts'
import type { RawFrame, RawFrames } from '../../log/raw-frames.ts'
import { decodeEvents } from '../../log/read-frame.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Check, checkOf } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'
import { waitAtMost } from '../../runtime/within.ts'
import type { RunningRole } from '../role.ts'
import { schedulerLimits } from './limits.ts'

export interface SealerParts {
  readonly log: Pick<LogOf<'CheckpointSealed'>, 'append' | 'writer'> & RawFrames
  readonly signer: Signer
  /** Verifiers of earlier keys, whose checkpoints are built on as well. */
  readonly previous: readonly Verifier[]
  readonly sealed: LastSeal | null
  readonly clock: Clock
  readonly logger: Logger
}

const readFrame = async ({ log }: SealerParts, sequence: number): Promise<RawFrame> => {
  for await (const [frame] of log.read(sequence, sequence)) if (frame !== undefined) return frame
  throw new SealFault(`frame ${sequence}, which holds the last checkpoint, is missing`)
}

const atFrame = <T>({ sequence }: RawFrame, read: () => T): T => {
  try {
    return read()
  } catch (cause) {
    throw new SealFault(`the checkpoint in frame ${sequence} cannot be built on: ${faultText(cause)}`, { cause })
  }
}

/** The tree at the last checkpoint of the log. Throws where that is not signed by a known key, or is inconsistent. */
const loadSealedTree = async (parts: SealerParts, verifiers: readonly Verifier[]): Promise<GrowingTree> => {
  const { sealed } = parts
  if (sealed === null) return new GrowingTree()
  const frame = await readFrame(parts, sealed.sequence)
  return atFrame(frame, () => {
    const checkpoint = readCheckpoints(frame).find(({ size }) => size === sealed.size)
    if (checkpoint === undefined) throw new SealFault(`it is not of size ${sealed.size}`)
    return verifyCheckpoint(checkpoint, verifiers).tree
  })
}

const nothing = { checkpoints: [], isNews: true } as const

const scanFrame = (
  frame: RawFrame,
): { readonly checkpoints: readonly CheckpointSealed[]; readonly isNews: boolean } => {
  if (!mayHoldCheckpoint(frame)) return nothing
  const events = decodeEvents(frame.data)
  const checkpoints = events.flatMap((event) => (event.type === 'CheckpointSealed' ? [event.data] : []))
  return { checkpoints, isNews: checkpoints.length < events.length }
}

/**
 * Seals the log: a signed checkpoint over all its frames at least every `sealEveryMs` while there is anything new. Of
 * several sealers one works and the others wait until its checkpoints stop; two checkpoints of one log never contradict
 * each other. A checkpoint in the log that is not signed by a known key, or that contradicts the frames, ends the
 * sealing with an error: what is signed on top of it would be trusted.
 */
class Sealer implements RunningRole {
  readonly #parts: SealerParts
  readonly #verifiers: readonly Verifier[]
  readonly #started: Promise<void>
  readonly #over = Promise.withResolvers<void>()
  #isOver = false
  /** Why sealing ended; null while it runs. */
  #failure: string | null = null
  #sealing = new SealBuilder()
  #follower: Follower | null = null
  #timer: NodeJS.Timeout | undefined
  /** The sequence of the last frame that holds something besides checkpoints. */
  #lastProgress = 0
  #lastSealMs: number
  /** The last checkpoint in the log is one of ours. */
  #isLeading = false
  #appending: Promise<void> | null = null
  #isRefused = false
  #awaited: { readonly sequence: number; readonly taken: () => void } | null = null
  /** Bytes hashed since the last yield to the event loop. */
  #slice = 0

  constructor(parts: SealerParts) {
    this.#parts = parts
    this.#verifiers = [deriveVerifier(parts.signer), ...parts.previous]
    this.#lastSealMs = parts.clock()
    this.#started = this.#start().catch((fault: unknown) => this.#fail(fault))
  }

  get check(): Check {
    return checkOf(this.#failure === null, `the log is not sealed any further: ${this.#failure}`)
  }

  /** Seals what the log holds by now: a log whose gateway was stopped is sealed to its end. */
  async stop(): Promise<void> {
    await waitAtMost(this.#finish(), schedulerLimits.schedulerStopMs)
    this.#end()
    void this.#follower?.stop()
  }

  async #finish(): Promise<void> {
    await this.#started
    if (!this.#isOver) await this.#sealRest().catch((fault: unknown) => this.#warnUnsealed(fault))
    this.#end()
    await Promise.all([this.#appending, this.#follower?.stop()])
  }

  async #sealRest(): Promise<void> {
    const last = await this.#parts.log.lastSequence()
    await Promise.race([this.#taken(last), this.#over.promise])
    const news = this.#lastProgress // Frames stored meanwhile by others are sealed by the next sealer.
    while (!this.#isOver && this.#sealing.sealedSize < news) {
      await this.#seal()
      if (this.#isRefused) return
    }
  }

  #taken(sequence: number): Promise<void> {
    if (this.#sealing.size >= sequence) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awaited = { sequence, taken: resolve }
    return promise
  }

  #warnUnsealed(fault: unknown): void {
    if (!this.#isOver) this.#parts.logger.log('seal.last_frames_unsealed', { fault })
  }

  async #start(): Promise<void> {
    this.#sealing = new SealBuilder(await loadSealedTree(this.#parts, this.#verifiers))
    if (this.#isOver) return
    this.#follower = this.#parts.log.followRaw(this.#sealing.size + 1, (frame) => this.#take(frame))
    this.#follower.done.catch((fault: unknown) => this.#fail(fault))
    this.#timer = setInterval(() => this.#sealIfDue(), schedulerLimits.sealTickMs)
  }

  #end(): void {
    this.#isOver = true
    clearInterval(this.#timer)
    this.#over.resolve()
  }

  #fail(fault: unknown): void {
    if (this.#isOver) return
    this.#end()
    this.#failure = faultText(fault)
    const { logger } = this.#parts
    const complain = (): void => logger.log('seal.stopped', { fault, sealedTo: this.#sealing.sealedSize })
    complain()
    this.#timer = setInterval(complain, schedulerLimits.sealFaultMs)
    void this.#follower?.stop()
  }

  #take(frame: RawFrame): Promise<void> | undefined {
    if (this.#isOver) return undefined
    this.#sealing.take(frame)
    const { checkpoints, isNews } = scanFrame(frame)
    if (isNews) this.#lastProgress = frame.sequence
    for (const checkpoint of checkpoints) this.#checkSeal(checkpoint, frame)
    if (this.#awaited !== null && this.#awaited.sequence <= frame.sequence) this.#awaited.taken()
    if (this.#sealing.unsealed >= schedulerLimits.sealLeavesMax) return this.#makeRoom()
    this.#slice += frame.data.length
    if (this.#slice < schedulerLimits.sealSliceBytesMax) return undefined
    this.#slice = 0
    return turn()
  }

  #checkSeal(checkpoint: CheckpointSealed, frame: RawFrame): void {
    const { log, clock } = this.#parts
    atFrame(frame, () => this.#sealing.advanceTo(verifyCheckpoint(checkpoint, this.#verifiers)))
    this.#isLeading = frame.id.startsWith(`${log.writer}:`)
    this.#lastSealMs = clock()
  }

  /** A long backlog is sealed in parts that fit into a frame, and read no faster. */
  async #makeRoom(): Promise<void> {
    while (!this.#isOver && this.#sealing.unsealed >= schedulerLimits.sealLeavesMax) {
      await Promise.race([this.#seal(), this.#over.promise])
      if (this.#isRefused) await Promise.race([delay(schedulerLimits.sealTickMs), this.#over.promise])
    }
  }

  #sealIfDue(): void {
    const hasNews = this.#lastProgress > this.#sealing.sealedSize
    const dueAfterMs = this.#isLeading
      ? schedulerLimits.sealEveryMs
      : schedulerLimits.sealEveryMs + schedulerLimits.sealStandbyMs
    const isDue = Math.abs(this.#parts.clock() - this.#lastSealMs) >= dueAfterMs // A clock may be set back.
    if (hasNews && isDue) void this.#seal()
  }

  #seal(): Promise<void> {
    this.#appending ??= this.#append()
      .catch((fault: unknown) => this.#fail(fault))
      .finally(() => {
        this.#appending = null
      })
    return this.#appending
  }

  async #append(): Promise<void> {
    const data = this.#sealing.seal(this.#parts.signer, schedulerLimits.sealLeavesMax)
    if (!(await this.#isStored(data))) return
    this.#sealing.advanceTo(readSeal(data))
    this.#lastSealMs = this.#parts.clock()
  }

  async #isStored(data: CheckpointSealed): Promise<boolean> {
    const { log, logger } = this.#parts
    try {
      await log.append([{ type: 'CheckpointSealed', data }])
      this.#isRefused = false
    } catch (fault) {
      if (!this.#isRefused && !this.#isOver) logger.log('seal.checkpoint_not_stored', { fault })
      this.#isRefused = true
    }
    return !this.#isRefused
  }
}

/** Seals the log from its last checkpoint on. A fault is logged and shown by its check, and ends nothing else. */
export const startSealer = (parts: SealerParts): Sealer => new Sealer(parts)
