import { type Applied, applyFrame, type Ledger, type LedgerFrame } from '../../domain/ledger/ledger.ts'
import { frameIdText } from '../../events/codec.ts'
import { readModels } from '../../projections/read-models.ts'
import type { ReadModel, RowAccumulator } from '../../projections/schema/read-model.ts'
import { versionsOf } from '../../projections/versions.ts'
import { projectorLimits } from './limits.ts'
import type { ProjectionBatch, TableChanges } from './ports.ts'

interface ModelRows {
  readonly model: ReadModel
  readonly rows: RowAccumulator
}

const startRows = (models: readonly ReadModel[]): readonly ModelRows[] =>
  models.map((model) => ({ model, rows: model.startBatch() }))

const changesOf = ({ model, rows }: ModelRows, ledger: Ledger): readonly TableChanges[] => {
  const { written, deleted = {} } = rows.finish(ledger)
  return Object.entries(model.tables).map(([table, definition]) => ({
    table,
    definition,
    written: written[table] ?? [],
    deleted: deleted[table] ?? [],
  }))
}

/** The rows of frames that are not committed yet. */
export class BatchAccumulator {
  readonly #models: readonly ReadModel[]
  readonly #eventsMax: number
  #fromSequence: number
  #firstFrame: string | null = null
  #lastFrame = ''
  /** Events, and frames without effect. */
  #size = 0
  #rows: readonly ModelRows[]
  #room = Promise.withResolvers<void>()
  #gathered: LedgerFrame[] = []
  #gatheredEvents = 0

  constructor(sequence: number, models: readonly ReadModel[] = readModels, eventsMax = Number.POSITIVE_INFINITY) {
    this.#fromSequence = sequence
    this.#models = models
    this.#eventsMax = eventsMax
    this.#rows = startRows(models)
  }

  get isEmpty(): boolean {
    return this.#size === 0
  }

  get isFull(): boolean {
    return this.#size >= this.#eventsMax
  }

  /** To be folded with others: one by one, each frame finds the processor's caches cold. */
  gather(frame: LedgerFrame, ledger: Ledger): void {
    this.#gathered.push(frame)
    this.#gatheredEvents += Math.max(1, frame.events.length)
    if (this.#gatheredEvents >= Math.min(projectorLimits.gatheredEventsMax, this.#eventsMax - this.#size))
      this.fold(ledger)
  }

  fold(ledger: Ledger): void {
    const frames = this.#gathered
    this.#gathered = []
    this.#gatheredEvents = 0
    for (const frame of frames) {
      const applied = applyFrame(ledger, frame)
      if (frame.sequence > this.#fromSequence) this.add(frame, applied)
    }
  }

  add(frame: LedgerFrame, applied: readonly Applied[]): void {
    this.#lastFrame = frameIdText(frame)
    if (frame.sequence === 1) this.#firstFrame = this.#lastFrame
    this.#size += Math.max(1, applied.length)
    for (const { rows } of this.#rows) {
      rows.addFrame?.(frame)
      for (const each of applied) rows.addEvent(each)
    }
  }

  /** What was added since the last one; the ledger has all of it. */
  takeBatch(ledger: Ledger): ProjectionBatch {
    const batch: ProjectionBatch = {
      fromSequence: this.#fromSequence,
      toSequence: ledger.sequence,
      firstFrame: this.#firstFrame,
      lastFrame: this.#lastFrame,
      versions: versionsOf(this.#models),
      changes: this.#rows.flatMap((each) => changesOf(each, ledger)),
    }
    this.#fromSequence = ledger.sequence
    this.#firstFrame = null
    this.#size = 0
    this.#rows = startRows(this.#models)
    this.makeRoom()
    return batch
  }

  /** Until a batch is taken, or `makeRoom`. */
  waitForRoom(): Promise<void> {
    return this.#room.promise
  }

  makeRoom(): void {
    this.#room.resolve()
    this.#room = Promise.withResolvers()
  }
}
