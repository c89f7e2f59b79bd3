import type { Applied } from '../../domain/ledger/ledger.ts'
import { formatUsd } from '../../domain/money.ts'
import type { Movement } from '../../domain/wallet/evolve.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { statementTables } from './table.ts'

const walletEntryRow = (
  { event, sequence, index, closed, postedAt }: Applied,
  movement: Movement,
  line: number,
): RowOf<'wallet_entries'> => ({
  workspace_id: movement.workspaceId,
  sequence,
  event_index: index,
  line,
  kind: movement.kind,
  amount: formatUsd(movement.amountPicos),
  held: formatUsd(movement.heldPicos),
  balance_after: formatUsd(movement.balanceAfterPicos),
  held_after: formatUsd(movement.heldAfterPicos),
  reference: storedText(movement.reference),
  time: postedAt,
  event_time: (closed?.closing ?? event).time === postedAt ? null : (closed?.closing ?? event).time,
})

const lengthOfMinute = 'YYYY-MM-DDTHH:MM'.length

/** The minutes first reached within one batch, ascending, each with the sequence that reached it. */
interface Minutes {
  latest: string
  readonly reached: RowOf<'movement_minutes'>[]
}

const noMinutes = (): Minutes => ({ latest: '', reached: [] })

const addToMinutes = (minutes: Minutes, { postedAt, sequence }: Applied): void => {
  const minute = postedAt.slice(0, lengthOfMinute)
  if (minute <= minutes.latest) return
  minutes.latest = minute
  minutes.reached.push({ minute: `${minute}:00Z`, sequence })
}

export const statementsReadModel = defineReadModel({
  name: 'statements',
  version: 2,
  tables: statementTables,
  startBatch: () => {
    const entries: RowOf<'wallet_entries'>[] = []
    const minutes = noMinutes()
    return {
      addEvent: (applied) => {
        const { movements } = applied
        movements.forEach((movement, line) => {
          entries.push(walletEntryRow(applied, movement, line))
        })
        if (movements.length > 0) addToMinutes(minutes, applied)
      },
      finish: () => ({ written: { wallet_entries: entries, movement_minutes: minutes.reached } }),
    }
  },
})
