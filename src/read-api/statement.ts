import { entryRecord } from '../audit/entry-record.ts'
import { formatUsd } from '../domain/money.ts'
import { movementKinds } from '../domain/wallet/evolve.ts'
import { type HttpContext, type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { placeCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { readQuery } from '../http/query.ts'
import type { StatementQuery, WalletBalance } from '../projections/statements/queries.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerStatementResponse } from './responses.types.ts'

const cursor = placeCursor('statement')

export const statementParameters = {
  from: parameters.instantParameter,
  to: parameters.excludedParameter(parameters.instantParameter),
  kind: parameters.oneOfParameter(movementKinds),
  order: parameters.oneOfParameter(['oldest', 'newest']),
  cursor: cursor.parameter,
  limit: parameters.limitParameter,
}

const wantedOf = (ctx: HttpContext): StatementQuery => {
  const { from, to, kind, order, cursor, limit } = readQuery(ctx, statementParameters)
  parameters.checkRange(from, to)
  const range = { from: from ?? null, to: to ?? null }
  return { ...range, kind, newestFirst: order === 'newest', readOn: cursor, limit: limit ?? httpLimits.pageRows }
}

const toBalanceResponse = ({ balancePicos, heldPicos }: WalletBalance) => ({
  balance: formatUsd(balancePicos),
  held: formatUsd(heldPicos),
})

export const showStatement =
  (readModels: EdgeReadModels): HttpMiddleware =>
  async (ctx) => {
    const wanted = wantedOf(ctx)
    const page = await readTables(ctx, readModels.readStatement(readableWorkspace(ctx), wanted))
    ctx.body = {
      object: 'list',
      from: wanted.from?.toISOString() ?? null,
      to: wanted.to?.toISOString() ?? null,
      final: page.isFinal,
      opening: toBalanceResponse(page.opening),
      closing: toBalanceResponse(page.closing),
      data: page.entries.map(entryRecord),
      next_cursor: page.next === null ? null : cursor.text(page.next),
    } satisfies LedgerStatementResponse
  }
