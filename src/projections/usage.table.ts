import type { ChargeLine, Usage } from '../events/types.ts'
import type { Decimal, FreeText, Instant, Int8, Json } from './columns.ts'

export const usageColumns = {
  prompt_total: 'promptTotal',
  input_uncached: 'inputUncached',
  cache_read: 'cacheRead',
  cache_write_5m: 'cacheWrite5m',
  cache_write_1h: 'cacheWrite1h',
  input_audio: 'inputAudio',
  input_image: 'inputImage',
  output_total: 'outputTotal',
  output_reasoning: 'outputReasoning',
  output_audio: 'outputAudio',
  output_image: 'outputImage',
} as const satisfies { readonly [column: string]: Exclude<keyof Usage, 'toolCalls'> }

export type UsageColumn = keyof typeof usageColumns
export const usageColumnNames = Object.keys(usageColumns) as readonly UsageColumn[]

type Counts<Column> = { readonly [C in UsageColumn]: Column }

export interface UsageEntryTable extends Counts<Int8> {
  readonly workspace_id: string
  readonly sequence: Int8
  readonly event_index: number
  readonly request_id: string
  readonly key_id: string
  readonly surface: string
  readonly model: FreeText
  readonly provider: FreeText
  readonly level: Int8
  readonly price_version: string
  readonly tool_calls: Json<Usage['toolCalls']>
  readonly source: string
  readonly outcome: string
  readonly lines: Json<readonly ChargeLine[]>
  readonly total: Decimal
  readonly time: Instant
}

export interface UsageByDayTable extends Counts<Decimal> {
  /** YYYY-MM-DD, UTC. */
  readonly day: string
  readonly workspace_id: string
  readonly model: FreeText
  readonly key_id: string
  readonly surface: string
  readonly requests: Decimal
  readonly total: Decimal
}
