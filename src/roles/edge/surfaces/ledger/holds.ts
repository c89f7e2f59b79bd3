import { formatUsd } from '../../../../domain/money.ts'
import { limits } from '../../../../limits.ts'
import type { OpenHold } from '../../../../read-models/holds.ts'
import { type EdgeMiddleware, workspaceReadBy } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { readTables } from '../read-tables.ts'
import { textsCursor } from './cursor.ts'
import { pageBody } from './page-body.ts'
import * as parameters from './parameters.ts'
import { readQuery, refusal } from './query.ts'

const cursor = textsCursor('holds')
/** The parameters of its query. */
export const known = { cursor: cursor.parameter, limit: parameters.limit }

const idIn = (texts: readonly string[]): string => {
  const [id, ...others] = texts
  if (id === undefined || others.length > 0 || parameters.key.read(id) === undefined)
    throw refusal('cursor', cursor.form)
  return id
}

const shownHold = ({ holdId, purpose, amountPicos, remainingPicos, deadline }: OpenHold) => ({
  id: holdId,
  purpose,
  amount: formatUsd(amountPicos),
  remaining: formatUsd(remainingPicos),
  deadline,
})

/** GET …/holds: what of the wallet's money is set aside. */
export const listHolds =
  (readModels: EdgeReadModels): EdgeMiddleware =>
  async (ctx) => {
    const { cursor: place, limit = limits.pageRows } = readQuery(ctx, known)
    const wanted = { after: place === undefined ? undefined : idIn(place), limit: limit + 1 }
    const holds = await readTables(ctx, readModels.listHolds(workspaceReadBy(ctx), wanted))
    ctx.body = { object: 'list', ...pageBody(holds, limit, shownHold, ({ holdId }) => cursor.text([holdId])) }
  }
