import { formatUsd } from '../../../../domain/money.ts'
import { limits } from '../../../../limits.ts'
import type { ChargesWanted } from '../../../../read-models/charges.ts'
import type { ListedCharge } from '../../../../read-models/listed-charges.ts'
import { type EdgeContext, type EdgeMiddleware, workspaceReadBy } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { readTables } from '../read-tables.ts'
import { placeCursor } from './cursor.ts'
import * as parameters from './parameters.ts'
import { readQuery } from './query.ts'

const cursor = placeCursor('charges')

/** The parameters of its query. */
export const known = {
  from: parameters.instant,
  to: parameters.excluded(parameters.instant),
  model: parameters.model,
  key: parameters.key,
  surface: parameters.surface,
  cursor: cursor.parameter,
  limit: parameters.limit,
}

const wantedOf = (ctx: EdgeContext): ChargesWanted => {
  const { from, to, model, key, surface, cursor, limit } = readQuery(ctx, known)
  parameters.checkRange(from, to)
  const range = { from: from ?? null, to: to ?? null }
  return { ...range, model, key, surface, readOn: cursor, limit: limit ?? limits.pageRows }
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
export const listCharges =
  (readModels: EdgeReadModels): EdgeMiddleware =>
  async (ctx) => {
    const { charges, next } = await readTables(ctx, readModels.listCharges(workspaceReadBy(ctx), wantedOf(ctx)))
    ctx.body = {
      object: 'list',
      data: charges.map(shownCharge),
      next_cursor: next === null ? null : cursor.text(next),
    }
  }
