import { formatUsd } from '../domain/money.ts'
import { type HttpContext, type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { tokenCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { readQuery } from '../http/query.ts'
import type { ListedCharge } from '../projections/charges/listed-charges.ts'
import type { ChargeQuery } from '../projections/charges/queries.ts'
import { type PagedParts, type Positions, readCursor, writeCursor } from './positions.ts'
import { readTables } from './read-tables.ts'
import { bodyFor } from './reflect-position.ts'
import type { LedgerChargesResponse } from './responses.types.ts'

export const chargesParameters = {
  from: parameters.instantParameter,
  to: parameters.excludedParameter(parameters.instantParameter),
  model: parameters.modelParameter,
  key: parameters.keyParameter,
  surface: parameters.surfaceParameter,
  cursor: tokenCursor,
  limit: parameters.limitParameter,
}

const wantedOf = async (ctx: HttpContext, positions: Positions): Promise<ChargeQuery> => {
  const { from, to, model, key, surface, cursor, limit } = readQuery(ctx, chargesParameters)
  parameters.checkRange(from, to)
  const readOn = await readCursor(ctx, positions, 'charges', cursor)
  const range = { from: from ?? null, to: to ?? null }
  return { ...range, model, key, surface, readOn, limit: limit ?? httpLimits.pageRows }
}

const toChargeResponse = (charge: ListedCharge): LedgerChargesResponse['data'][number] => ({
  kind: charge.kind,
  id: charge.id,
  at: charge.time.toISOString(),
  sequence: charge.sequence,
  key: charge.keyId,
  surface: charge.surface,
  model: charge.model,
  provider: charge.provider,
  level: charge.level,
  price_version: charge.priceVersion,
  source: charge.source,
  outcome: charge.outcome,
  prompt_tokens: charge.promptTokens,
  output_tokens: charge.outputTokens,
  total: formatUsd(charge.totalPicos),
})

export const showCharges =
  ({ readModels, positions }: PagedParts): HttpMiddleware =>
  async (ctx) => {
    const { charges, next } = await readTables(
      ctx,
      readModels.listCharges(readableWorkspace(ctx), await wantedOf(ctx, positions)),
    )
    const body = {
      object: 'list',
      data: charges.map(toChargeResponse),
      next_cursor: await writeCursor(ctx, positions, 'charges', next),
    } satisfies LedgerChargesResponse
    ctx.body = bodyFor(ctx, body)
  }
