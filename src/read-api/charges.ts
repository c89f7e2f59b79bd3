import { formatUsd } from '../domain/money.ts'
import { type HttpContext, type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { tokenCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { readQuery } from '../http/query.ts'
import type { EndUserIds } from '../log/end-users.ts'
import type { ListedCharge } from '../projections/charges/listed-charges.ts'
import type { ChargeQuery } from '../projections/charges/queries.ts'
import { labelParameters, readLabelFilter } from './label-filter.ts'
import { type PagedParts, readCursor, writeCursor } from './positions.ts'
import { readTables } from './read-tables.ts'
import { bodyFor } from './reflect-position.ts'
import type { LedgerChargesResponse } from './responses.types.ts'

export const chargesParameters = {
  from: parameters.instantParameter,
  to: parameters.rangeEndParameter,
  model: parameters.modelParameter,
  key: parameters.keyParameter,
  surface: parameters.surfaceParameter,
  ...labelParameters,
  cursor: tokenCursor,
  limit: parameters.limitParameter,
}

interface ChargesParts extends PagedParts {
  readonly endUsers: Pick<EndUserIds, 'findId'>
}

const wantedOf = async (ctx: HttpContext, { positions, endUsers }: ChargesParts): Promise<ChargeQuery> => {
  const query = readQuery(ctx, chargesParameters)
  const { from, to, model, key, surface, cursor, limit } = query
  parameters.checkRange(from, to)
  const readOn = await readCursor(ctx, positions, 'charges', cursor)
  const range = { from: from ?? null, to: to ?? null }
  const labels = await readLabelFilter(ctx, endUsers, query)
  return { ...range, ...labels, model, key, surface, readOn, limit: limit ?? httpLimits.pageRows }
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
  tags: charge.tags ?? {},
  end_user: charge.endUser,
  total: formatUsd(charge.totalPicos),
})

export const showCharges =
  (parts: ChargesParts): HttpMiddleware =>
  async (ctx) => {
    const { readModels, positions } = parts
    const { charges, next } = await readTables(
      ctx,
      readModels.listCharges(readableWorkspace(ctx), await wantedOf(ctx, parts)),
    )
    const body = {
      object: 'list',
      data: charges.map(toChargeResponse),
      next_cursor: await writeCursor(ctx, positions, 'charges', next),
    } satisfies LedgerChargesResponse
    ctx.body = bodyFor(ctx, body)
  }
