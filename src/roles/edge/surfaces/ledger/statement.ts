import { entryRecord } from '../../../../audit/entry-record.ts'
import { formatUsd } from '../../../../domain/money.ts'
import { movementKinds } from '../../../../domain/wallet/evolve.ts'
import type { StatementQuery, WalletBalance } from '../../../../projections/statement.ts'
import { edgeLimits } from '../../limits.ts'
import { type EdgeContext, type EdgeMiddleware, readableWorkspace } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { readTables } from '../read-tables.ts'
import { placeCursor } from './cursor.ts'
import * as parameters from './parameters.ts'
import { readQuery } from './query.ts'

const cursor = placeCursor('statement')

export const statementParameters = {
  from: parameters.instantParameter,
  to: parameters.excludedParameter(parameters.instantParameter),
  kind: parameters.oneOfParameter(movementKinds),
  order: parameters.oneOfParameter(['oldest', 'newest']),
  cursor: cursor.parameter,
  limit: parameters.limitParameter,
}

const wantedOf = (ctx: EdgeContext): StatementQuery => {
  const { from, to, kind, order, cursor, limit } = readQuery(ctx, statementParameters)
  parameters.checkRange(from, to)
  const range = { from: from ?? null, to: to ?? null }
  return { ...range, kind, newestFirst: order === 'newest', readOn: cursor, limit: limit ?? edgeLimits.pageRows }
}

const shownStanding = ({ balancePicos, heldPicos }: WalletBalance) => ({
  balance: formatUsd(balancePicos),
  held: formatUsd(heldPicos),
})

/** GET …/statement: every movement of the wallet, in the order of the log or newest first. */
export const showStatement =
  (readModels: EdgeReadModels): EdgeMiddleware =>
  async (ctx) => {
    const wanted = wantedOf(ctx)
    const page = await readTables(ctx, readModels.readStatement(readableWorkspace(ctx), wanted))
    ctx.body = {
      object: 'list',
      from: wanted.from,
      to: wanted.to,
      final: page.isFinal,
      opening: shownStanding(page.opening),
      closing: shownStanding(page.closing),
      data: page.entries.map(entryRecord),
      next_cursor: page.next === null ? null : cursor.text(page.next),
    }
  }
