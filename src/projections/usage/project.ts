import type { Applied } from '../../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../domain/money.ts'
import type { Task } from '../../domain/video/task.ts'
import { type EventOf, writerOf } from '../../events/envelope.ts'
import type { RequestRouted, Usage, UsageRecorded } from '../../events/types.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { countInColumn, endUserLabel, tagLabel, type UsageColumn, usageColumnNames, usageTables } from './table.ts'

const exceptionOf = ({
  plausible = true,
  unpriced,
}: UsageRecorded): NonNullable<RowOf<'usage_entries'>['exception']> | null => {
  if (!plausible) return 'implausible_usage'
  return unpriced === undefined ? null : 'unpriced_tier'
}

const describeNegative = (figures: NonNullable<Usage['negative']>): string =>
  Object.entries(figures)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')

const storedTags = (tags: RequestRouted['tags']): string | null =>
  tags === undefined
    ? null
    : JSON.stringify(Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, storedText(value)])))

const usageEntryRow = (
  { sequence, index }: Applied,
  routed: EventOf<'RequestRouted'>,
  { data, time }: EventOf<'UsageRecorded'>,
): RowOf<'usage_entries'> => {
  const { usage } = data
  const { tags, endUser } = routed.data
  return {
    workspace_id: data.workspaceId,
    sequence,
    event_index: index,
    request_id: data.requestId,
    key_id: data.keyId,
    surface: data.surface,
    model: storedText(data.model),
    provider: storedText(data.provider),
    level: data.level,
    price_version: data.priceVersion,
    // In full: V8 makes a row of known members several times as fast.
    prompt_total: usage.promptTotal,
    input_uncached: usage.inputUncached,
    cache_read: usage.cacheRead,
    cache_read_audio: usage.cacheReadAudio ?? 0,
    cache_read_image: usage.cacheReadImage ?? 0,
    cache_write_5m: usage.cacheWrite5m,
    cache_write_1h: usage.cacheWrite1h,
    cache_write_12h: usage.cacheWrite12h ?? 0,
    input_audio: usage.inputAudio,
    input_image: usage.inputImage,
    output_total: usage.outputTotal,
    output_reasoning: usage.outputReasoning,
    output_audio: usage.outputAudio,
    output_image: usage.outputImage,
    tool_calls: JSON.stringify(usage.toolCalls),
    source: data.source,
    outcome: data.outcome,
    lines: JSON.stringify(data.lines),
    total: data.total,
    exception: exceptionOf(data),
    negative: usage.negative === undefined ? null : describeNegative(usage.negative),
    time,
    edge: storedText(writerOf(routed)),
    tags: storedTags(tags),
    end_user: endUser ?? null,
  }
}

type DayGroup = Pick<RowOf<'usage_by_day'>, 'day' | 'workspace_id' | 'model' | 'key_id' | 'surface'>
type LabelGroup = DayGroup & Pick<RowOf<'usage_by_label'>, 'label' | 'value'>

interface Sums<Group> {
  readonly group: Group
  requests: number
  totalPicos: bigint
  readonly counts: bigint[]
}

type Days<Group = DayGroup> = Map<string, Sums<Group>>
type LabelledDays = Days<LabelGroup>

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

const addUsage = (sums: Sums<unknown>, { usage, total }: UsageRecorded): void => {
  sums.requests += 1
  sums.totalPicos += parseUsd(total)
  for (let place = 0; place < usageColumnNames.length; place += 1) {
    const count = countInColumn(usage, usageColumnNames[place]!)
    if (count > 0) sums.counts[place]! += BigInt(count)
  }
}

/** The day is that under which the charge is in the statement. */
const addToDay = (days: Days, time: string, data: UsageRecorded): void =>
  addUsage(
    sumsFor(days, nameOf(time, data), () => groupOf(time, data)),
    data,
  )

const addToLabels = (
  days: LabelledDays,
  { tags = {}, endUser }: Pick<RequestRouted, 'tags' | 'endUser'>,
  time: string,
  data: UsageRecorded,
): void => {
  const labels = Object.entries(tags).map(([name, value]) => [tagLabel(name), storedText(value)] as const)
  if (endUser !== undefined) labels.push([endUserLabel, endUser])
  for (const [label, value] of labels) {
    const createGroup = (): LabelGroup => ({ ...groupOf(time, data), label, value })
    addUsage(sumsFor(days, `${label} ${nameOf(time, data)} ${value}`, createGroup), data)
  }
}

const addTaskToDay = (days: Days, time: string, task: Task): void => {
  const sums = sumsFor(days, nameOf(time, task), () => groupOf(time, task))
  sums.requests += 1
  sums.totalPicos += parseUsd(task.total)
}

const sumsOfCounts = (counts: readonly bigint[]): { readonly [C in UsageColumn]: string } =>
  Object.fromEntries(usageColumnNames.map((column, place) => [column, String(counts[place])])) as {
    readonly [C in UsageColumn]: string
  }

const dayRows = <Group>(days: Days<Group>) =>
  Array.from(days.values(), ({ group, requests, totalPicos, counts }) => ({
    ...group,
    requests: String(requests),
    ...sumsOfCounts(counts),
    total: formatUsd(totalPicos),
  }))

export const usageReadModel = defineReadModel({
  name: 'usage',
  version: 5,
  tables: usageTables,
  startBatch: () => {
    const entries: RowOf<'usage_entries'>[] = []
    const days: Days = new Map()
    const labelled: LabelledDays = new Map()
    return {
      addEvent: (applied) => {
        const { event, closed, task, postedAt } = applied
        if (closed?.closing.type === 'UsageRecorded') {
          entries.push(usageEntryRow(applied, closed.routed, closed.closing))
          addToDay(days, postedAt, closed.closing.data)
          addToLabels(labelled, closed.routed.data, postedAt, closed.closing.data)
        } else if (event.type === 'TaskSettled' && task?.status === 'SUCCESS') addTaskToDay(days, postedAt, task)
      },
      finish: () => ({
        written: { usage_entries: entries, usage_by_day: dayRows(days), usage_by_label: dayRows(labelled) },
      }),
    }
  },
})
