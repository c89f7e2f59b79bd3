import type { FreeText, Instant, Int8, Json } from './columns.ts'

/** Who changed what, when. */
export interface AdminChangeTable {
  readonly sequence: Int8
  readonly event_index: number
  readonly type: string
  /** Null for what belongs to no workspace. */
  readonly workspace_id: string | null
  readonly subject: FreeText
  readonly actor: FreeText | null
  /** The event's data without what is long or nobody's business. */
  readonly detail: Json<Readonly<Record<string, unknown>>>
  readonly time: Instant
}
