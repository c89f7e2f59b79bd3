import { initialLedger, type Ledger } from '../../domain/ledger/ledger.ts'
import { faultText } from '../../errors/gateway-error.ts'
import type { EventLog } from '../../log/event-log.ts'
import { assertSameLog, ForeignTables } from '../../log/log-identity.ts'
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
import { type ProjectionStore, type RefillReadModels, RefusedRows, type TablesPosition } from './ports.ts'
import { ProjectionRun } from './projection-run.ts'
import { Refill } from './refill.ts'
import { pause, Standby } from './standby.ts'

export interface ProjectorParts {
  readonly log: Pick<EventLog, 'follow' | 'lastSequence'>
  readonly store: ProjectionStore
  /** At that sequence or before it; default: an empty ledger, to be replayed. */
  readonly openLedger?: (sequenceMax: number) => Promise<Ledger>
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
  readonly #parts: ProjectorParts & { readonly models: readonly ReadModel[] }
  readonly #stopping = new AbortController()
  readonly #projected = new Watermark()
  readonly #warning: ThrottledWarning
  #warningCause: unknown
  readonly #database: Probe
  readonly #refill: Refill | null
  readonly #standby: Standby
  #projection: ProjectionRun | null = null

  constructor(parts: ProjectorParts) {
    const { models = readModels, refill, logger, onFatal } = parts
    this.#parts = { ...parts, models }
    this.#warning = new ThrottledWarning(logger)
    this.#database = new Probe(() => this.#probe())
    this.#refill = refill === undefined ? null : new Refill({ ...parts, models, refill })
    this.#standby = new Standby({
      ...this.#parts,
      signal: this.#stopping.signal,
      onCheckpoint: (sequence) => this.#advance(sequence),
    })
    this.done = this.#projectForEver().then(
      () => this.#projected.close(this.#stopping.signal.reason),
      (fault: unknown) => {
        this.#projected.close(fault)
        throw fault
      },
    )
    this.done.catch(onFatal)
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
      projecting: this.#standby.isWatching
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

  async #projectForEver(): Promise<void> {
    const { signal } = this.#stopping
    let waitMs: number = projectorLimits.projectionRetryMs
    while (!signal.aborted) {
      const before = this.#projected.sequence
      try {
        await this.#project()
      } catch (fault) {
        if (signal.aborted) return
        if (!(fault instanceof Unreachable || fault instanceof ForeignTables)) throw fault
        if (this.#projected.sequence > before) waitMs = projectorLimits.projectionRetryMs
        // Tables of another log may be a forged position: that must not end the process, nor be written to.
        const isForeign = fault instanceof ForeignTables
        this.#warningCause = isForeign ? fault : fault.cause
        const event = isForeign ? 'projection.other_log' : 'projection.unavailable'
        this.#warning.raise(event, { fault: this.#warningCause })
        await pause(waitMs, signal)
        waitMs = Math.min(2 * waitMs, projectorLimits.projectionRetryMaxMs)
      }
    }
  }

  async #project(): Promise<void> {
    const { log, store, models, openLedger = async () => initialLedger() } = this.#parts
    const { signal } = this.#stopping
    const position = await reaching(() => loadPosition(this.#parts, signal))
    const { sequence } = position
    this.#projected.moveTo(sequence)
    const ahead = findAhead(position.versions, models)
    if (ahead.length > 0) return reaching(() => this.#standby.watchNewer(ahead))
    this.#refill?.startIfBehind(position.versions)
    // With nothing left to write, nothing else shows that the tables are writable again.
    if (this.#warning.isOn && (await reaching(() => log.lastSequence())) <= sequence) this.#advance(sequence)
    this.#projection = new ProjectionRun({
      ledger: await reaching(() => openLedger(sequence)),
      writtenSequence: sequence,
      models,
      log,
      store,
      batchEventsMax: sharedLimits.projectionBatchEventsMax,
      onProjected: (projected) => this.#advance(projected),
    })
    if (signal.aborted) this.#projection.stop()
    const end = await this.#projection.ended
    if (end.reason === 'unavailable') throw new Unreachable(end.cause)
    if (end.reason === 'overtaken') await reaching(() => this.#standby.watchWriter())
  }

  /** A crash of the server takes back the last commit, which without a next frame would go unnoticed. */
  async #probe(): Promise<void> {
    const committed = this.#projected.sequence
    if ((await this.#parts.store.checkpoint()) < committed) this.#projection?.abandon()
  }

  /** The tables were written, or read, at this sequence. */
  #advance(sequence: number): void {
    this.#projected.moveTo(sequence)
    this.#warning.clear('projection.available', { sequence })
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

const loadPosition = async ({ log, store }: ProjectorParts, signal: AbortSignal): Promise<TablesPosition> => {
  const position = await store.load()
  await assertSameLog(log, position, signal)
  return position
}
