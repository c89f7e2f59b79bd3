import { decimal, instant, text } from '../schema/columns.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { defineTables, type RowOf, type TablesOf } from '../schema/tables.ts'

const refusalTables = defineTables({
  refusals_by_minute: {
    key: ['minute', 'workspace_id', 'key_id', 'code'],
    write: 'add',
    columns: {
      minute: instant(),
      /** Empty, as the key's id, where no key worked. */
      workspace_id: text(),
      key_id: text(),
      code: text(),
      count: decimal(),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof refusalTables> {}
}

export const refusalsReadModel = defineReadModel({
  name: 'refusals',
  version: 1,
  tables: refusalTables,
  startBatch: () => {
    const rows = new Map<string, RowOf<'refusals_by_minute'>>()
    return {
      addEvent: ({ event }) => {
        if (event.type !== 'RefusalsCounted') return
        for (const { minute, workspaceId, keyId, code, count } of event.data.counts) {
          const key = { minute, workspace_id: workspaceId ?? '', key_id: keyId ?? '', code }
          const name = Object.values(key).join(' ')
          rows.set(name, { ...key, count: String(Number(rows.get(name)?.count ?? 0) + count) })
        }
      },
      finish: () => ({ written: { refusals_by_minute: [...rows.values()] } }),
    }
  },
})
