/**
 * A page of a list; `next_cursor` is null on the last one. `rows` begins with the page's first row and is longer than
 * the limit where a page follows.
 */
export const pageBody = <Row>(
  rows: readonly Row[],
  limit: number,
  shown: (row: Row) => object,
  cursorOf: (last: Row) => string,
): { readonly data: readonly object[]; readonly next_cursor: string | null } => {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const isMore = rows.length > limit && last !== undefined
  return { data: page.map(shown), next_cursor: isMore ? cursorOf(last) : null }
}
