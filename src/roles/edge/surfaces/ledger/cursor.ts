import { parseJson } from '../../../../encoding/json.ts'
import type { EntryPosition } from '../../../../projections/statement.ts'
import type { Parameter } from './query.ts'

type Part = string | number

/** The position where a page ended, as opaque text; `list` names the list that it belongs to. */
const cursorText = (list: string, parts: readonly Part[]): string =>
  Buffer.from(JSON.stringify([list, ...parts])).toString('base64url')

const partsOf = (list: string, text: string): readonly unknown[] | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) return undefined
  const value = parseJson(bytes.toString())
  return Array.isArray(value) && value[0] === list ? value.slice(1) : undefined
}

const form = 'the `next_cursor` of an answer to the same query'
const schema = { type: 'string', minLength: 1 }

const isUpTo = (value: unknown, most: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most

const int4Max = 2 ** 31 - 1
const int2Max = 2 ** 15 - 1

/** For a list in the order of the log. */
export const placeCursor = (list: string) => ({
  text: ({ sequence, eventIndex, line }: EntryPosition): string => cursorText(list, [sequence, eventIndex, line]),
  parameter: {
    form,
    schema,
    read: (text) => {
      const [sequence, eventIndex, line, ...others] = partsOf(list, text) ?? []
      return isUpTo(sequence, Number.MAX_SAFE_INTEGER) &&
        isUpTo(eventIndex, int4Max) &&
        isUpTo(line, int2Max) &&
        others.length === 0
        ? { sequence, eventIndex, line }
        : undefined
    },
  } satisfies Parameter<EntryPosition>,
})

const textMax = 1_024

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= textMax

/** For a list in the order of some texts. */
export const textsCursor = (list: string) => ({
  text: (texts: readonly string[]): string => cursorText(list, texts),
  parameter: {
    form,
    schema,
    read: (text) => {
      const parts = partsOf(list, text)
      return parts?.every(isText) ? parts : undefined
    },
  } satisfies Parameter<readonly string[]>,
  /** For refusing one that belongs to another query. */
  form,
})
