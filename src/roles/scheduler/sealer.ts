import { setTimeout as delay } from 'node:timers/promises'
import { GrowingTree } from '../../audit/merkle.ts'
import { deriveVerifier, type Signer, type Verifier } from '../../audit/note.ts'
import { SealFault } from '../../audit/seal.ts'
import { type SignedHead, signedHeadOf } from '../../audit/signed-head.ts'
import type { SignedHeads } from '../../audit/signed-heads.ts'
import { readSealedTree } from '../../audit/verified-checkpoints.ts'
import type { LastSeal } from '../../domain/ledger/ledger.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { Follower, LogOf } from '../../log/event-log.ts'
import type { RawFrame, RawFrames } from '../../log/raw-frames.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Check } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Watermark } from '../../runtime/watermark.ts'
import { waitAtMost } from '../../runtime/within.ts'
import { yieldEvery } from '../../runtime/yield-every.ts'
import type { RunningRole } from '../role.ts'
import { CheckpointWriter, type UnconfirmedSnapshots } from './checkpoint-writer.ts'
import { schedulerLimits } from './limits.ts'
import { type SealObserver, SealState } from './seal-state.ts'
import { SealingHealth } from './sealing-health.ts'

export interface SealerParts {
  readonly log: Pick<LogOf<'CheckpointSealed'>, 'append' | 'writer'> & RawFrames
  readonly signer: Signer
  /** Verifiers of earlier keys, whose checkpoints are built on as well. */
  readonly previous: readonly Verifier[]
  readonly sealed: LastSeal | null
  readonly heads: Pick<SignedHeads, 'read' | 'advance'>
  /** Whether a log of which nothing is known to be signed may be sealed as it is. */
  readonly firstSeal: boolean
  readonly snapshots?: UnconfirmedSnapshots | undefined
  readonly observer?: SealObserver | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/** Waits for stores that do not answer: what they hold may be all that is known. */
const readSignedHead = async (
  parts: SealerParts,
  isOver: () => boolean,
): Promise<Omit<Awaited<ReturnType<SignedHeads['read']>>, 'unread'>> => {
  for (;;) {
    const { unread, ...found } = await parts.heads.read()
    if (found.head !== null || unread.length === 0 || isOver()) return found
    parts.logger.log('seal.state_unavailable', { fault: new SealFault(`no answer from ${unread.join(' and ')}`) })
    await delay(schedulerLimits.sealStateRetryMs)
  }
}

interface SealingStart {
  readonly sealed: GrowingTree
  readonly head: SignedHead
}

/** At the smaller of the last checkpoint and of what was signed last: the frames from there on must lead to the other. */
const findStart = async (
  parts: SealerParts,
  verifiers: readonly Verifier[],
  isOver: () => boolean,
): Promise<SealingStart> => {
  const { log, heads, signer, firstSeal } = parts
  const sealed = await readSealedTree(log, parts.sealed, verifiers)
  const { head: known, place } = await readSignedHead(parts, isOver)
  const last = await log.lastSequence()
  if (known === null && last > 0 && !firstSeal)
    throw new SealFault('it is not known what was signed of it last, see `gateway serve --first-seal`')
  const head = known ?? (await heads.advance(signedHeadOf(signer.name, sealed)))
  if (head.origin !== signer.name)
    throw new SealFault(
      `what was signed last, in ${place}, is of the log ${head.origin}, and the key is of ${signer.name}`,
    )
  if (last < head.size)
    throw new SealFault(`the log was rolled back: it ends at frame ${last}, and ${head.size} frames were signed`)
  return { sealed: head.size < sealed.size ? new GrowingTree(head.size, head.peaks) : sealed, head }
}

const isUnanswered = (fault: unknown): boolean => fault instanceof GatewayError && fault.code === 'log_unavailable'

/** A log that does not answer shows nothing that would end the sealing. */
const findStartOnceAnswered = async (
  parts: SealerParts,
  verifiers: readonly Verifier[],
  isOver: () => boolean,
): Promise<SealingStart> => {
  for (;;)
    try {
      return await findStart(parts, verifiers, isOver)
    } catch (fault) {
      if (!isUnanswered(fault) || isOver()) throw fault
      parts.logger.log('seal.log_unavailable', { fault })
      await delay(schedulerLimits.sealStateRetryMs)
    }
}

/**
 * Seals the log: a signed checkpoint over all its frames at least every `sealEveryMs` while there is anything new. Of
 * several sealers one works and the others wait until its checkpoints stop; two checkpoints of one log never contradict
 * each other. A checkpoint in the log that is not signed by a known key, or that contradicts the frames, and frames that
 * do not lead to what was signed last, end the sealing with an error: what is signed on top of them would be trusted.
 */
class Sealer implements RunningRole {
  readonly #parts: SealerParts
  readonly #started: Promise<void>
  readonly #over = Promise.withResolvers<void>()
  #isOver = false
  readonly #health: SealingHealth
  #state: SealState
  readonly #taken = new Watermark()
  readonly #writer: CheckpointWriter
  #follower: Follower | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(parts: SealerParts) {
    const { log, signer, heads, snapshots, previous, observer, clock, logger } = parts
    this.#parts = parts
    this.#health = new SealingHealth(clock())
    this.#writer = new CheckpointWriter({
      ...{ log, signer, heads, snapshots, clock },
      onRefused: (fault) => {
        if (!this.#isOver) logger.log('seal.checkpoint_not_stored', { fault })
      },
      onFault: (fault) => this.fail(fault),
    })
    const verifiers = [deriveVerifier(signer), ...previous]
    const state = { verifiers, writer: log.writer, nowMs: clock(), observer }
    this.#state = new SealState({ ...state, sealed: new GrowingTree() })
    this.#started = findStartOnceAnswered(parts, verifiers, () => this.#isOver)
      .then(({ sealed, head }) => {
        const found = new SealState({ ...state, sealed })
        if (sealed.size <= head.size) found.expect(head)
        this.#follow(found)
      })
      .catch((fault: unknown) => this.fail(fault))
  }

  checks(): { readonly ready: Check; readonly alive: Check } {
    const ready = this.#health.check(this.#parts.clock(), this.#writer.fault)
    return { ready, alive: this.#health.alive }
  }

  /** Seals what the log holds by now: a log whose gateway was stopped is sealed to its end. */
  async stop(): Promise<void> {
    await waitAtMost(this.#finish(), schedulerLimits.schedulerStopMs)
    this.#end()
    void this.#follower?.stop()
  }

  async #finish(): Promise<void> {
    await this.#started
    await this.#sealRest().catch((fault: unknown) => {
      if (!this.#isOver) this.#parts.logger.log('seal.last_frames_unsealed', { fault })
    })
    this.#end()
    await Promise.all([this.#writer.appending, this.#follower?.stop()])
  }

  async #sealRest(): Promise<void> {
    if (this.#isOver) return
    const last = await this.#parts.log.lastSequence()
    await Promise.race([this.#taken.waitFor(last), this.#over.promise])
    const { snapshots } = this.#parts
    const news = this.#state.lastNews // Frames stored meanwhile by others are sealed by the next sealer.
    while (!this.#isOver && (this.#state.sealedSize < news || snapshots?.pending)) {
      await this.#writer.write(this.#state)
      if (this.#writer.isRefused) return
    }
  }

  #follow(state: SealState): void {
    const { log, clock } = this.#parts
    this.#state = state
    this.#health.begin(state, clock())
    this.#taken.moveTo(state.size)
    if (this.#isOver) return
    const yieldAfter = yieldEvery(schedulerLimits.sealSliceBytesMax)
    this.#follower = log.followRaw(state.size + 1, (frame) => this.#take(frame) ?? yieldAfter(frame.data.length))
    this.#follower.done.catch((fault: unknown) => this.fail(fault))
    this.#timer = setInterval(() => {
      if (state.isDue(clock())) void this.#writer.write(state)
    }, schedulerLimits.sealTickMs)
  }

  #end(): void {
    this.#isOver = true
    clearInterval(this.#timer)
    this.#over.resolve()
  }

  /** Ends the sealing, as for what is found outside the log. */
  fail(fault: unknown): void {
    if (this.#isOver) return
    this.#end()
    this.#health.fail(fault)
    const { logger } = this.#parts
    const complain = (): void => logger.log('seal.stopped', { fault, sealedTo: this.#state.sealedSize })
    complain()
    this.#timer = setInterval(complain, schedulerLimits.sealFaultMs)
    void this.#follower?.stop()
  }

  #take(frame: RawFrame): Promise<void> | undefined {
    if (this.#isOver) return undefined
    const nowMs = this.#parts.clock()
    this.#state.take(frame, nowMs)
    this.#health.update(this.#state, nowMs)
    this.#taken.moveTo(frame.sequence)
    return this.#state.isFull ? this.#makeRoom() : undefined
  }

  /** A long backlog is sealed in parts that fit into a frame, and read no faster. */
  async #makeRoom(): Promise<void> {
    while (!this.#isOver && this.#state.isFull) {
      await Promise.race([this.#writer.write(this.#state), this.#over.promise])
      if (this.#writer.isRefused) await Promise.race([delay(schedulerLimits.sealTickMs), this.#over.promise])
    }
  }
}

/** Seals the log from its last checkpoint on. A fault is logged and shown by its check, and ends nothing else. */
export const startSealer = (parts: SealerParts): Sealer => new Sealer(parts)
