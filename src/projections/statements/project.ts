import type { Applied } from '../../domain/ledger/ledger.ts'
import { formatUsd } from '../../domain/money.ts'
import type { Movement } from '../../domain/wallet/evolve.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { statementTables } from './table.ts'

const walletEntryRow = (
  { event, sequence, index }: Applied,
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
  time: event.time,
})

const lengthOfMinute = 'YYYY-MM-DDTHH:MM'.length

/** The minutes first reached within one batch, ascending, each with the sequence that reached it. */
interface Minutes {
  latest: string
  readonly reached: RowOf<'movement_minutes'>[]
}

const noMinutes = (): Minutes => ({ latest: '', reached: [] })

/** Adds the time of an event that moved a wallet; times are of one length, so they compare as texts. */
const addToMinutes = (minutes: Minutes, { event, sequence }: Applied): void => {
  const minute = event.time.slice(0, lengthOfMinute)
  if (minute <= minutes.latest) return
  minutes.latest = minute
  minutes.reached.push({ minute: `${minute}:00Z`, sequence })
}

export const statementsReadModel = defineReadModel({
  name: 'statements',
  version: 1,
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
