import { sql } from 'kysely'
import type { Key } from '../../domain/accounts/accounts.ts'
import { keyFromRow } from '../accounts/queries.ts'
import { storedText } from '../schema/stored-text.ts'
import type { ReadModels } from '../schema/tables.ts'
import { findSealFor } from '../seals/queries.ts'
import { entryFromRow, type WalletEntry } from '../statements/queries.ts'
import { projectionLimits } from './limits.ts'

export interface ChargeTrace {
  readonly workspaceId: string
  readonly sequences: readonly number[]
  /** False if an earlier release wrote part of it, so that some of its events may be elsewhere. */
  readonly isWhole: boolean
  readonly movements: readonly WalletEntry[]
  /** The first checkpoint over a frame, by the frame's sequence; frames not yet covered are absent. */
  readonly seals: ReadonlyMap<number, SealPosition>
}

export interface SealPosition {
  readonly size: number
  readonly sequence: number
}

interface EventPosition {
  readonly sequence: number
  /** Null if no event there moves a wallet. */
  readonly eventIndex: number | null
}

interface FoundPositions {
  readonly workspaceId: string
  readonly places: readonly EventPosition[]
  readonly isWhole: boolean
}

const findClosed = async (db: ReadModels, id: string): Promise<FoundPositions | undefined> => {
  const row = await db
    .selectFrom('requests')
    .select(['workspace_id', 'sequence', 'event_index', 'first_sequence'])
    .where('request_id', '=', id)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { workspace_id, sequence, event_index, first_sequence } = row
  const completed = { sequence: Number(sequence), eventIndex: event_index }
  const places = first_sequence === null ? [] : [{ sequence: Number(first_sequence), eventIndex: null }]
  return { workspaceId: workspace_id, places: [...places, completed], isWhole: first_sequence !== null }
}

/** A side that waits for the other, or one that came after the request was closed. */
const findOpen = async (db: ReadModels, id: string): Promise<FoundPositions | undefined> => {
  const row = await db.selectFrom('open_requests').selectAll().where('request_id', '=', id).executeTakeFirst()
  const side = row?.routed ?? row?.closing
  if (row === undefined || !side) return undefined
  const places = [{ sequence: Number(row.sequence), eventIndex: null }]
  return { workspaceId: side.data.workspaceId, places, isWhole: true }
}

const findTaskOwner = async (db: ReadModels, id: string): Promise<string | undefined> => {
  const row = await db.selectFrom('tasks').select('workspace_id').where('task_id', '=', id).executeTakeFirst()
  return row?.workspace_id
}

/** With those of its corrections, and of corrections of these, however many steps away. */
const findPositions = async (db: ReadModels, id: string, workspaceId: string): Promise<readonly EventPosition[]> => {
  const { rows } = await sql<{ sequence: string; event_index: number }>`with recursive chain as (
      select sequence, event_index from charge_places where charge_id = ${id} and workspace_id = ${workspaceId}
      union
      select p.sequence, p.event_index from chain c
      join wallet_entries e on e.workspace_id = ${workspaceId} and e.sequence = c.sequence and e.event_index = c.event_index
        and e.kind = 'adjustment'
      join charge_places p on p.charge_id = e.reference collate "C" and p.workspace_id = e.workspace_id
    ) select sequence, event_index from chain order by sequence, event_index limit ${projectionLimits.chargePlacesMax}`.execute(
    db,
  )
  return rows.map(({ sequence, event_index }) => ({ sequence: Number(sequence), eventIndex: event_index }))
}

const findMovements = async (
  db: ReadModels,
  workspaceId: string,
  places: readonly EventPosition[],
): Promise<readonly WalletEntry[]> => {
  const moving = places.filter(({ eventIndex }) => eventIndex !== null)
  if (moving.length === 0) return []
  const tuples = moving.map(({ sequence, eventIndex }) => sql`(${BigInt(sequence)}::int8, ${eventIndex}::int4)`)
  const rows = await db
    .selectFrom('wallet_entries')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`(sequence, event_index) in (${sql.join(tuples)})`)
    .orderBy('sequence')
    .orderBy('event_index')
    .orderBy('line')
    .execute()
  return rows.map(entryFromRow)
}

/** The first checkpoint over one frame is that of all frames up to its size. */
const findSeals = async (db: ReadModels, sequences: readonly number[]): Promise<ReadonlyMap<number, SealPosition>> => {
  const seals = new Map<number, SealPosition>()
  let seal: SealPosition | undefined
  for (const sequence of sequences) {
    if (seal === undefined || seal.size < sequence) seal = await findSealFor(db, sequence)
    if (seal === undefined) break
    seals.set(sequence, { size: seal.size, sequence: seal.sequence })
  }
  return seals
}

const hasNoGap = async (db: ReadModels): Promise<boolean> => {
  const { sequence, places_to } = await db.selectFrom('checkpoint').selectAll().executeTakeFirstOrThrow()
  return places_to === sequence
}

/** Undefined for an id of no known request or task. Must run in one transaction. */
export const findTrace = async (db: ReadModels, id: string): Promise<ChargeTrace | undefined> => {
  const found = [await findClosed(db, id), await findOpen(db, id)].filter((each) => each !== undefined)
  const workspaceId = found[0]?.workspaceId ?? (await findTaskOwner(db, id))
  if (workspaceId === undefined) return undefined
  const own = found.filter((each) => each.workspaceId === workspaceId).flatMap((each) => each.places)
  const places = [...own, ...(await findPositions(db, id, workspaceId))]
  const sequences = [...new Set(places.map(({ sequence }) => sequence))].sort((one, other) => one - other)
  return {
    workspaceId,
    sequences,
    isWhole: (await hasNoGap(db)) && found.every(({ isWhole }) => isWhole),
    movements: await findMovements(db, workspaceId, places),
    seals: await findSeals(db, sequences),
  }
}

export const findSheetSequence = async (
  db: ReadModels,
  model: string,
  version: string,
): Promise<number | undefined> => {
  const row = await db
    .selectFrom('prices')
    .select('sequence')
    .where('model', '=', storedText(model))
    .where('version', '=', version)
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? undefined : Number(row.sequence)
}

export const findKey = async (db: ReadModels, keyId: string): Promise<Key | undefined> => {
  const row = await db.selectFrom('keys').selectAll().where('key_id', '=', keyId).executeTakeFirst()
  return row === undefined ? undefined : keyFromRow(row)
}
