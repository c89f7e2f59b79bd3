import type { SnapshotHead } from '../../audit/seal.ts'
import { encodeSnapshot, type SnapshotStore } from '../../audit/snapshots.ts'
import { applyFrame, initialLedger, type Ledger } from '../../domain/ledger/ledger.ts'
import type { Follower, Frame, LogOf } from '../../log/event-log.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Watermark } from '../../runtime/watermark.ts'
import { waitAtMost } from '../../runtime/within.ts'
import { yieldEvery } from '../../runtime/yield-every.ts'
import { schedulerLimits } from './limits.ts'

export interface SnapshotWriterParts {
  readonly log: Pick<LogOf<never>, 'follow' | 'lastSequence' | 'writer'>
  readonly store: Pick<SnapshotStore, 'write' | 'removeBeyond'>
  readonly openLedger: () => Promise<Ledger>
  /** Default: `snapshotEveryMs`. */
  readonly everyMs?: number
  readonly clock: Clock
  readonly logger: Logger
}

/** What a longer history left, as before a restore, would be kept in place of what is written now. */
const writeSnapshot = async ({ log, store }: SnapshotWriterParts, ledger: Ledger): Promise<SnapshotHead> => {
  await store.removeBeyond(() => log.lastSequence())
  return store.write(ledger.sequence, encodeSnapshot(ledger))
}

/**
 * Writes snapshots of a ledger of its own, which follows the log and waits while one is written: so what is written is
 * the ledger of one sequence, and nothing else waits.
 */
export class SnapshotWriter {
  readonly #parts: SnapshotWriterParts
  readonly #started: Promise<void>
  readonly #applied = new Watermark()
  #ledger = initialLedger()
  #follower: Follower | null = null
  /** Since the last snapshot, without checkpoints. */
  #events = 0
  /** The last checkpoint is of this process: of several sealers the one that seals writes snapshots. */
  #isLeading = false
  #lastMs: number
  #writing: Promise<void> | null = null
  #pending: SnapshotHead | null = null

  constructor(parts: SnapshotWriterParts) {
    this.#parts = parts
    this.#lastMs = parts.clock()
    this.#started = this.#start().catch((fault: unknown) => this.#fail(fault))
  }

  get pending(): SnapshotHead | null {
    return this.#pending
  }

  markConfirmed(head: SnapshotHead): void {
    if (this.#pending === head) this.#pending = null
  }

  /** Writes the last one: of the end of the log, unless that takes too long. */
  async stop(): Promise<void> {
    const finished = this.#finish().catch((fault: unknown) => this.#fail(fault))
    await waitAtMost(finished, schedulerLimits.snapshotStopMs)
    void this.#follower?.stop()
  }

  async #start(): Promise<void> {
    const { log, openLedger } = this.#parts
    this.#ledger = await openLedger()
    this.#applied.moveTo(this.#ledger.sequence)
    const yieldAfter = yieldEvery(schedulerLimits.snapshotSliceEventsMax)
    this.#follower = log.follow(
      this.#ledger.sequence + 1,
      (frame) => this.#take(frame) ?? yieldAfter(frame.events.length),
    )
    this.#follower.done.catch((fault: unknown) => this.#fail(fault))
  }

  #fail(fault: unknown): void {
    this.#applied.close(fault)
    this.#parts.logger.log('snapshot.not_written', { fault })
  }

  async #finish(): Promise<void> {
    await this.#started
    await this.#applied.waitFor(await this.#parts.log.lastSequence())
    await this.#writing
    await this.#follower?.stop()
    if (this.#isLeading && this.#events > 0) await this.#write()
  }

  #take(frame: Frame): Promise<void> | undefined {
    applyFrame(this.#ledger, frame)
    const news = frame.events.filter(({ type }) => type !== 'CheckpointSealed').length
    this.#events += news
    if (news < frame.events.length) this.#isLeading = frame.writer === this.#parts.log.writer
    this.#applied.moveTo(frame.sequence)
    return this.#isDue() ? this.#write() : undefined
  }

  #isDue(): boolean {
    if (this.#events === 0 || !this.#isLeading) return false
    const { clock, everyMs = schedulerLimits.snapshotEveryMs } = this.#parts
    return this.#events >= schedulerLimits.snapshotEventsMax || Math.abs(clock() - this.#lastMs) >= everyMs
  }

  #write(): Promise<void> {
    const { clock, logger } = this.#parts
    this.#events = 0
    this.#lastMs = clock()
    this.#writing = writeSnapshot(this.#parts, this.#ledger).then(
      (head) => {
        this.#pending = head
        logger.log('snapshot.written', { sequence: head.sequence })
      },
      (fault: unknown) => logger.log('snapshot.not_written', { fault }),
    )
    return this.#writing
  }
}
