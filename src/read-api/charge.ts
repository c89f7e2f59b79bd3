import { explainCharge } from '../audit/explain-charge.ts'
import { type ChargeTables, readEvidence } from '../audit/read-evidence.ts'
import type { HttpMiddleware } from '../http/context.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import { findRequestedTrace, unknownCharge } from './charge-trace.ts'
import { limitLogReads } from './read-log.ts'
import type { EdgeReadModels } from './read-models.ts'
import { fromTables } from './read-tables.ts'
import type { LedgerChargeResponse } from './responses.types.ts'

export interface ChargeParts {
  readonly readModels: EdgeReadModels
  readonly frames: Pick<FrameSource, 'read'>
}

/** Makes faults of the tables distinguishable from those of the log. */
const wrapTableFaults = (readModels: EdgeReadModels): ChargeTables => ({
  findSheetSequence: (model, version) => fromTables(readModels.findSheetSequence(model, version)),
  findKey: (keyId) => fromTables(readModels.findKey(keyId)),
})

export const showCharge = ({ readModels, frames }: ChargeParts): HttpMiddleware => {
  const readLog = limitLogReads()
  const tables = wrapTableFaults(readModels)
  return async (ctx) => {
    const { id, trace, sequence } = await findRequestedTrace(ctx, readModels)
    const explanation = await readLog(async () =>
      explainCharge(await readEvidence(frames, tables, id, { trace, sequence })),
    )
    if (explanation === null) throw unknownCharge()
    ctx.body = explanation satisfies LedgerChargeResponse
  }
}
