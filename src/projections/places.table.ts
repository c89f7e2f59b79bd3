import type { Instant, Int8 } from './columns.ts'

export interface ChargePlaceTable {
  readonly charge_id: string
  readonly sequence: Int8
  readonly event_index: number
  readonly workspace_id: string
}

/** Where the movements of all wallets first reached a time within a minute, or after it. */
export interface MovementMinuteTable {
  readonly minute: Instant
  readonly sequence: Int8
}
