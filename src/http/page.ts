import { parseJson } from '../encoding/json.ts'
import type { EntryPosition } from '../projections/statements/queries.ts'
import { httpLimits } from './limits.ts'
import * as parameters from './parameters.ts'
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

export const tokenCursor: Parameter<string> = { form, schema, read: (text) => text }

const textMax = 1_024

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= textMax

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

/** `rows` begins with the page's first row and is longer than the limit where a page follows. */
export const pageBody = <Row, Shown>(
  rows: readonly Row[],
  limit: number,
  shown: (row: Row) => Shown,
  cursorOf: (last: Row) => string,
): { readonly data: Shown[]; readonly next_cursor: string | null } => {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const isMore = rows.length > limit && last !== undefined
  return { data: page.map(shown), next_cursor: isMore ? cursorOf(last) : null }
}

/** Pages of a list in memory, in the order of its ids. */
export const pageOf = (list: string) => {
  const cursor = textsCursor(list)
  return {
    known: { cursor: cursor.parameter, limit: parameters.limitParameter },
    show: <Item, Shown>(
      items: readonly Item[],
      idOf: (item: Item) => string,
      shown: (item: Item) => Shown,
      {
        cursor: place,
        limit = httpLimits.pageRows,
      }: { cursor?: readonly string[] | undefined; limit?: number | undefined },
    ) => {
      const after = place?.[0]
      const left = items
        .filter((item) => after === undefined || idOf(item) > after)
        .toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1))
      return { object: 'list' as const, ...pageBody(left, limit, shown, (last) => cursor.text([idOf(last)])) }
    },
  }
}
