import type { ClosingEvent, RoutedEvent } from '../domain/ledger/requests.ts'
import type { Attempt } from '../events/types.ts'
import type { Decimal, FreeText, Instant, Int8, Json } from './columns.ts'

export interface RequestTable {
  readonly request_id: string
  readonly sequence: Int8
  readonly event_index: number
  /** Of the side that came first; null in rows that an earlier release wrote. */
  readonly first_sequence: Int8 | null
  readonly workspace_id: string
  readonly key_id: string
  readonly surface: string
  readonly model: FreeText
  readonly router: FreeText | null
  readonly stream: boolean
  readonly status: 'ok' | 'failed'
  readonly error_status: number | null
  readonly error_reason: FreeText | null
  readonly served_model: FreeText | null
  readonly level: Int8 | null
  readonly attempts: Json<readonly Attempt[]>
  readonly reserved: Decimal
  readonly total: Decimal
  readonly routed_at: Instant
  readonly closed_at: Instant
}

/** A request of which one side has come; that side is stored whole. */
export interface OpenRequestTable {
  readonly request_id: string
  readonly sequence: Int8
  readonly routed: Json<RoutedEvent> | null
  readonly closing: Json<ClosingEvent> | null
}
