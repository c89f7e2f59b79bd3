import { formatUsd } from '../../../../domain/money.ts'
import type { LedgerFinding } from '../../../../projections/findings.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import { edgeLimits } from '../../limits.ts'
import { canRead, type EdgeMiddleware } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { readTables } from '../read-tables.ts'
import { readQuery } from './query.ts'

const shownFinding = ({ kind, workspaceId, id, time, amountPicos, detail }: LedgerFinding) => ({
  kind,
  workspace: workspaceId,
  id,
  at: time.toISOString(),
  amount: formatUsd(amountPicos),
  detail,
})

/** GET …/findings: what is still open, came late, was estimated or corrected. */
export const showFindings =
  ({ readModels, clock }: { readonly readModels: EdgeReadModels; readonly clock: Clock }): EdgeMiddleware =>
  async (ctx) => {
    readQuery(ctx, {})
    const overdueBefore = new Date(clock() - sharedLimits.reconcileGraceMs)
    const wanted = { workspaceId: canRead(ctx), overdueBefore, limit: edgeLimits.findingsPerKind }
    const { findings, isComplete } = await readTables(ctx, readModels.listFindings(wanted))
    ctx.body = { object: 'list', complete: isComplete, data: findings.map(shownFinding) }
  }
