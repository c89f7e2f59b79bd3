import type { Decimal, FreeText } from './columns.ts'

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
}
