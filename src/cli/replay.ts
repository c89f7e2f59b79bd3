import type { TableComparison } from '../adapters/postgres/compare.ts'
import type { SchemaLocation } from '../adapters/postgres/connection.ts'
import { type ProjectTo, Rebuild } from '../adapters/postgres/rebuild.ts'
import { initialLedger } from '../domain/ledger/ledger.ts'
import type { EventLog } from '../log/event-log.ts'
import { ForeignTables } from '../log/log-identity.ts'
import { readModels } from '../projections/read-models.ts'
import type { ReadModel } from '../projections/schema/read-model.ts'
import type { RefillReadModels } from '../roles/projector/ports.ts'
import { ProjectionRun, type RunEnd } from '../roles/projector/projection-run.ts'
import { sharedLimits } from '../runtime/limits.ts'

type ReplayProgress =
  | { readonly step: 'projected'; readonly sequence: number; readonly toSequence: number }
  | { readonly step: 'compared'; readonly comparison: TableComparison }
  | { readonly step: 'swapped' }

export interface ReplayParts {
  readonly log: Pick<EventLog, 'follow' | 'lastSequence'>
  readonly place: SchemaLocation
  /** Replaces the live tables by the rebuilt ones, whether they differ or not. */
  readonly swap: boolean
  /** The tables that are compared, and swapped; absent: all. All are rebuilt: an event moves several. */
  readonly tables?: readonly string[]
  /** Default: those of this program. */
  readonly models?: readonly ReadModel[]
  readonly batchEventsMax?: number
  readonly onProgress?: (progress: ReplayProgress) => void
}

export interface ReplayReport {
  readonly sequence: number
  readonly comparisons: readonly TableComparison[]
  readonly equal: boolean
  readonly swapped: boolean
}

export class UnknownTables extends Error {
  override readonly name = 'UnknownTables'
}

const selectTables = (all: readonly string[], chosen: readonly string[]): readonly string[] => {
  const unknown = chosen.filter((name) => !all.includes(name))
  if (unknown.length === 0) return chosen
  throw new UnknownTables(`no read model is called ${unknown.join(', ')}; there are ${all.join(', ')}`)
}

/**
 * Compares every table with the live one at the live checkpoint, while reads and the live projector continue. Rejects
 * with `ForeignTables` when the live tables are beyond the end of the log, and with `UnknownTables`.
 */
export const rebuildReadModels = (parts: ReplayParts): Promise<ReplayReport> => {
  const { place, swap, tables = [], models = readModels, onProgress = () => {} } = parts
  return Rebuild.run(
    place,
    async (rebuild) => {
      const all = rebuild.tables
      const chosen = tables.length === 0 ? null : selectTables(all, tables)
      const bringTo = createProjection(parts, rebuild, onProgress)
      await bringTo(await rebuild.liveSequence())
      await rebuild.finishLoading()
      let sequence = 0
      const comparisons = await rebuild.compare(
        chosen ?? all,
        (live) => {
          sequence = live
          return bringTo(live)
        },
        (comparison) => onProgress({ step: 'compared', comparison }),
      )
      if (swap) {
        await rebuild.swap(bringTo, chosen)
        onProgress({ step: 'swapped' })
      }
      return { sequence, comparisons, equal: comparisons.every(({ differences }) => differences === 0), swapped: swap }
    },
    { models },
  )
}

interface RefillPlace {
  readonly log: ReplayParts['log']
  readonly place: SchemaLocation
  readonly batchEventsMax?: number
}

/** Without a comparison: the tables before are expected to differ. */
export const refillReadModels =
  ({ place, ...parts }: RefillPlace): RefillReadModels =>
  (models, { signal, onProgress }) =>
    Rebuild.run(
      place,
      async (rebuild) => {
        const bringTo = createProjection(
          { ...parts, models, signal, writtenSequence: await rebuild.freshSequence() },
          rebuild,
          ({ sequence }) => onProgress(sequence),
        )
        await bringTo(await rebuild.liveSequence())
        await rebuild.finishLoading()
        await rebuild.swap(
          bringTo,
          models.flatMap(({ tables }) => Object.keys(tables)),
        )
      },
      { models, isResumable: true },
    )

interface ProjectionParts extends Pick<ReplayParts, 'log' | 'batchEventsMax'> {
  readonly models?: readonly ReadModel[]
  readonly writtenSequence?: number
  readonly signal?: AbortSignal
}

type Projected = Extract<ReplayProgress, { readonly step: 'projected' }>

/** Each call resumes where the last one ended: the tables must hold what the ledger does. */
const createProjection = (
  { log, models, signal, writtenSequence = 0, batchEventsMax = sharedLimits.projectionBatchEventsMax }: ProjectionParts,
  { store }: Rebuild,
  onProjected: (progress: Projected) => void,
): ProjectTo => {
  const ledger = initialLedger()
  return async (toSequence) => {
    if (signal?.aborted) throw new Error('the rebuild was stopped')
    const last = await log.lastSequence()
    if (last < toSequence)
      throw new ForeignTables(`the live tables are at sequence ${toSequence}, but the log ends at ${last}`)
    const run = new ProjectionRun({
      ledger,
      writtenSequence,
      models,
      log,
      store,
      batchEventsMax,
      toSequence,
      onProjected: (sequence) => onProjected({ step: 'projected', sequence, toSequence }),
    })
    const end = await endOf(run, signal)
    if (end.reason === 'unavailable') throw new Error('the rebuilt tables cannot be written', { cause: end.cause })
    if (end.reason === 'stopped') throw new Error('the rebuild was stopped')
    if (end.reason !== 'reached') throw new Error('another process writes the rebuilt tables')
  }
}

const endOf = async (run: ProjectionRun, signal: AbortSignal | undefined): Promise<RunEnd> => {
  const stop = (): void => run.stop()
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  return run.ended.finally(() => signal?.removeEventListener('abort', stop))
}
