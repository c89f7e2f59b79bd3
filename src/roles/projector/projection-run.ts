import { setImmediate as turn } from 'node:timers/promises'
import { applyFrame, type Ledger } from '../../domain/ledger/ledger.ts'
import type { EventLog, Follower, Frame } from '../../log/event-log.ts'
import type { ReadModel } from '../../projections/schema/read-model.ts'
import { type AccumulatedRows, accumulate, finishBatch, startBatch } from './accumulate.ts'
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

export interface ProjectionRunParts {
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
  readonly #parts: ProjectionRunParts
  readonly #toSequence: number
  readonly #writtenSequence: number
  readonly #follower: Follower
  readonly #ended = Promise.withResolvers<RunEnd>()
  #accumulated: AccumulatedRows
  #room = Promise.withResolvers<void>()
  /** Events since the last yield to the event loop. */
  #slice = 0
  #wake: () => void = () => undefined
  #committing = false
  #stopping = false
  #over = false

  constructor(parts: ProjectionRunParts) {
    const { ledger, log, writtenSequence = 0, toSequence = Number.POSITIVE_INFINITY, models } = parts
    this.#parts = parts
    this.#toSequence = toSequence
    this.#writtenSequence = Math.max(ledger.sequence, writtenSequence)
    this.#accumulated = startBatch(this.#writtenSequence, models)
    this.#follower = log.follow(ledger.sequence + 1, (frame) => this.#take(frame))
    this.#follower.done.catch((fault) => this.#fail(fault))
    this.#endIfDone()
  }

  /** Rejects with the fault of an event or a frame that cannot be projected. */
  get ended(): Promise<RunEnd> {
    return this.#ended.promise
  }

  stop(): void {
    this.#stopping = true
    this.#wake()
    this.#endIfDone()
  }

  /** Ends, since the tables are behind the last commit; a commit under way finds that out by itself. */
  abandon(): void {
    if (!this.#committing) this.#end({ reason: 'lost' })
  }

  #take(frame: Frame): Promise<void> | undefined {
    if (this.#over || this.#stopping || frame.sequence > this.#toSequence) return undefined
    try {
      const applied = applyFrame(this.#parts.ledger, frame)
      if (frame.sequence > this.#writtenSequence) accumulate(this.#accumulated, frame, applied)
    } catch (fault) {
      this.#fail(fault)
      return undefined
    }
    if (!this.#committing) void this.#commitAccumulated()
    if (this.#isFull()) {
      this.#wake()
      return this.#room.promise
    }
    this.#slice += frame.events.length
    if (this.#slice < projectorLimits.projectionSliceEventsMax) return undefined
    this.#slice = 0
    return turn()
  }

  async #commitAccumulated(): Promise<void> {
    this.#committing = true
    while (this.#accumulated.size > 0 && !this.#over) {
      const batch = this.#takeBatch()
      if (batch !== null) await this.#commit(batch)
      await this.#throttle()
    }
    this.#committing = false
    this.#endIfDone()
  }

  #isFull(): boolean {
    return this.#accumulated.size >= this.#parts.batchEventsMax
  }

  /** A commit costs much the same for one event as for hundreds: under load they accumulate for a moment. */
  #throttle(): Promise<void> {
    const hurried = this.#stopping || this.#over || this.#isFull() || this.#toSequence !== Number.POSITIVE_INFINITY
    if (hurried) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake(), projectorLimits.projectionRestMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #takeBatch(): ProjectionBatch | null {
    try {
      const batch = finishBatch(this.#accumulated, this.#parts.ledger)
      this.#accumulated = startBatch(batch.toSequence, this.#parts.models)
      this.#makeRoom()
      return batch
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
    if (this.#parts.ledger.sequence >= this.#toSequence) this.#end({ reason: 'reached' })
    else if (this.#stopping) this.#end({ reason: 'stopped' })
  }

  #makeRoom(): void {
    this.#room.resolve()
    this.#room = Promise.withResolvers()
  }

  #end(end: RunEnd): void {
    this.#close(() => this.#ended.resolve(end))
  }

  #fail(fault: unknown): void {
    this.#close(() => this.#ended.reject(fault))
  }

  #close(settle: () => void): void {
    if (this.#over) return
    this.#over = true
    this.#wake()
    this.#makeRoom()
    // A fault of the follower is reported by its `done`.
    this.#follower.stop().then(settle, settle)
  }
}
