import { parseDay } from '../domain/instant.ts'
import { formatUsd } from '../domain/money.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import { type HttpContext, type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { httpLimits } from '../http/limits.ts'
import { pageBody, textsCursor } from '../http/page.ts'
import * as parameters from '../http/parameters.ts'
import { invalidParameter, type Parameter, readQuery } from '../http/query.ts'
import type { EndUserIds } from '../log/end-users.ts'
import { showGroup } from '../projections/statements/other-debits.ts'
import { requireKnownTags } from '../projections/usage/known-tags.ts'
import type { UsageGroup, UsageQuery, UsageSums } from '../projections/usage/queries.ts'
import { endUserLabel, tagLabel, usageColumnNames, usageColumns } from '../projections/usage/table.ts'
import { type LabelFilter, labelParameters, readLabelFilter } from './label-filter.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerUsageResponse } from './responses.types.ts'

const cursor = textsCursor('usage')

const columns = ['day', 'model', 'key', 'surface'] as const
type Column = (typeof columns)[number]

/** A column, `end_user`, or `tag:<name>`. */
interface GroupWord {
  readonly text: string
  readonly group: UsageGroup
}

const labelPattern = new RegExp(`^(?:${endUserLabel}|${tagLabel('[a-z][a-z0-9_-]{0,63}')})$`)

const readWord = (text: string): GroupWord | undefined => {
  const column: Column | undefined = columns.find((each) => each === text)
  if (column !== undefined) return { text, group: column }
  return labelPattern.test(text) ? { text, group: 'label' } : undefined
}

const groupsParameter: Parameter<readonly GroupWord[]> = {
  read: (text) => {
    const words = text.split(',').map(readWord)
    const known = words.filter((word) => word !== undefined)
    return known.length === words.length && new Set(known.map(({ group }) => group)).size === known.length
      ? known
      : undefined
  },
  form: `one or more of ${columns.join(', ')} and one of ${endUserLabel}, ${tagLabel('<name>')}, each once, with commas between them`,
  schema: { type: 'string', minLength: 1 },
}

export const usageParameters = {
  from: parameters.dayParameter,
  to: parameters.lastDayParameter,
  group_by: groupsParameter,
  model: parameters.modelParameter,
  key: parameters.keyParameter,
  surface: parameters.surfaceParameter,
  ...labelParameters,
  cursor: cursor.parameter,
  limit: parameters.limitParameter,
}

/** A cursor has one value for each group; that of `day` must be a day. */
const checkCursor = (groupBy: readonly GroupWord[], after: readonly string[] | undefined): void => {
  if (after === undefined) return
  const day = after[groupBy.findIndex(({ group }) => group === 'day')]
  if (after.length !== groupBy.length || (day !== undefined && parseDay(day) === null))
    throw invalidParameter('cursor', cursor.form)
}

/** Sums are kept by one label at a time. Throws `invalid_value` for two. */
const labelOf = (groupBy: readonly GroupWord[], { tag, endUser }: LabelFilter): UsageQuery['label'] => {
  const labels = [
    ...groupBy.filter(({ group }) => group === 'label').map(({ text }) => ({ name: text, value: null })),
    ...(tag === undefined ? [] : [{ name: tagLabel(tag.name), value: tag.value }]),
    ...(endUser === undefined ? [] : [{ name: endUserLabel, value: endUser }]),
  ]
  if (new Set(labels.map(({ name }) => name)).size > 1)
    throw new GatewayError(
      'invalid_value',
      `Usage is summed by one tag, or by the end users, at a time, got ${labels.map(({ name }) => `\`${name}\``).join(' and ')}. The list of charges can be filtered by several.`,
      { param: 'group_by' },
    )
  return labels.at(-1)
}

interface Wanted {
  readonly words: readonly GroupWord[]
  readonly query: UsageQuery
}

const byDay: readonly GroupWord[] = [{ text: 'day', group: 'day' }]

const wantedOf = async (ctx: HttpContext, { endUsers }: UsageParts): Promise<Wanted> => {
  const query = readQuery(ctx, usageParameters)
  const { from, to, group_by: words = byDay, model, key, surface, cursor, limit } = query
  parameters.checkDays(from, to)
  checkCursor(words, cursor)
  const label = labelOf(words, await readLabelFilter(ctx, endUsers, query))
  const bounds = { from: from ?? null, to: to ?? null, limit: limit ?? httpLimits.pageRows }
  const groupBy = words.map(({ group }) => group)
  return { words, query: { ...bounds, groupBy, model, key, surface, label, after: cursor } }
}

/** Token sums are far below what a number can hold. */
const tokensOf = ({ usage }: UsageSums): Readonly<Record<string, number>> =>
  Object.fromEntries(usageColumnNames.map((column) => [column, Number(usage[usageColumns[column]])]))

const memberOf = ({ group, text }: GroupWord): string => (group === 'label' && text !== endUserLabel ? 'tag' : text)

const toUsageResponse = (words: readonly GroupWord[], sums: UsageSums): LedgerUsageResponse['data'][number] => ({
  ...Object.fromEntries(words.map((word, place) => [memberOf(word), showGroup(sums.group[place])])),
  requests: Number(sums.requests),
  tokens: tokensOf(sums),
  total: formatUsd(sums.totalPicos),
  corrections: formatUsd(sums.correctionsPicos),
  fees: formatUsd(sums.feesPicos),
  net: formatUsd(sums.totalPicos + sums.correctionsPicos + sums.feesPicos),
})

export interface UsageParts {
  readonly readModels: EdgeReadModels
  readonly endUsers: Pick<EndUserIds, 'findId'>
  readonly tagNames: readonly string[]
}

export const showLedgerUsage =
  (parts: UsageParts): HttpMiddleware =>
  async (ctx) => {
    const { words, query } = await wantedOf(ctx, parts)
    const { limit } = query
    const asked = { ...query, limit: limit + 1 }
    const sums = await readTables(ctx, parts.readModels.listUsage(readableWorkspace(ctx), asked))
    if (sums.length <= limit && query.after === undefined) {
      const filter = query.label?.value === null ? undefined : query.label?.name
      requireKnownTags(sums, { groupBy: words.map(({ text }) => text), filter }, parts.tagNames)
    }
    const page = pageBody(
      sums,
      limit,
      (each) => toUsageResponse(words, each),
      ({ group }) => cursor.text(group),
    )
    const group_by = words.map(({ text }) => text)
    ctx.body = { object: 'list', group_by, ...page } satisfies LedgerUsageResponse
  }
