import { formatUsd } from '../domain/money.ts'
import { type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { pageBody, textsCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { invalidParameter, readQuery } from '../http/query.ts'
import type { OpenHold } from '../projections/wallets/holds.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerHoldsResponse } from './responses.types.ts'

const cursor = textsCursor('holds')
export const holdsParameters = { cursor: cursor.parameter, limit: parameters.limitParameter }

const idIn = (texts: readonly string[]): string => {
  const [id, ...others] = texts
  if (id === undefined || others.length > 0 || parameters.keyParameter.read(id) === undefined)
    throw invalidParameter('cursor', cursor.form)
  return id
}

const toHoldResponse = ({
  holdId,
  purpose,
  amountPicos,
  remainingPicos,
  deadline,
}: OpenHold): LedgerHoldsResponse['data'][number] => ({
  id: holdId,
  purpose,
  amount: formatUsd(amountPicos),
  remaining: formatUsd(remainingPicos),
  deadline: deadline.toISOString(),
})

export const showHolds =
  (readModels: EdgeReadModels): HttpMiddleware =>
  async (ctx) => {
    const { cursor: place, limit = httpLimits.pageRows } = readQuery(ctx, holdsParameters)
    const wanted = { after: place === undefined ? undefined : idIn(place), limit: limit + 1 }
    const holds = await readTables(ctx, readModels.listHolds(readableWorkspace(ctx), wanted))
    const page = pageBody(holds, limit, toHoldResponse, ({ holdId }) => cursor.text([holdId]))
    ctx.body = { object: 'list', ...page } satisfies LedgerHoldsResponse
  }
