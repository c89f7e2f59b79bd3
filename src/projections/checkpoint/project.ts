import type { FrameWindow } from '../../domain/ledger/frame-window.ts'
import { int8, int8List, nullable, text } from '../schema/columns.ts'
import { defineReadModel, rowsOfChanged } from '../schema/read-model.ts'
import { defineTables, type RowOf, type TablesOf } from '../schema/tables.ts'

const checkpointTables = defineTables({
  checkpoint: {
    key: [],
    write: 'replace',
    columns: {
      sequence: int8(),
      /** Id of the log's first frame, `<writer>:<counter>`; null before any was applied. */
      first_frame: nullable(text()),
      /** Id of the frame of `last_frame_sequence`; null before a release that writes it. */
      last_frame: nullable(text()),
      last_frame_sequence: nullable(int8()),
      /** The positions of events are complete up to here; below `sequence` if an earlier release wrote since. */
      places_to: int8(),
    },
  },
})

const writerTables = defineTables({
  writers: { key: ['writer'], write: 'replace', columns: { writer: text(), low: int8(), above: int8List() } },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof checkpointTables & typeof writerTables> {}
}

const writerRow = ({ low, above }: FrameWindow, writer: string): RowOf<'writers'> => ({
  writer,
  low,
  above: [...above].sort((one, other) => one - other),
})

export const writersReadModel = defineReadModel({
  name: 'writers',
  version: 1,
  tables: writerTables,
  startBatch: () => {
    const changed = new Set<string>()
    return {
      addFrame: ({ walletSubject, writer }) => {
        if (walletSubject === null) changed.add(writer)
      },
      addEvent: () => {},
      finish: (ledger) => ({
        written: { writers: rowsOfChanged(changed, (id) => ledger.writers.get(id), writerRow) },
      }),
    }
  },
})
