import type { FreeText, Int8 } from './columns.ts'

export interface StoredResponseTable {
  readonly response_id: string
  readonly workspace_id: string
  readonly provider: FreeText
  readonly request_id: string
  readonly sequence: Int8
}
