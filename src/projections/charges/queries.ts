import { storedText } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'
import {
  type EntryPosition,
  findSpan,
  isBefore,
  maxPosition,
  minPosition,
  type StatementRange,
} from '../statements/queries.ts'
import {
  type ChargeFilter,
  chargeFinders,
  chargePosition,
  type FoundCharges,
  type ListedCharge,
} from './listed-charges.ts'

export interface ChargeQuery extends ChargeFilter, StatementRange {
  readonly readOn?: EntryPosition | undefined
  readonly limit: number
}

export interface ChargePage {
  readonly charges: readonly ListedCharge[]
  /** The rest ends before this place; null if nothing is left. */
  readonly next: EntryPosition | null
}

const newestFirst = (one: ListedCharge, other: ListedCharge): number =>
  other.sequence - one.sequence || other.eventIndex - one.eventIndex

const merge = (found: readonly FoundCharges[], limit: number): ChargePage => {
  const ends = found.flatMap(({ from }) => from ?? [])
  const end = ends.length === 0 ? null : ends.reduce(maxPosition)
  const charges = found
    .flatMap((each) => each.charges)
    .filter((charge) => end === null || !isBefore(chargePosition(charge), end))
    .sort(newestFirst)
  const last = charges[limit - 1]
  if (charges.length > limit && last !== undefined)
    return { charges: charges.slice(0, limit), next: chargePosition(last) }
  return { charges, next: end }
}

/** Whether a model was ever charged: each charge is in the sums of its day. */
const isCharged = async (db: ReadModels, workspaceId: string, model: string): Promise<boolean> => {
  const found = await db
    .selectFrom('usage_by_day')
    .select('day')
    .where('workspace_id', '=', workspaceId)
    .where('model', '=', storedText(model))
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/**
 * The charges of a range, of requests and of video tasks that succeeded, newest first: those whose movements are in the
 * statement of the range. Must run in one transaction, with the tables at `sequence`. Only the key is indexed, no other
 * filter: a page scans `projectionLimits.chargesScannedMax` of each kind, and so may have fewer charges than requested, or none,
 * while more are left. A model without any charge is not searched.
 */
export const selectCharges = async (
  db: ReadModels,
  workspaceId: string,
  { readOn, ...wanted }: ChargeQuery,
  sequence: number,
): Promise<ChargePage> => {
  const { model } = wanted
  if (model !== undefined && !(await isCharged(db, workspaceId, model))) return { charges: [], next: null }
  const { from, to } = await findSpan(db, workspaceId, wanted, sequence)
  const search = { ...wanted, workspaceId, from, to: readOn === undefined ? to : minPosition(to, readOn) }
  const found: FoundCharges[] = []
  for (const find of chargeFinders) found.push(await find(db, search))
  return merge(found, wanted.limit)
}
