import { setTimeout as delay } from 'node:timers/promises'
import { faultText } from '../../errors/gateway-error.ts'
import type { EventLog } from '../../log/event-log.ts'
import { assertSameLog, ForeignTables } from '../../log/log-identity.ts'
import type { LedgerSnapshot } from '../../projections/load-ledger.ts'
import { readModels } from '../../projections/read-models.ts'
import type { ReadModel } from '../../projections/schema/read-model.ts'
import { findAhead } from '../../projections/versions.ts'
import { type Checks, checkOf } from '../../runtime/health.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Probe } from '../../runtime/probe.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import { Watermark } from '../../runtime/watermark.ts'
import type { WatchedRole } from '../role.ts'
import { projectorLimits } from './limits.ts'
import { type ProjectionStore, type RefillReadModels, RefusedRows } from './ports.ts'
import { ProjectionRun } from './projection-run.ts'
import { Refill } from './refill.ts'

export interface ProjectorParts {
  readonly log: Pick<EventLog, 'follow' | 'lastSequence'>
  readonly store: ProjectionStore
  /** Default: those of this program. */
  readonly models?: readonly ReadModel[]
  /** Absent: read models that are behind stay so. */
  readonly refill?: RefillReadModels
  readonly logger: Logger
  /** Called once with the fault that ended the projector: nothing is projected from then on. */
  readonly onFatal: (fault: Error) => void
}

/** Watches while another projector writes; waits for unreachable tables. An event that cannot be projected ends it. */
export class Projector implements WatchedRole {
  /** Resolves after `stop`; rejects with the fault that ended the projector. */
  readonly done: Promise<void>
  readonly #parts: ProjectorParts
  readonly #stopping = new AbortController()
  #projection: ProjectionRun | null = null
  readonly #projected = new Watermark()
  readonly #warning: ThrottledWarning
  #warningCause: unknown
  readonly #database: Probe
  readonly #models: readonly ReadModel[]
  readonly #refill: Refill | null
  #isStandby = false

  constructor(parts: ProjectorParts) {
    this.#parts = parts
    this.#warning = new ThrottledWarning(parts.logger)
    this.#database = new Probe(() => this.#probe())
    const { models = readModels, refill } = parts
    this.#models = models
    this.#refill = refill === undefined ? null : new Refill({ ...parts, models, refill })
    this.done = this.#run()
    this.done.catch(parts.onFatal)
  }

  projectedSequence(): number {
    return this.#projected.sequence
  }

  modelsBehind(): number {
    return this.#refill?.behind ?? 0
  }

  /** Whether it writes the tables or could at once, and whether these can be reached. */
  checks(): Checks {
    return {
      database: this.#database.check,
      projecting: this.#isStandby
        ? { ok: true, reason: 'on standby: another projector writes the tables' }
        : checkOf(!this.#warning.isOn, `the tables cannot be brought up to date: ${faultText(this.#warningCause)}`),
    }
  }

  /** Resolves once the tables have the frame of this sequence; rejects when the projector ends before. */
  waitForSequence(sequence: number): Promise<void> {
    return this.#projected.waitFor(sequence)
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the projector was stopped'))
    await this.#database.stop()
    this.#projection?.stop()
    await this.#refill?.stop()
    // The fault went to `onFatal`.
    await this.done.catch(() => {})
  }

  async #run(): Promise<void> {
    try {
      await this.#projectForEver()
      this.#projected.close(this.#stopping.signal.reason)
    } catch (fault) {
      this.#projected.close(fault)
      throw fault
    }
  }

