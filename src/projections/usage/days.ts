import { formatUsd, parseUsd } from '../../domain/money.ts'
import type { Task } from '../../domain/video/task.ts'
import type { EventOf } from '../../events/envelope.ts'
import type { RequestRouted } from '../../events/types.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { countInColumn, endUserLabel, tagLabel, type UsageColumn, usageColumnNames } from './table.ts'

type DayGroup = Pick<RowOf<'usage_by_day'>, 'day' | 'workspace_id' | 'model' | 'key_id' | 'surface'>
type LabelGroup = DayGroup & Pick<RowOf<'usage_by_label'>, 'label' | 'value'>

interface Sums<Group> {
  readonly group: Group
  requests: number
  totalPicos: bigint
  readonly counts: bigint[]
}

export type Days<Group = DayGroup> = Map<string, Sums<Group>>
export type LabelledDays = Days<LabelGroup>

const lengthOfDay = 'YYYY-MM-DD'.length

interface Billed {
  readonly workspaceId: string
  readonly keyId: string
  readonly surface: string
  readonly model: string
}

const groupOf = (time: string, { workspaceId, keyId, surface, model }: Billed): DayGroup => ({
  day: time.slice(0, lengthOfDay),
  workspace_id: workspaceId,
  model: storedText(model),
  key_id: keyId,
  surface,
})

const nameOf = (time: string, { workspaceId, keyId, surface, model }: Billed): string =>
  `${time.slice(0, lengthOfDay)} ${workspaceId} ${keyId} ${surface} ${model}`

const sumsFor = <Group>(days: Days<Group>, name: string, createGroup: () => Group): Sums<Group> => {
  const existing = days.get(name)
  if (existing !== undefined) return existing
  const sums = { group: createGroup(), requests: 0, totalPicos: 0n, counts: usageColumnNames.map(() => 0n) }
  days.set(name, sums)
  return sums
}

const addUsage = (sums: Sums<unknown>, { usage, total }: EventOf<'UsageRecorded'>['data']): void => {
  sums.requests += 1
  sums.totalPicos += parseUsd(total)
  usageColumnNames.forEach((column, place) => {
    const count = countInColumn(usage, column)
    if (count > 0) sums.counts[place]! += BigInt(count)
  })
}

/** The day is that of the bill itself. */
export const addToDay = (days: Days, { time, data }: EventOf<'UsageRecorded'>): void =>
  addUsage(
    sumsFor(days, nameOf(time, data), () => groupOf(time, data)),
    data,
  )

/** Once for the end user, and once for each tag. */
export const addToLabels = (
  days: LabelledDays,
  { tags = {}, endUser }: Pick<RequestRouted, 'tags' | 'endUser'>,
  { time, data }: EventOf<'UsageRecorded'>,
): void => {
  const labels = Object.entries(tags).map(([name, value]) => [tagLabel(name), storedText(value)] as const)
  if (endUser !== undefined) labels.push([endUserLabel, endUser])
  for (const [label, value] of labels) {
    const createGroup = (): LabelGroup => ({ ...groupOf(time, data), label, value })
    addUsage(sumsFor(days, `${label} ${nameOf(time, data)} ${value}`, createGroup), data)
  }
}

export const addTaskToDay = (days: Days, time: string, task: Task): void => {
  const sums = sumsFor(days, nameOf(time, task), () => groupOf(time, task))
  sums.requests += 1
  sums.totalPicos += parseUsd(task.total)
}

const countsOf = (counts: readonly bigint[]): { readonly [C in UsageColumn]: string } =>
  Object.fromEntries(usageColumnNames.map((column, place) => [column, String(counts[place])])) as {
    readonly [C in UsageColumn]: string
  }

export const dayRows = <Group>(days: Days<Group>) =>
  Array.from(days.values(), ({ group, requests, totalPicos, counts }) => ({
    ...group,
    requests: String(requests),
    ...countsOf(counts),
    total: formatUsd(totalPicos),
  }))
