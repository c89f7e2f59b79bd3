import { edgeLimits } from '../../limits.ts'
import { textsCursor } from '../ledger/cursor.ts'
import { pageBody } from '../ledger/page-body.ts'
import * as parameters from '../ledger/parameters.ts'

/** Pages of a list in memory, in the order of its ids. */
export const pageOf = (list: string) => {
  const cursor = textsCursor(list)
  return {
    known: { cursor: cursor.parameter, limit: parameters.limitParameter },
    /** `items` need no order. */
    show: <Item>(
      items: readonly Item[],
      idOf: (item: Item) => string,
      shown: (item: Item) => object,
      {
        cursor: place,
        limit = edgeLimits.pageRows,
      }: { cursor?: readonly string[] | undefined; limit?: number | undefined },
    ): object => {
      const after = place?.[0]
      const left = items
        .filter((item) => after === undefined || idOf(item) > after)
        .toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1))
      return { object: 'list', ...pageBody(left, limit, shown, (last) => cursor.text([idOf(last)])) }
    },
  }
}
