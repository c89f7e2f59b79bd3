import { parseDay } from '../../../../domain/instant.ts'
import { formatUsd } from '../../../../domain/money.ts'
import { usageColumnNames, usageColumns } from '../../../../projections/usage.table.ts'
import { type UsageGroup, type UsageQuery, type UsageSums, usageGroups } from '../../../../projections/usage.ts'
import { edgeLimits } from '../../limits.ts'
import { type EdgeContext, type EdgeMiddleware, readableWorkspace } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { readTables } from '../read-tables.ts'
import { textsCursor } from './cursor.ts'
import { pageBody } from './page-body.ts'
import * as parameters from './parameters.ts'
import { invalidParameter, readQuery } from './query.ts'

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

const wantedOf = (ctx: EdgeContext): UsageQuery => {
  const { from, to, group_by: groupBy = ['day'], model, key, surface, cursor, limit } = readQuery(ctx, usageParameters)
  parameters.checkRange(from, to)
  checkCursor(groupBy, cursor)
  const bounds = { from: from ?? null, to: to ?? null, limit: limit ?? edgeLimits.pageRows }
  return { ...bounds, groupBy, model, key, surface, after: cursor }
}

/** Token sums are far below what a number can hold. */
const tokensOf = ({ usage }: UsageSums): Readonly<Record<string, number>> =>
  Object.fromEntries(usageColumnNames.map((column) => [column, Number(usage[usageColumns[column]])]))

const shownSums = (groupBy: readonly UsageGroup[], sums: UsageSums) => ({
  ...Object.fromEntries(groupBy.map((group, place) => [group, sums.group[place]])),
  requests: Number(sums.requests),
  tokens: tokensOf(sums),
  total: formatUsd(sums.totalPicos),
})

/** GET …/usage: what was used and charged, summed by day, model, key or surface. */
export const showLedgerUsage =
  (readModels: EdgeReadModels): EdgeMiddleware =>
  async (ctx) => {
    const wanted = wantedOf(ctx)
    const { groupBy, limit } = wanted
    const asked = { ...wanted, limit: limit + 1 }
    const sums = await readTables(ctx, readModels.listUsage(readableWorkspace(ctx), asked))
    const shown = (each: UsageSums): object => shownSums(groupBy, each)
    const page = pageBody(sums, limit, shown, ({ group }) => cursor.text(group))
    ctx.body = { object: 'list', group_by: groupBy, ...page }
  }
