import type { ClosingEvent, RoutedEvent } from '../../domain/ledger/requests.ts'
import type { Attempt } from '../../events/types.ts'
import { boolean, decimal, freeText, instant, int4, int8, json, nullable, text, textOf } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const requestTables = defineTables({
  requests: {
    key: ['request_id'],
    write: 'insert',
    isBulk: true,
    columns: {
      request_id: text(),
      sequence: int8(),
      event_index: int4(),
      /** Of the side that came first; null in rows that an earlier release wrote. */
      first_sequence: nullable(int8()),
      workspace_id: text(),
      key_id: text(),
      surface: text(),
      model: freeText(),
      router: nullable(freeText()),
      stream: boolean(),
      status: textOf<'ok' | 'failed'>(),
      error_status: nullable(int4()),
      error_reason: nullable(freeText()),
      served_model: nullable(freeText()),
      level: nullable(int8()),
      attempts: json<readonly Attempt[]>(),
      reserved: decimal(),
      total: decimal(),
      routed_at: instant(),
      closed_at: instant(),
    },
  },
  /** A request of which one side has come; that side is stored whole. */
  open_requests: {
    key: ['request_id'],
    write: 'insert',
    columns: {
      request_id: text(),
      sequence: int8(),
      routed: nullable(json<RoutedEvent>()),
      closing: nullable(json<ClosingEvent>()),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof requestTables> {}
}
