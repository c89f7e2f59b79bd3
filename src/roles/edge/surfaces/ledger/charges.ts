import { formatUsd } from '../../../../domain/money.ts'
import type { ChargeQuery } from '../../../../projections/charges.ts'
import type { ListedCharge } from '../../../../projections/listed-charges.ts'
import { edgeLimits } from '../../limits.ts'
import { type EdgeContext, type EdgeMiddleware, readableWorkspace } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { readTables } from '../read-tables.ts'
import { placeCursor } from './cursor.ts'
import * as parameters from './parameters.ts'
import { readQuery } from './query.ts'

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

const wantedOf = (ctx: EdgeContext): ChargeQuery => {
  const { from, to, model, key, surface, cursor, limit } = readQuery(ctx, chargesParameters)
  parameters.checkRange(from, to)
  const range = { from: from ?? null, to: to ?? null }
  return { ...range, model, key, surface, readOn: cursor, limit: limit ?? edgeLimits.pageRows }
}

const shownCharge = (charge: ListedCharge) => ({
  kind: charge.kind,
  id: charge.id,
  at: charge.time,
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

/** GET …/charges: what was charged, for requests and video tasks, newest first. */
export const showCharges =
  (readModels: EdgeReadModels): EdgeMiddleware =>
  async (ctx) => {
    const { charges, next } = await readTables(ctx, readModels.listCharges(readableWorkspace(ctx), wantedOf(ctx)))
    ctx.body = {
      object: 'list',
      data: charges.map(shownCharge),
      next_cursor: next === null ? null : cursor.text(next),
    }
  }
