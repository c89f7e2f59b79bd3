import { GatewayError } from '../errors/gateway-error.ts'
import { type HttpContext, readableWorkspace } from '../http/context.ts'
import { readQuery } from '../http/query.ts'
import type { ChargeTrace } from '../projections/charges/charge-trace.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'

const chargePath = /\/ledger\/charges\/([A-Za-z0-9_:-]{1,64})(?:\/proof)?\/?$/i

export const unknownCharge = (): GatewayError =>
  new GatewayError('not_found', 'No request or task of this workspace has this id, as far as the tables have followed.')

/** Throws `not_found` for a malformed id. */
const idIn = (path: string): string => {
  const id = chargePath.exec(path)?.[1]
  if (id === undefined) throw unknownCharge()
  return id
}

export interface TraceRequest {
  readonly id: string
  readonly trace: ChargeTrace
  /** The sequence of the log that the tables reflect. */
  readonly sequence: number
}

/** Throws `not_found` where the workspace has no such charge. */
export const findRequestedTrace = async (ctx: HttpContext, readModels: EdgeReadModels): Promise<TraceRequest> => {
  readQuery(ctx, {})
  const id = idIn(ctx.path)
  const finding = readModels.findTrace(id)
  const trace = await readTables(ctx, finding)
  if (trace === undefined || trace.workspaceId !== readableWorkspace(ctx)) throw unknownCharge()
  return { id, trace, sequence: (await finding).sequence }
}
