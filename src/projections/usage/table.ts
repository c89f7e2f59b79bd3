import type { ChargeLine, RequestRouted, Usage } from '../../events/types.ts'
import {
  type Column,
  date,
  decimal,
  freeText,
  instant,
  int4,
  int8,
  json,
  nullable,
  text,
  textOf,
} from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const usageColumns = {
  prompt_total: 'promptTotal',
  input_uncached: 'inputUncached',
  cache_read: 'cacheRead',
  cache_read_audio: 'cacheReadAudio',
  cache_read_image: 'cacheReadImage',
  cache_write_5m: 'cacheWrite5m',
  cache_write_1h: 'cacheWrite1h',
  cache_write_12h: 'cacheWrite12h',
  input_audio: 'inputAudio',
  input_image: 'inputImage',
  output_total: 'outputTotal',
  output_reasoning: 'outputReasoning',
  output_audio: 'outputAudio',
  output_image: 'outputImage',
} as const satisfies {
  readonly [column: string]: Exclude<keyof Usage, 'toolCalls' | 'serviceTier' | 'inferenceGeo' | 'negative'>
}

export type UsageColumn = keyof typeof usageColumns
export const usageColumnNames = Object.keys(usageColumns) as readonly UsageColumn[]

/** Tokens of a part of the usage; 0 where the event has no such member. */
export const countInColumn = (usage: Usage, column: UsageColumn): number => usage[usageColumns[column]] ?? 0

/** Why an operator must look at a bill. */
type UsageException = 'implausible_usage' | 'unpriced_tier'

const countsAs = <T>(column: Column<T>) =>
  Object.fromEntries(usageColumnNames.map((name) => [name, column])) as { readonly [C in UsageColumn]: Column<T> }

export const endUserLabel = 'end_user'
export const tagLabel = (name: string): string => `tag:${name}`

export const usageTables = defineTables({
  usage_entries: {
    key: ['workspace_id', 'sequence', 'event_index'],
    write: 'insert',
    isBulk: true,
    columns: {
      workspace_id: text(),
      sequence: int8(),
      event_index: int4(),
      request_id: text(),
      key_id: text(),
      surface: text(),
      model: freeText(),
      provider: freeText(),
      level: int8(),
      price_version: text(),
      ...countsAs(int8()),
      tool_calls: json<Usage['toolCalls']>(),
      source: text(),
      outcome: text(),
      lines: json<readonly ChargeLine[]>(),
      total: decimal(),
      exception: nullable(textOf<UsageException>()),
      negative: nullable(text()),
      time: instant(),
      /** The writer that routed the request; null in rows that an earlier release wrote. */
      edge: nullable(text()),
      tags: nullable(json<NonNullable<RequestRouted['tags']>>()),
      end_user: nullable(text()),
    },
  },
  usage_by_day: {
    key: ['workspace_id', 'day', 'model', 'key_id', 'surface'],
    write: 'add',
    columns: {
      day: date(),
      workspace_id: text(),
      model: freeText(),
      key_id: text(),
      surface: text(),
      requests: decimal(),
      ...countsAs(decimal()),
      total: decimal(),
    },
  },
  /** Of the requests with a tag or an end user, once under each. */
  usage_by_label: {
    key: ['workspace_id', 'label', 'value', 'day', 'model', 'key_id', 'surface'],
    write: 'add',
    columns: {
      day: date(),
      workspace_id: text(),
      label: text(),
      value: freeText(),
      model: freeText(),
      key_id: text(),
      surface: text(),
      requests: decimal(),
      ...countsAs(decimal()),
      total: decimal(),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof usageTables> {}
}
