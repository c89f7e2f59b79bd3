import { explain } from '../../../../audit/explain.ts'
import type { FrameSource } from '../../../../audit/frames.ts'
import { type ChargeTables, readEvidence } from '../../../../audit/read-evidence.ts'
import { GatewayError } from '../../../../errors.ts'
import { limits } from '../../../../limits.ts'
import type { ChargeTrace } from '../../../../read-models/charge-trace.ts'
import type { AtSequence } from '../../../../read-models/checkpoint.ts'
import { within } from '../../../../within.ts'
import { type EdgeMiddleware, workspaceReadBy } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { Turns } from '../../turns.ts'
import { fromTables, readTables } from '../read-tables.ts'
import { readQuery } from './query.ts'

export interface ChargeParts {
  readonly readModels: EdgeReadModels
  /** The log as it is stored. */
  readonly frames: Pick<FrameSource, 'read'>
}

const chargePath = /\/ledger\/charges\/([A-Za-z0-9_:-]{1,64})(?:\/proof)?\/?$/i

export const unknownCharge = (): GatewayError =>
  new GatewayError('not_found', 'No request or task of this workspace has this id, as far as the tables have followed.')

/** What has not the form of an id names nothing. */
export const idIn = (path: string): string => {
  const id = chargePath.exec(path)?.[1]
  if (id === undefined) throw unknownCharge()
  return id
}

export const logUnreadable = (cause?: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'The event log cannot be read right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

/** The tables, whose faults are told apart from those of the log. */
const tellingTables = (readModels: EdgeReadModels): ChargeTables => ({
  findSheetSequence: (model, version) => fromTables(readModels.findSheetSequence(model, version)),
  findKey: (keyId) => fromTables(readModels.findKey(keyId)),
})

const explainTraced = async (
  { readModels, frames }: ChargeParts,
  id: string,
  { value: trace, sequence }: AtSequence<ChargeTrace>,
) => {
  try {
    return explain(await readEvidence(frames, tellingTables(readModels), id, { trace, sequence }))
  } catch (fault) {
    throw fault instanceof GatewayError ? fault : logUnreadable(fault)
  }
}

/** GET …/charges/{id}: one charge explained, from the events of the log. */
export const showCharge = (parts: ChargeParts): EdgeMiddleware => {
  const turns = new Turns(limits.explainsAtOnceMax)
  return async (ctx) => {
    readQuery(ctx, {})
    const id = idIn(ctx.path)
    const found = await fromTables(parts.readModels.findTrace(id))
    const trace = await readTables(ctx, Promise.resolve(found))
    if (trace === undefined || trace.workspaceId !== workspaceReadBy(ctx)) throw unknownCharge()
    const explaining = turns.take(() => explainTraced(parts, id, { value: trace, sequence: found.sequence }))
    const explanation = await within(explaining, limits.explainMs, () => logUnreadable())
    if (explanation === null) throw unknownCharge()
    ctx.body = explanation
  }
}
