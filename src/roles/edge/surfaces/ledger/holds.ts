import { formatUsd } from '../../../../domain/money.ts'
import type { OpenHold } from '../../../../projections/holds.ts'
import { edgeLimits } from '../../limits.ts'
import { type EdgeMiddleware, readableWorkspace } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { readTables } from '../read-tables.ts'
import { textsCursor } from './cursor.ts'
import { pageBody } from './page-body.ts'
import * as parameters from './parameters.ts'
import { invalidParameter, readQuery } from './query.ts'

const cursor = textsCursor('holds')
export const holdsParameters = { cursor: cursor.parameter, limit: parameters.limitParameter }

const idIn = (texts: readonly string[]): string => {
  const [id, ...others] = texts
  if (id === undefined || others.length > 0 || parameters.keyParameter.read(id) === undefined)
    throw invalidParameter('cursor', cursor.form)
  return id
}

const shownHold = ({ holdId, purpose, amountPicos, remainingPicos, deadline }: OpenHold) => ({
  id: holdId,
  purpose,
  amount: formatUsd(amountPicos),
  remaining: formatUsd(remainingPicos),
  deadline,
})

/** GET …/holds: the money reserved in the wallet. */
export const showHolds =
  (readModels: EdgeReadModels): EdgeMiddleware =>
  async (ctx) => {
    const { cursor: place, limit = edgeLimits.pageRows } = readQuery(ctx, holdsParameters)
    const wanted = { after: place === undefined ? undefined : idIn(place), limit: limit + 1 }
    const holds = await readTables(ctx, readModels.listHolds(readableWorkspace(ctx), wanted))
    ctx.body = { object: 'list', ...pageBody(holds, limit, shownHold, ({ holdId }) => cursor.text([holdId])) }
  }