  async #projectForEver(): Promise<void> {
    let waitMs: number = projectorLimits.projectionRetryMs
    while (!this.#stopping.signal.aborted) {
      const before = this.#projected.sequence
      try {
        await this.#project()
      } catch (fault) {
        if (this.#stopping.signal.aborted) return
        if (!(fault instanceof Unreachable)) throw fault
        if (this.#projected.sequence > before) waitMs = projectorLimits.projectionRetryMs
        this.#warningCause = fault.cause
        this.#warning.raise('projection.unavailable', { fault: fault.cause })
        await this.#pause(waitMs)
        waitMs = Math.min(2 * waitMs, projectorLimits.projectionRetryMaxMs)
      }
    }
  }

  async #project(): Promise<void> {
    const { log, store } = this.#parts
    const snapshot = await reaching(() => this.#load())
    this.#projected.moveTo(snapshot.sequence)
    const ahead = findAhead(snapshot.versions, this.#models)
    if (ahead.length > 0) return reaching(() => this.#runAsStandby(() => this.#watchNewer(ahead)))
    this.#refill?.startIfBehind(snapshot.versions)
    if (this.#warning.isOn) await reaching(() => this.#clearWarningAtEnd())
    this.#projection = new ProjectionRun({
      ledger: snapshot.ledger,
      writtenSequence: snapshot.sequence,
      models: this.#models,
      log,
      store,
      batchEventsMax: sharedLimits.projectionBatchEventsMax,
      onProjected: (sequence) => {
        this.#projected.moveTo(sequence)
        this.#clearWarning()
      },
    })
    if (this.#stopping.signal.aborted) this.#projection.stop()
    const end = await this.#projection.ended
    if (end.reason === 'unavailable') throw new Unreachable(end.cause)
    if (end.reason === 'overtaken') await reaching(() => this.#runAsStandby(() => this.#watchOther()))
  }

  /** A crash of the server takes back the last commit, which without a next frame would go unnoticed. */
  async #probe(): Promise<void> {
    const committed = this.#projected.sequence
    if ((await this.#parts.store.checkpoint()) < committed) this.#projection?.abandon()
  }

  async #load(): Promise<LedgerSnapshot> {
    const snapshot = await this.#parts.store.load()
    await assertSameLog(this.#parts.log, snapshot, this.#stopping.signal)
    return snapshot
  }

  /** With nothing left to write, nothing else shows that the tables are writable again. */
  async #clearWarningAtEnd(): Promise<void> {
    if ((await this.#parts.log.lastSequence()) <= this.#projected.sequence) this.#clearWarning()
  }

  #clearWarning(): void {
    this.#warning.clear('projection.available', { sequence: this.#projected.sequence })
  }

  async #runAsStandby(watch: () => Promise<void>): Promise<void> {
    this.#isStandby = true
    try {
      await watch()
    } finally {
      this.#isStandby = false
    }
  }

  /** An older program never replaces what a newer one made: the newest version wins. */
  async #watchNewer(ahead: readonly string[]): Promise<void> {
    const { store, logger } = this.#parts
    logger.log('projection.newer_release', { models: ahead })
    while (!this.#stopping.signal.aborted && findAhead(await store.versions(), this.#models).length > 0) {
      this.#projected.moveTo(await store.checkpoint())
      this.#clearWarning()
      await this.#pause(sharedLimits.projectionStandbyMs)
    }
  }

  /** Watches the checkpoint until it stops moving while the log grows. */
  async #watchOther(): Promise<void> {
    const { log, store, logger } = this.#parts
    logger.log('projection.standby', {})
    for (;;) {
      const before = await store.checkpoint()
      this.#projected.moveTo(before)
      this.#clearWarning()
      await this.#pause(sharedLimits.projectionStandbyMs)
      if (this.#stopping.signal.aborted) return
      const after = await store.checkpoint()
      this.#projected.moveTo(after)
      if (after === before && (await log.lastSequence()) > after) return
    }
  }

  async #pause(ms: number): Promise<void> {
    // Only `stop` ends a pause early, and callers check for that.
    await delay(ms, undefined, { signal: this.#stopping.signal }).catch(() => {})
  }
}

/** The tables or the log do not answer at the moment. */
class Unreachable extends Error {
  override readonly name = 'Unreachable'

  constructor(cause: unknown) {
    super('unreachable', { cause })
  }
}

/** Wraps faults in `Unreachable`, except those that waiting does not cure. */
const reaching = async <T>(ask: () => Promise<T>): Promise<T> => {
  try {
    return await ask()
  } catch (fault) {
    if (fault instanceof ForeignTables || fault instanceof RefusedRows) throw fault
    throw new Unreachable(fault)
  }
}
