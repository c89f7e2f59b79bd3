import type { Applied, Ledger, LedgerFrame } from '../../domain/ledger/ledger.ts'
import { frameIdText } from '../../events/codec.ts'
import { readModels } from '../../projections/read-models.ts'
import type { ReadModel, RowAccumulator } from '../../projections/schema/read-model.ts'
import { versionsOf } from '../../projections/versions.ts'
import type { ProjectionBatch, TableChanges } from './ports.ts'

export interface AccumulatedRows {
  readonly fromSequence: number
  firstFrame: string | null
  /** Events, and frames without effect: what bounds a batch. */
  size: number
  readonly models: readonly { readonly model: ReadModel; readonly rows: RowAccumulator }[]
}

export const startBatch = (sequence: number, models: readonly ReadModel[] = readModels): AccumulatedRows => ({
  fromSequence: sequence,
  firstFrame: null,
  size: 0,
  models: models.map((model) => ({ model, rows: model.startBatch() })),
})

export const accumulate = (batch: AccumulatedRows, frame: LedgerFrame, applied: readonly Applied[]): void => {
  if (frame.sequence === 1) batch.firstFrame = frameIdText(frame)
  batch.size += Math.max(1, applied.length)
  for (const { rows } of batch.models) {
    rows.addFrame?.(frame)
    for (const each of applied) rows.addEvent(each)
  }
}

const changesOf = ({ model, rows }: AccumulatedRows['models'][number], ledger: Ledger): readonly TableChanges[] => {
  const { written, deleted = {} } = rows.finish(ledger)
  return Object.entries(model.tables).map(([table, definition]) => ({
    table,
    definition,
    written: written[table] ?? [],
    deleted: deleted[table] ?? [],
  }))
}

export const finishBatch = (batch: AccumulatedRows, ledger: Ledger): ProjectionBatch => ({
  fromSequence: batch.fromSequence,
  toSequence: ledger.sequence,
  firstFrame: batch.firstFrame,
  versions: versionsOf(batch.models.map(({ model }) => model)),
  changes: batch.models.flatMap((each) => changesOf(each, ledger)),
})
