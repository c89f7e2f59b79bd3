import type { Ledger } from '../../domain/ledger/ledger.ts'
import type { EventLog, Follower, Frame } from '../../log/event-log.ts'
import type { ReadModel } from '../../projections/schema/read-model.ts'
import { Sleeper } from '../../runtime/sleeper.ts'
import { yieldEvery } from '../../runtime/yield-every.ts'
import { BatchAccumulator } from './batch-accumulator.ts'
import { projectorLimits } from './limits.ts'
import { type ProjectionBatch, type ProjectionStore, RefusedRows } from './ports.ts'

export type RunEnd =
  | { readonly reason: 'stopped' }
  | { readonly reason: 'reached' }
  /** Another projector moved the checkpoint. */
  | { readonly reason: 'overtaken' }
  /** The tables no longer have the last commit: their server crashed before it was on disk. */
  | { readonly reason: 'lost' }
  /** The tables could not be written to, and may or may not have the last batch. */
  | { readonly reason: 'unavailable'; readonly cause: unknown }

interface ProjectionRunParts {
  /** At the tables' sequence or before it; the run owns it and changes it in place. */
  readonly ledger: Ledger
  /** Of the tables; default: that of the ledger. */
  readonly writtenSequence?: number
  readonly log: Pick<EventLog, 'follow'>
  readonly store: Pick<ProjectionStore, 'apply'>
  /** Default: all. */
  readonly models?: readonly ReadModel[] | undefined
  readonly batchEventsMax: number
  readonly toSequence?: number
  readonly onProjected?: (sequence: number) => void
}

/** Ends once its ledger and the tables may differ. When the next batch is full, the log's follower waits. */
export class ProjectionRun {
  readonly #parts: ProjectionRunParts & { readonly toSequence: number }
  readonly #accumulated: BatchAccumulator
  readonly #follower: Follower
  readonly #sleeper = new Sleeper()
  readonly #ended = Promise.withResolvers<RunEnd>()
  #phase: 'running' | 'stopping' | 'over' = 'running'
  #committing = false

  constructor(parts: ProjectionRunParts) {
    const { ledger, log, models, batchEventsMax, writtenSequence = 0, toSequence = Number.POSITIVE_INFINITY } = parts
    const fromSequence = Math.max(ledger.sequence, writtenSequence)
    const yieldAfter = yieldEvery(projectorLimits.projectionSliceEventsMax)
    this.#parts = { ...parts, toSequence }
    this.#accumulated = new BatchAccumulator(fromSequence, models, batchEventsMax)
    this.#follower = log.follow(ledger.sequence + 1, (frame) => this.#take(frame) ?? yieldAfter(frame.events.length))
    this.#follower.done.catch((fault) => this.#fail(fault))
    this.#endIfDone()
  }

  /** Rejects with the fault of an event or a frame that cannot be projected. */
  get ended(): Promise<RunEnd> {
    return this.#ended.promise
  }

  stop(): void {
    if (this.#phase === 'running') this.#phase = 'stopping'
    this.#sleeper.wake()
    this.#endIfDone()
  }

  /** Ends, since the tables are behind the last commit; a commit under way finds that out by itself. */
  abandon(): void {
    if (!this.#committing) this.#end({ reason: 'lost' })
  }

  #take(frame: Frame): Promise<void> | undefined {
    if (this.#phase !== 'running' || frame.sequence > this.#parts.toSequence) return undefined
    try {
      this.#accumulated.gather(frame, this.#parts.ledger)
    } catch (fault) {
      this.#fail(fault)
      return undefined
    }
    if (!this.#committing) void this.#commitAccumulated()
    if (!this.#accumulated.isFull) return undefined
    this.#sleeper.wake()
    return this.#accumulated.waitForRoom()
  }

  async #commitAccumulated(): Promise<void> {
    this.#committing = true
    for (let batch = this.#takeBatch(); batch !== null; batch = this.#takeBatch()) {
      await this.#commit(batch)
      await this.#throttle()
    }
    this.#committing = false
    this.#endIfDone()
  }

  /** A commit costs much the same for one event as for hundreds: under load they accumulate for a moment. */
  #throttle(): Promise<void> {
    const isHurried =
      this.#phase !== 'running' || this.#accumulated.isFull || this.#parts.toSequence !== Number.POSITIVE_INFINITY
    if (isHurried) return Promise.resolve()
    return this.#sleeper.sleep(projectorLimits.projectionRestMs)
  }

  #takeBatch(): ProjectionBatch | null {
    if (this.#phase === 'over') return null
    try {
      this.#accumulated.fold(this.#parts.ledger)
      return this.#accumulated.isEmpty ? null : this.#accumulated.takeBatch(this.#parts.ledger)
    } catch (fault) {
      this.#fail(fault)
      return null
    }
  }

  async #commit(batch: ProjectionBatch): Promise<void> {
    try {
      if (await this.#parts.store.apply(batch)) this.#parts.onProjected?.(batch.toSequence)
      else this.#end({ reason: 'overtaken' })
    } catch (fault) {
      if (fault instanceof RefusedRows) this.#fail(fault)
      else this.#end({ reason: 'unavailable', cause: fault })
    }
  }

  #endIfDone(): void {
    if (this.#committing) return
    if (this.#parts.ledger.sequence >= this.#parts.toSequence) this.#end({ reason: 'reached' })
    else if (this.#phase === 'stopping') this.#end({ reason: 'stopped' })
  }

  #end(end: RunEnd): void {
    this.#close(() => this.#ended.resolve(end))
  }

  #fail(fault: unknown): void {
    this.#close(() => this.#ended.reject(fault))
  }

  #close(settle: () => void): void {
    if (this.#phase === 'over') return
    this.#phase = 'over'
    this.#sleeper.wake()
    this.#accumulated.makeRoom()
    // A fault of the follower is reported by its `done`.
    this.#follower.stop().then(settle, settle)
  }
}
