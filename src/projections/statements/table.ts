import type { MovementKind } from '../../domain/wallet/evolve.ts'
import { decimal, freeText, instant, int2, int4, int8, nullable, text, textOf } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const statementTables = defineTables({
  wallet_entries: {
    key: ['workspace_id', 'sequence', 'event_index', 'line'],
    write: 'insert',
    isBulk: true,
    columns: {
      workspace_id: text(),
      sequence: int8(),
      event_index: int4(),
      /** One event can move a wallet more than once: a charge, and what it cost beyond its reservation. */
      line: int2(),
      kind: textOf<MovementKind>(),
      amount: decimal(),
      held: decimal(),
      balance_after: decimal(),
      held_after: decimal(),
      reference: freeText(),
      time: instant(),
      /** Of its event, where that is earlier. */
      event_time: nullable(instant()),
    },
  },
  /** Where the movements of all wallets first reached a time within a minute, or after it. */
  movement_minutes: { key: ['minute'], write: 'rise', columns: { minute: instant(), sequence: int8() } },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof statementTables> {}
}
