import type { Applied } from '../../domain/ledger/ledger.ts'
import type { RowOf } from '../../projections/tables.ts'

const lengthOfMinute = 'YYYY-MM-DDTHH:MM'.length

/** The minutes first reached within one batch, ascending, each with the sequence that reached it. */
export interface Minutes {
  latest: string
  readonly reached: RowOf<'movement_minutes'>[]
}

export const noMinutes = (): Minutes => ({ latest: '', reached: [] })

/** Adds the time of an event that moved a wallet; times are of one length, so they compare as texts. */
export const addToMinutes = (minutes: Minutes, { event, sequence }: Applied): void => {
  const minute = event.time.slice(0, lengthOfMinute)
  if (minute <= minutes.latest) return
  minutes.latest = minute
  minutes.reached.push({ minute: `${minute}:00Z`, sequence })
}
