import { entryRecord } from '../audit/entry-record.ts'
import { formatUsd } from '../domain/money.ts'
import { movementKinds } from '../domain/wallet/evolve.ts'
import { type HttpContext, type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { tokenCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { readQuery } from '../http/query.ts'
import type { StatementQuery, WalletBalance } from '../projections/statements/queries.ts'
import { type PagedParts, type Positions, readCursor, writeCursor } from './positions.ts'
import { readTables } from './read-tables.ts'
import { bodyFor } from './reflect-position.ts'
import type { LedgerStatementResponse } from './responses.types.ts'

export const statementParameters = {
  from: parameters.instantParameter,
  to: parameters.rangeEndParameter,
  kind: parameters.oneOfParameter(movementKinds),
  holds: parameters.oneOfParameter(['shown', 'hidden']),
  order: parameters.oneOfParameter(['oldest', 'newest']),
  cursor: tokenCursor,
  limit: parameters.limitParameter,
}

const wantedOf = async (ctx: HttpContext, positions: Positions): Promise<StatementQuery> => {
  const { from, to, kind, holds, order, cursor, limit } = readQuery(ctx, statementParameters)
  parameters.checkRange(from, to)
  const readOn = await readCursor(ctx, positions, 'statement', cursor)
  const range = { from: from ?? null, to: to ?? null }
  return {
    ...range,
    kind,
    hidesHolds: holds !== 'shown',
    newestFirst: order === 'newest',
    readOn,
    limit: limit ?? httpLimits.pageRows,
  }
}

const toBalanceResponse = ({ balancePicos, heldPicos }: WalletBalance) => ({
  balance: formatUsd(balancePicos),
  held: formatUsd(heldPicos),
})

export const showStatement =
  ({ readModels, positions }: PagedParts): HttpMiddleware =>
  async (ctx) => {
    const wanted = await wantedOf(ctx, positions)
    const page = await readTables(ctx, readModels.readStatement(readableWorkspace(ctx), wanted))
    const body = {
      object: 'list',
      from: wanted.from?.toISOString() ?? null,
      to: wanted.to?.toISOString() ?? null,
      final: page.isFinal,
      opening: toBalanceResponse(page.opening),
      closing: toBalanceResponse(page.closing),
      data: page.entries.map(entryRecord),
      next_cursor: await writeCursor(ctx, positions, 'statement', page.next),
    } satisfies LedgerStatementResponse
    ctx.body = bodyFor(ctx, body)
  }
