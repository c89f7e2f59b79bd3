import { decimal, instant, text } from '../schema/columns.ts'
import { GroupedCounts } from '../schema/grouped-counts.ts'
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

type RefusalGroup = Pick<RowOf<'refusals_by_minute'>, 'minute' | 'workspace_id' | 'key_id' | 'code'>

export const refusalsReadModel = defineReadModel({
  name: 'refusals',
  version: 1,
  tables: refusalTables,
  startBatch: () => {
    const sums = new GroupedCounts<RefusalGroup, 'count'>(['count'])
    return {
      addEvent: ({ event }) => {
        if (event.type !== 'RefusalsCounted') return
        for (const { minute, workspaceId, keyId, code, count } of event.data.counts)
          sums.add({ minute, workspace_id: workspaceId ?? '', key_id: keyId ?? '', code }, { count })
      },
      finish: () => ({ written: { refusals_by_minute: sums.rows() } }),
    }
  },
})
