import type { Limits } from '../../events/types.ts'
import { boolean, decimal, freeText, instant, json, nullable, text } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const accountTables = defineTables({
  workspaces: {
    key: ['workspace_id'],
    write: 'replace',
    columns: { workspace_id: text(), name: freeText(), credit_limit: decimal(), account: nullable(text()) },
  },
  keys: {
    key: ['key_id'],
    write: 'replace',
    columns: {
      key_id: text(),
      workspace_id: text(),
      name: freeText(),
      sha256: text(),
      prefix: freeText(),
      revoked: boolean(),
      /** Null: never. */
      expires_at: nullable(instant()),
      replaces: nullable(text()),
    },
  },
  limits: {
    key: ['workspace_id', 'key_id'],
    write: 'replace',
    columns: {
      workspace_id: text(),
      /** Empty for the limits of the workspace. */
      key_id: text(),
      limits: json<Limits>(),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof accountTables> {}
}
