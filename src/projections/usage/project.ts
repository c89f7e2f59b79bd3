import type { Applied } from '../../domain/ledger/ledger.ts'
import { type EventOf, writerOf } from '../../events/envelope.ts'
import type { RequestRouted, Usage, UsageRecorded } from '../../events/types.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { addTaskToDay, addToDay, addToLabels, type Days, dayRows, type LabelledDays } from './days.ts'
import { countInColumn, type UsageColumn, usageColumnNames, usageTables } from './table.ts'

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

const countsOf = (usage: Usage) =>
  Object.fromEntries(usageColumnNames.map((column) => [column, countInColumn(usage, column)])) as {
    readonly [C in UsageColumn]: number
  }

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
    ...countsOf(usage),
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

export const usageReadModel = defineReadModel({
  name: 'usage',
  version: 4,
  tables: usageTables,
  startBatch: () => {
    const entries: RowOf<'usage_entries'>[] = []
    const days: Days = new Map()
    const labelled: LabelledDays = new Map()
    return {
      addEvent: (applied) => {
        const { event, closed, task } = applied
        if (closed?.closing.type === 'UsageRecorded') {
          entries.push(usageEntryRow(applied, closed.routed, closed.closing))
          addToDay(days, closed.closing)
          addToLabels(labelled, closed.routed.data, closed.closing)
        } else if (event.type === 'TaskSettled' && task?.status === 'SUCCESS') addTaskToDay(days, event.time, task)
      },
      finish: () => ({
        written: { usage_entries: entries, usage_by_day: dayRows(days), usage_by_label: dayRows(labelled) },
      }),
    }
  },
})
