import { GatewayError } from '../../errors/gateway-error.ts'
import { tagLabel } from './table.ts'

interface GroupedRow {
  /** In the order of the groups; empty where a row has no value. */
  readonly group: readonly string[]
}

interface TagUse {
  readonly groupBy: readonly string[]
  /** A label that all rows have. */
  readonly filter?: string | undefined
}

const tagNameOf = (group: string): string | null =>
  group.startsWith(tagLabel('')) ? group.slice(tagLabel('').length) : null

/** The names of tags that rows are grouped by, and that none of them has. */
const findUnusedTags = (groupBy: readonly string[], rows: readonly GroupedRow[]): readonly string[] =>
  groupBy.flatMap((group, place) => (rows.some((row) => row.group[place] !== '') ? [] : (tagNameOf(group) ?? [])))

const unknownTag = (name: string, tagNames: readonly string[], param: string): GatewayError =>
  new GatewayError(
    'invalid_value',
    `No request has the tag \`${name}\`, and it is not configured. Configured are: ${tagNames.join(', ') || 'none'}.`,
    { param },
  )

/**
 * Of all rows that were read: one that was configured once is known by the requests that have it. Throws `invalid_value` for a tag
 * that is not configured, and that no row has.
 */
export const requireKnownTags = (
  rows: readonly GroupedRow[],
  { groupBy, filter }: TagUse,
  tagNames: readonly string[],
): void => {
  const filtered = filter === undefined || rows.length > 0 ? null : tagNameOf(filter)
  if (filtered !== null && !tagNames.includes(filtered)) throw unknownTag(filtered, tagNames, 'tag')
  const grouped = findUnusedTags(groupBy, rows).find((name) => !tagNames.includes(name))
  if (grouped !== undefined) throw unknownTag(grouped, tagNames, 'group_by')
}
