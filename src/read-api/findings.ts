import { formatUsd } from '../domain/money.ts'
import { canRead, type HttpMiddleware } from '../http/context.ts'
import { readQuery } from '../http/query.ts'
import type { LedgerFinding } from '../projections/findings.ts'
import type { Clock } from '../runtime/clock.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { readLimits } from './limits.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerFindingsResponse } from './responses.types.ts'

const toFindingResponse = ({
  kind,
  workspaceId,
  id,
  time,
  amountPicos,
  isSettled,
  detail,
}: LedgerFinding): LedgerFindingsResponse['data'][number] => ({
  kind,
  workspace: workspaceId,
  id,
  at: time.toISOString(),
  amount: formatUsd(amountPicos),
  settled: isSettled,
  detail,
})

export const showFindings =
  ({ readModels, clock }: { readonly readModels: EdgeReadModels; readonly clock: Clock }): HttpMiddleware =>
  async (ctx) => {
    readQuery(ctx, {})
    const overdueBefore = new Date(clock() - sharedLimits.reconcileGraceMs)
    const wanted = { workspaceId: canRead(ctx), overdueBefore, limit: readLimits.findingsPerKind }
    const { findings, isComplete } = await readTables(ctx, readModels.listFindings(wanted))
    ctx.body = {
      object: 'list',
      complete: isComplete,
      data: findings.map(toFindingResponse),
    } satisfies LedgerFindingsResponse
  }
