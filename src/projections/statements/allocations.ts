import { type Allocation, allocationOf, unallocated } from '../../domain/ledger/allocation.ts'
import { restoredTags, restoredText, storedText } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'

type Found = readonly (readonly [string, Allocation])[]

const selectRequests = async (db: ReadModels, workspaceId: string, ids: readonly string[]): Promise<Found> => {
  const rows = await db
    .selectFrom('requests')
    .innerJoin('usage_entries', (join) =>
      join
        .onRef('usage_entries.workspace_id', '=', 'requests.workspace_id')
        .onRef('usage_entries.sequence', '=', 'requests.sequence')
        .onRef('usage_entries.event_index', '=', 'requests.event_index'),
    )
    .select(['requests.request_id', 'attempts', 'usage_entries.model', 'usage_entries.key_id', 'usage_entries.surface'])
    .select(['price_version', 'tags', 'end_user'])
    .where('requests.workspace_id', '=', workspaceId)
    .where('requests.request_id', 'in', ids)
    .execute()
  return rows.map(({ request_id, model, key_id, surface, price_version, tags, end_user, attempts }) => {
    const served = { model: restoredText(model), keyId: key_id, surface, priceVersion: price_version, attempts }
    return [request_id, allocationOf(served, { tags: restoredTags(tags) ?? {}, endUser: end_user ?? '' })]
  })
}

const selectTasks = async (db: ReadModels, workspaceId: string, ids: readonly string[]): Promise<Found> => {
  const rows = await db
    .selectFrom('tasks')
    .select(['task_id', 'model', 'key_id', 'surface', 'price_version'])
    .where('workspace_id', '=', workspaceId)
    .where('task_id', 'in', ids)
    .execute()
  return rows.map(({ task_id, model, key_id, surface, price_version }) => [
    task_id,
    allocationOf({ model: restoredText(model), keyId: key_id, surface, priceVersion: price_version }),
  ])
}

type Detail = Readonly<Record<string, unknown>>

/** Of an event's detail, which is read whole: PostgreSQL cannot extract U+0000 from JSON. */
export const textIn = (detail: Detail | null, name: 'note' | 'corrects' | 'reason'): string => {
  const text = detail?.[name]
  return typeof text === 'string' ? text : ''
}

/** What those of the ids that are adjustments correct. */
export const selectCorrected = async (
  db: ReadModels,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const rows = await db
    .selectFrom('wallet_entries')
    .innerJoin('admin_changes', (join) =>
      join
        .onRef('admin_changes.sequence', '=', 'wallet_entries.sequence')
        .onRef('admin_changes.event_index', '=', 'wallet_entries.event_index'),
    )
    .select(['wallet_entries.reference', 'admin_changes.detail'])
    .where('wallet_entries.workspace_id', '=', workspaceId)
    .where('wallet_entries.kind', '=', 'adjustment')
    .where('wallet_entries.kind', '<>', 'charge') // Of the index of movements other than charges.
    .where('wallet_entries.reference', 'in', ids.map(storedText))
    .execute()
  return new Map(rows.map(({ reference, detail }) => [restoredText(reference), textIn(detail, 'corrects')]))
}

/** What each id is: a request, a task, or an adjustment of one, however many steps away. Of one workspace. */
export const findAllocations = async (
  db: ReadModels,
  workspaceId: string,
  ids: ReadonlySet<string>,
  passed: ReadonlySet<string> = new Set(),
): Promise<ReadonlyMap<string, Allocation>> => {
  if (ids.size === 0) return new Map()
  const asked = [...ids]
  const stored = asked.map(storedText)
  const found = new Map([
    ...(await selectTasks(db, workspaceId, stored)),
    ...(await selectRequests(db, workspaceId, stored)),
  ])
  const others = asked.filter((id) => !found.has(id))
  const corrected: ReadonlyMap<string, string> =
    others.length === 0 ? new Map() : await selectCorrected(db, workspaceId, others)
  const next = new Set([...corrected.values()].filter((id) => id !== '' && !passed.has(id)))
  const behind = await findAllocations(db, workspaceId, next, new Set([...passed, ...ids]))
  for (const [id, corrects] of corrected) found.set(id, behind.get(corrects) ?? unallocated)
  return found
}
