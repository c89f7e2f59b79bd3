import { writerOf } from '../../events/envelope.ts'
import { instant, text } from '../schema/columns.ts'
import { defineReadModel, type ModelRows } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

const lostWriterTables = defineTables({
  /** When each process appended its last event. */
  writer_activity: { key: ['writer'], write: 'replace', columns: { writer: text(), seen_at: instant() } },
  /** Processes of which an allowance expired: one that stops returns its allowances. */
  lost_writers: { key: ['writer'], write: 'replace', columns: { writer: text(), lost_at: instant() } },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof lostWriterTables> {}
}

type Times = Map<string, string>

export const lostWritersReadModel = defineReadModel({
  name: 'lost-writers',
  version: 1,
  tables: lostWriterTables,
  startBatch: () => {
    const seen: Times = new Map()
    const lost: Times = new Map()
    return {
      addEvent: ({ event, released }) => {
        seen.set(writerOf(event), event.time)
        if (event.type === 'HoldReleased' && event.data.reason === 'expired' && released?.purpose === 'allowance')
          lost.set(released.owner, event.time)
      },
      finish: (): ModelRows<keyof typeof lostWriterTables> => ({
        written: {
          writer_activity: Array.from(seen, ([writer, seen_at]) => ({ writer: storedText(writer), seen_at })),
          lost_writers: Array.from(lost, ([writer, lost_at]) => ({ writer: storedText(writer), lost_at })),
        },
      }),
    }
  },
})
