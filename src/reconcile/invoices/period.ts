import { asArray, isObject } from '../../encoding/json.ts'
import type { DayFormatter } from './days.ts'
import { instantMs } from './days.ts'
import type { ReadRow } from './format.ts'
import { countAt, type Fields, RowProblem, textAt } from './record.ts'

/** Milliseconds since the epoch, the end excluded. Throws RowProblem if the period crosses midnight. */
const findPeriodDay = (startMs: number, endMs: number, dayOf: DayFormatter): string => {
  if (!Number.isFinite(startMs) || !Number.isFinite(endMs) || endMs <= startMs)
    throw new RowProblem('its period has no start or no end')
  const day = dayOf(startMs)
  if (dayOf(endMs - 1) !== day) throw new RowProblem(`its period reaches from ${day} to ${dayOf(endMs - 1)}`)
  return day
}

/** Seconds since the epoch, OpenAI's format. */
export const readDayFromSeconds = (fields: Fields, dayOf: DayFormatter): string => {
  const msAt = (name: string): number => Number(countAt(fields, name) ?? Number.NaN) * 1_000
  return findPeriodDay(msAt('start_time'), msAt('end_time'), dayOf)
}

/** RFC 3339, Anthropic's format. */
export const readDayFromInstants = (fields: Fields, dayOf: DayFormatter): string => {
  const msAt = (name: string): number => instantMs(textAt(fields, name) ?? '')
  return findPeriodDay(msAt('starting_at'), msAt('ending_at'), dayOf)
}

export const createPeriodReader =
  (dayOf: (period: Fields) => string, read: (result: Fields, day: string) => readonly ReadRow[]) =>
  (element: unknown): readonly (() => readonly ReadRow[])[] => {
    if (!isObject(element) || !Array.isArray(element['results']))
      throw new RowProblem('is no period of a report: it has no `results`')
    return asArray(element['results']).map((result) => () => {
      if (!isObject(result)) throw new RowProblem('is no result of a report')
      return read(result, dayOf(element))
    })
  }
