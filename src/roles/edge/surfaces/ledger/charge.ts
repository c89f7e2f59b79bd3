import { explainCharge } from '../../../../audit/explain-charge.ts'
import type { FrameSource } from '../../../../audit/frames.ts'
import { type ChargeTables, readEvidence } from '../../../../audit/read-evidence.ts'
import type { EdgeMiddleware } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { logTurns } from '../read-log.ts'
import { fromTables } from '../read-tables.ts'
import { findRequestedTrace, unknownCharge } from './charge-trace.ts'

export interface ChargeParts {
  readonly readModels: EdgeReadModels
  readonly frames: Pick<FrameSource, 'read'>
}

/** Makes faults of the tables distinguishable from those of the log. */
const tellingTables = (readModels: EdgeReadModels): ChargeTables => ({
  findSheetSequence: (model, version) => fromTables(readModels.findSheetSequence(model, version)),
  findKey: (keyId) => fromTables(readModels.findKey(keyId)),
})

/** GET …/charges/{id}: one charge explained, from the events of the log. */
export const showCharge = ({ readModels, frames }: ChargeParts): EdgeMiddleware => {
  const readLog = logTurns()
  const tables = tellingTables(readModels)
  return async (ctx) => {
    const { id, trace, sequence } = await findRequestedTrace(ctx, readModels)
    const explanation = await readLog(async () =>
      explainCharge(await readEvidence(frames, tables, id, { trace, sequence })),
    )
    if (explanation === null) throw unknownCharge()
    ctx.body = explanation
  }
}
