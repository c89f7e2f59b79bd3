import { isObject, listOf } from '../../../json.ts'
import type { DayOf } from '../days.ts'
import { instantMs } from '../days.ts'
import type { ReadRow } from './format.ts'
import { countAt, type Fields, RowProblem, textAt } from './record.ts'

/** The one day that a period falls in, both ends in milliseconds since the epoch, the second excluded. Throws RowProblem where it reaches over midnight. */
export const dayOfPeriod = (startMs: number, endMs: number, dayOf: DayOf): string => {
  if (!Number.isFinite(startMs) || !Number.isFinite(endMs) || endMs <= startMs)
    throw new RowProblem('its period has no start or no end')
  const day = dayOf(startMs)
  if (dayOf(endMs - 1) !== day) throw new RowProblem(`its period reaches from ${day} to ${dayOf(endMs - 1)}`)
  return day
}

/** Seconds since the epoch, as OpenAI tells them. */
export const dayOfSeconds = (fields: Fields, dayOf: DayOf): string => {
  const msAt = (name: string): number => Number(countAt(fields, name) ?? Number.NaN) * 1_000
  return dayOfPeriod(msAt('start_time'), msAt('end_time'), dayOf)
}

/** RFC 3339, as Anthropic tells them. */
export const dayOfInstants = (fields: Fields, dayOf: DayOf): string => {
  const msAt = (name: string): number => instantMs(textAt(fields, name) ?? '')
  return dayOfPeriod(msAt('starting_at'), msAt('ending_at'), dayOf)
}

/** The results of one period of a report; none where nothing was used. */
export const resultsOfPeriod =
  (dayOf: (period: Fields) => string, read: (result: Fields, day: string) => readonly ReadRow[]) =>
  (element: unknown): readonly (() => readonly ReadRow[])[] => {
    if (!isObject(element) || !Array.isArray(element['results']))
      throw new RowProblem('is no period of a report: it has no `results`')
    return listOf(element['results']).map((result) => () => {
      if (!isObject(result)) throw new RowProblem('is no result of a report')
      return read(result, dayOf(element))
    })
  }
