import { sql } from 'kysely'
import { type Allocation, allocationOf, unallocated } from '../../domain/ledger/allocation.ts'
import { namesCredit } from '../../domain/wallet/evolve.ts'
import type { Attempt } from '../../events/types.ts'
import { restoredTags, restoredText, storedText } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'

/** Of a charge `e`: what has the same event. */
export const sameEvent = (table: string) =>
  sql.raw(`${table}.workspace_id = e.workspace_id and ${table}.sequence = e.sequence and ${table}.event_index = e.event_index
    and e.kind in ('charge', 'excess')`)

/** Null for what is no charge, the last three also of a task. */
interface ChargedRow {
  readonly model: string | null
  readonly key_id: string
  readonly surface: string
  readonly price_version: string
  readonly tags: Allocation['tags'] | null
  readonly end_user: string | null
  readonly attempts: readonly Attempt[] | null
}

/** Of a movement `e`. Each is looked up by its index, however many there are: a page of movements is joined to no whole table. */
export const charged = {
  columns: sql`coalesce(u.model, t.model) as model, coalesce(u.key_id, t.key_id) as key_id,
    coalesce(u.surface, t.surface) as surface, coalesce(u.price_version, t.price_version) as price_version,
    u.tags, u.end_user, r.attempts`,
  joins: sql`left join lateral (select * from usage_entries u where ${sameEvent('u')} limit 1) u on true
    left join lateral (select * from requests r where ${sameEvent('r')} limit 1) r on u.model is not null
    left join lateral (
      select t.* from task_charges c join tasks t on t.task_id = c.task_id where ${sameEvent('c')} and u.model is null limit 1
    ) t on true`,
}

export const allocateCharged = (row: ChargedRow): Allocation => {
  const { model, key_id: keyId, surface, price_version: priceVersion, tags, end_user: endUser, attempts } = row
  if (model === null) return unallocated
  const served = { model: restoredText(model), keyId, surface, priceVersion, attempts: attempts ?? [] }
  return allocationOf(served, { tags: restoredTags(tags) ?? {}, endUser: endUser ?? '' })
}

type Found = readonly (readonly [string, Allocation])[]

const selectRequests = async (db: ReadModels, workspaceId: string, ids: readonly string[]): Promise<Found> => {
  if (ids.length === 0) return []
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
    .where(sql<boolean>`requests.request_id = any(${ids})`)
    .execute()
  return rows.map(({ request_id, model, key_id, surface, price_version, tags, end_user, attempts }) => {
    const served = { model: restoredText(model), keyId: key_id, surface, priceVersion: price_version, attempts }
    return [request_id, allocationOf(served, { tags: restoredTags(tags) ?? {}, endUser: end_user ?? '' })]
  })
}

const selectTasks = async (db: ReadModels, workspaceId: string, ids: readonly string[]): Promise<Found> => {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('tasks')
    .select(['task_id', 'model', 'key_id', 'surface', 'price_version'])
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`task_id = any(${ids})`)
    .execute()
  return rows.map(({ task_id, model, key_id, surface, price_version }) => [
    task_id,
    allocationOf({ model: restoredText(model), keyId: key_id, surface, priceVersion: price_version }),
  ])
}

type Detail = Readonly<Record<string, unknown>>

/** Of an event's detail, which is read whole: PostgreSQL cannot extract U+0000 from JSON. */
export const textIn = (detail: Detail | null, name: 'note' | 'corrects' | 'reason' | 'adjustmentId'): string => {
  const text = detail?.[name]
  return typeof text === 'string' ? text : ''
}

/** Of those of the ids that are adjustments. */
const selectDetails = async (
  db: ReadModels,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Detail | null>> => {
  if (ids.length === 0) return new Map() // PostgreSQL would read all adjustments of the workspace.
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
    .where(sql<boolean>`wallet_entries.reference = any(${ids.map(storedText)})`)
    .execute()
  return new Map(rows.map(({ reference, detail }) => [restoredText(reference), detail]))
}

interface Corrected {
  readonly allocation: Allocation
  /** A credit or a chargeback: what corrects it is a payment too, and no revenue. */
  readonly isPayment: boolean
}

const unknown: Corrected = { allocation: unallocated, isPayment: false }
const credit: Corrected = { allocation: unallocated, isPayment: true }

/** What an adjustment with this detail corrects, where `known` has it. */
export const correctedBy = (detail: Detail | null, known: ReadonlyMap<string, Corrected>): Corrected => {
  const { allocation, isPayment } = known.get(textIn(detail, 'corrects')) ?? unknown
  return { allocation, isPayment: isPayment || textIn(detail, 'reason') === 'chargeback' }
}

/** Each adjustment after what it corrects; those that correct each other end in nothing. */
const resolve = (adjustments: ReadonlyMap<string, Detail | null>, known: Map<string, Corrected>): void => {
  for (const first of adjustments.keys()) {
    const chain = new Set<string>()
    for (let id = first; adjustments.has(id) && !known.has(id) && !chain.has(id); ) {
      chain.add(id)
      id = textIn(adjustments.get(id) ?? null, 'corrects')
    }
    for (const id of [...chain].reverse()) known.set(id, correctedBy(adjustments.get(id) ?? null, known))
  }
}

/** What each id is: a credit, a request, a task, or an adjustment of one, however many steps away. Of one workspace. */
export const findCorrected = async (
  db: ReadModels,
  workspaceId: string,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Corrected>> => {
  const found = new Map<string, Corrected>()
  const adjustments = new Map<string, Detail | null>()
  const asked = new Set<string>()
  for (let next = [...ids]; next.length > 0; ) {
    for (const id of next) asked.add(id)
    for (const id of next.filter(namesCredit)) found.set(id, credit)
    const others = next.filter((id) => !found.has(id))
    const stored = others.map(storedText)
    for (const select of [selectTasks, selectRequests])
      for (const [id, allocation] of await select(db, workspaceId, stored)) found.set(id, { ...unknown, allocation })
    const details = await selectDetails(
      db,
      workspaceId,
      others.filter((id) => !found.has(id)),
    )
    for (const [id, detail] of details) adjustments.set(id, detail)
    next = [...new Set([...details.values()].map((detail) => textIn(detail, 'corrects')))]
    next = next.filter((id) => id !== '' && !asked.has(id))
  }
  resolve(adjustments, found)
  return found
}
