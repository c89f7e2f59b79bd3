import { parseDay } from '../domain/instant.ts'
import { formatUsd } from '../domain/money.ts'
import { type HttpContext, type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { pageBody, textsCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { invalidParameter, readQuery } from '../http/query.ts'
import { type UsageGroup, type UsageQuery, type UsageSums, usageGroups } from '../projections/usage/queries.ts'
import { usageColumnNames, usageColumns } from '../projections/usage/table.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerUsageResponse } from './responses.types.ts'

const cursor = textsCursor('usage')

export const usageParameters = {
  from: parameters.dayParameter,
  to: parameters.excludedParameter(parameters.dayParameter),
  group_by: parameters.someOfParameter(usageGroups),
  model: parameters.modelParameter,
  key: parameters.keyParameter,
  surface: parameters.surfaceParameter,
  cursor: cursor.parameter,
  limit: parameters.limitParameter,
}

/** A cursor has one value for each group; that of `day` must be a day. */
const checkCursor = (groupBy: readonly UsageGroup[], after: readonly string[] | undefined): void => {
  if (after === undefined) return
  const day = after[groupBy.indexOf('day')]
  if (after.length !== groupBy.length || (day !== undefined && parseDay(day) === null))
    throw invalidParameter('cursor', cursor.form)
}

const wantedOf = (ctx: HttpContext): UsageQuery => {
  const { from, to, group_by: groupBy = ['day'], model, key, surface, cursor, limit } = readQuery(ctx, usageParameters)
  parameters.checkRange(from, to)
  checkCursor(groupBy, cursor)
  const bounds = { from: from ?? null, to: to ?? null, limit: limit ?? httpLimits.pageRows }
  return { ...bounds, groupBy, model, key, surface, after: cursor }
}

/** Token sums are far below what a number can hold. */
const tokensOf = ({ usage }: UsageSums): Readonly<Record<string, number>> =>
  Object.fromEntries(usageColumnNames.map((column) => [column, Number(usage[usageColumns[column]])]))

const toUsageResponse = (groupBy: readonly UsageGroup[], sums: UsageSums): LedgerUsageResponse['data'][number] => ({
  ...Object.fromEntries(groupBy.map((group, place) => [group, sums.group[place]])),
  requests: Number(sums.requests),
  tokens: tokensOf(sums),
  total: formatUsd(sums.totalPicos),
})

export const showLedgerUsage =
  (readModels: EdgeReadModels): HttpMiddleware =>
  async (ctx) => {
    const wanted = wantedOf(ctx)
    const { groupBy, limit } = wanted
    const asked = { ...wanted, limit: limit + 1 }
    const sums = await readTables(ctx, readModels.listUsage(readableWorkspace(ctx), asked))
    const page = pageBody(
      sums,
      limit,
      (each) => toUsageResponse(groupBy, each),
      ({ group }) => cursor.text(group),
    )
    ctx.body = { object: 'list', group_by: [...groupBy], ...page } satisfies LedgerUsageResponse
  }
