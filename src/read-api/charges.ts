import { formatUsd } from '../domain/money.ts'
import { type HttpContext, type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { placeCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { readQuery } from '../http/query.ts'
import type { ListedCharge } from '../projections/charges/listed-charges.ts'
import type { ChargeQuery } from '../projections/charges/queries.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerChargesResponse } from './responses.types.ts'

const cursor = placeCursor('charges')

export const chargesParameters = {
  from: parameters.instantParameter,
  to: parameters.excludedParameter(parameters.instantParameter),
  model: parameters.modelParameter,
  key: parameters.keyParameter,
  surface: parameters.surfaceParameter,
  cursor: cursor.parameter,
  limit: parameters.limitParameter,
}

const wantedOf = (ctx: HttpContext): ChargeQuery => {
  const { from, to, model, key, surface, cursor, limit } = readQuery(ctx, chargesParameters)
  parameters.checkRange(from, to)
  const range = { from: from ?? null, to: to ?? null }
  return { ...range, model, key, surface, readOn: cursor, limit: limit ?? httpLimits.pageRows }
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
  (readModels: EdgeReadModels): HttpMiddleware =>
  async (ctx) => {
    const { charges, next } = await readTables(ctx, readModels.listCharges(readableWorkspace(ctx), wantedOf(ctx)))
    ctx.body = {
      object: 'list',
      data: charges.map(toChargeResponse),
      next_cursor: next === null ? null : cursor.text(next),
    } satisfies LedgerChargesResponse
  }
