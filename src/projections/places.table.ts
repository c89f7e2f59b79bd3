import type { Instant, Int8 } from './columns.ts'

/** Where an event stands that tells of a charge. */
export interface ChargePlaceTable {
  /** The request or task. */
  readonly charge_id: string
  readonly sequence: Int8
  readonly event_index: number
  readonly workspace_id: string
}

/** Where the movements of all wallets first told a time in a minute, or after it. */
export interface MovementMinuteTable {
  readonly minute: Instant
  readonly sequence: Int8
}
