import type { Limits } from '../events/types.ts'
import type { Decimal, FreeText, Instant, Json } from './columns.ts'

export interface WorkspaceTable {
  readonly workspace_id: string
  readonly name: FreeText
  readonly credit_limit: Decimal
}

export interface KeyTable {
  readonly key_id: string
  readonly workspace_id: string
  readonly name: FreeText
  readonly sha256: string
  readonly prefix: FreeText
  readonly revoked: boolean
  /** Null: never. */
  readonly expires_at: Instant | null
  readonly replaces: string | null
}

export interface LimitsTable {
  readonly workspace_id: string
  /** Empty for the limits of the workspace. */
  readonly key_id: string
  readonly limits: Json<Limits>
}
