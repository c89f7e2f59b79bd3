import { formatUsd, parseUsd } from '../../domain/money.ts'
import type { EventOf } from '../../events/envelope.ts'
import { storedText } from '../../read-models/stored-text.ts'
import type { RowOf } from '../../read-models/tables.ts'
import { type UsageColumn, usageColumnNames, usageColumns } from '../../read-models/usage.table.ts'

type Group = Pick<RowOf<'usage_by_day'>, 'day' | 'workspace_id' | 'model' | 'key_id' | 'surface'>

interface Sums {
  readonly group: Group
  requests: number
  totalPicos: bigint
  readonly counts: bigint[]
}

/** Sums of one batch by day, workspace, model, key and surface. */
export type Days = Map<string, Sums>

const lengthOfDay = 'YYYY-MM-DD'.length

const groupOf = ({ data, time }: EventOf<'UsageRecorded'>): Group => ({
  day: time.slice(0, lengthOfDay),
  workspace_id: data.workspaceId,
  model: storedText(data.model),
  key_id: data.keyId,
  surface: data.surface,
})

const sumsFor = (days: Days, event: EventOf<'UsageRecorded'>): Sums => {
  const { workspaceId, keyId, surface, model } = event.data
  const name = `${event.time.slice(0, lengthOfDay)} ${workspaceId} ${keyId} ${surface} ${model}`
  const standing = days.get(name)
  if (standing !== undefined) return standing
  const sums = { group: groupOf(event), requests: 0, totalPicos: 0n, counts: usageColumnNames.map(() => 0n) }
  days.set(name, sums)
  return sums
}

/** Adds a bill to its day, which is that of the bill itself. */
export const addToDay = (days: Days, event: EventOf<'UsageRecorded'>): void => {
  const sums = sumsFor(days, event)
  const { usage, total } = event.data
  sums.requests += 1
  sums.totalPicos += parseUsd(total)
  usageColumnNames.forEach((column, place) => {
    const count = usage[usageColumns[column]]
    if (count > 0) sums.counts[place]! += BigInt(count)
  })
}

const countsOf = (counts: readonly bigint[]): { readonly [C in UsageColumn]: string } =>
  Object.fromEntries(usageColumnNames.map((column, place) => [column, String(counts[place])])) as {
    readonly [C in UsageColumn]: string
  }

export const dayRows = (days: Days): RowOf<'usage_by_day'>[] =>
  Array.from(days.values(), ({ group, requests, totalPicos, counts }) => ({
    ...group,
    requests: String(requests),
    ...countsOf(counts),
    total: formatUsd(totalPicos),
  }))
