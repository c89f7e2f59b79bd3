import { formatUsd, parseUsd } from '../../domain/money.ts'
import type { Task } from '../../domain/video/task.ts'
import type { EventOf } from '../../events/envelope.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { countInColumn, type UsageColumn, usageColumnNames } from './table.ts'

type Group = Pick<RowOf<'usage_by_day'>, 'day' | 'workspace_id' | 'model' | 'key_id' | 'surface'>

interface Sums {
  readonly group: Group
  requests: number
  totalPicos: bigint
  readonly counts: bigint[]
}

export type Days = Map<string, Sums>

const lengthOfDay = 'YYYY-MM-DD'.length

interface Billed {
  readonly workspaceId: string
  readonly keyId: string
  readonly surface: string
  readonly model: string
}

const groupOf = (day: string, { workspaceId, keyId, surface, model }: Billed): Group => ({
  day,
  workspace_id: workspaceId,
  model: storedText(model),
  key_id: keyId,
  surface,
})

const sumsFor = (days: Days, time: string, billed: Billed): Sums => {
  const { workspaceId, keyId, surface, model } = billed
  const day = time.slice(0, lengthOfDay)
  const name = `${day} ${workspaceId} ${keyId} ${surface} ${model}`
  const existing = days.get(name)
  if (existing !== undefined) return existing
  const sums = { group: groupOf(day, billed), requests: 0, totalPicos: 0n, counts: usageColumnNames.map(() => 0n) }
  days.set(name, sums)
  return sums
}

/** The day is that of the bill itself. */
export const addToDay = (days: Days, { time, data }: EventOf<'UsageRecorded'>): void => {
  const sums = sumsFor(days, time, data)
  const { usage, total } = data
  sums.requests += 1
  sums.totalPicos += parseUsd(total)
  usageColumnNames.forEach((column, place) => {
    const count = countInColumn(usage, column)
    if (count > 0) sums.counts[place]! += BigInt(count)
  })
}

export const addTaskToDay = (days: Days, time: string, task: Task): void => {
  const sums = sumsFor(days, time, task)
  sums.requests += 1
  sums.totalPicos += parseUsd(task.total)
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
