import type { FreeText, Instant, Int8, Json } from './columns.ts'

export interface AdminChangeTable {
  readonly sequence: Int8
  readonly event_index: number
  readonly type: string
  readonly workspace_id: string | null
  readonly subject: FreeText
  readonly actor: FreeText | null
  /** The event's data without long and sensitive fields. */
  readonly detail: Json<Readonly<Record<string, unknown>>>
  readonly time: Instant
}
