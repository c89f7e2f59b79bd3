import { limits } from '../../../../limits.ts'
import { textsCursor } from '../ledger/cursor.ts'
import * as parameters from '../ledger/parameters.ts'

/** One page of what stands in memory, in the order of its ids. */
export const pageOf = (list: string) => {
  const cursor = textsCursor(list)
  return {
    known: { cursor: cursor.parameter, limit: parameters.limit },
    /** `items` need no order. */
    show: <Item>(
      items: readonly Item[],
      idOf: (item: Item) => string,
      shown: (item: Item) => object,
      {
        cursor: place,
        limit = limits.pageRows,
      }: { cursor?: readonly string[] | undefined; limit?: number | undefined },
    ): object => {
      const after = place?.[0]
      const left = items
        .filter((item) => after === undefined || idOf(item) > after)
        .toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1))
      const page = left.slice(0, limit)
      const last = page.at(-1)
      const isMore = left.length > page.length && last !== undefined
      return { object: 'list', data: page.map(shown), next_cursor: isMore ? cursor.text([idOf(last)]) : null }
    },
  }
}
