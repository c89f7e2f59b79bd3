import type { Ledger } from '../domain/ledger/ledger.ts'
import type { HttpMiddleware } from '../http/context.ts'
import { readQuery } from '../http/query.ts'
import type { EventLog } from '../log/event-log.ts'
import { type FrameSource, readFrameAt } from '../log/raw-frames.ts'
import type { Clock } from '../runtime/clock.ts'
import { allPass, type Checks } from '../runtime/health.ts'
import { withTimeout } from '../runtime/within.ts'
import { readLimits } from './limits.ts'
import type { EdgeReadModels } from './read-models.ts'
import type { LedgerHealthResponse } from './responses.types.ts'

export interface HealthParts {
  readonly ready: () => Checks
  /** What administrators see besides: it may have names of files. */
  readonly adminChecks?: () => Checks
  readonly log: Pick<EventLog, 'lastSequence'>
  readonly frames: Pick<FrameSource, 'read'>
  readonly tail: { readonly ledger: Ledger }
  readonly readModels: Pick<EdgeReadModels, 'findCheckpoint'>
  readonly clock: Clock
}

/** Null where it is away or too slow, which is then shown. */
const orNull = <T>(asked: Promise<T>): Promise<T | null> =>
  withTimeout<T | null>(asked, readLimits.healthMs, () => new Error('no answer')).catch(() => null)

/** Milliseconds since the epoch. */
type AskStored = (sequence: number, last: number) => Promise<number | null>

/** Each lookup creates a consumer of the log: concurrent and slightly later callers share one result. */
const sharing = (ask: AskStored): AskStored => {
  let asked: Promise<number | null> | null = null
  const forget = (): void => {
    asked = null
  }
  return (sequence, last) => {
    asked ??= ask(sequence, last).finally(() => setTimeout(forget, readLimits.healthFreshMs).unref())
    return asked
  }
}

const msPerSecond = 1_000

/** How far the tables are behind: in frames, and since the first frame that they lack was stored. */
const lagOf = async (
  { askStored, clock }: { readonly askStored: AskStored; readonly clock: Clock },
  tables: number | null,
  last: number | null,
): Promise<Omit<LedgerHealthResponse['tables'], 'sequence'>> => {
  if (tables === null || last === null) return { behind_frames: null, behind_seconds: null }
  if (tables >= last) return { behind_frames: 0, behind_seconds: 0 }
  const storedMs = await orNull(askStored(tables + 1, last))
  const behindMs = storedMs === null ? null : Math.max(0, clock() - storedMs)
  return { behind_frames: last - tables, behind_seconds: behindMs === null ? null : behindMs / msPerSecond }
}

const withoutFrames = ({ object, at, ready, checks, tables }: LedgerHealthResponse): LedgerHealthResponse => ({
  ...{ object, at, ready, checks },
  tables: { behind_seconds: tables.behind_seconds },
})

export const showLedgerHealth = (parts: HealthParts): HttpMiddleware => {
  const { readModels, log, frames, tail, clock, ready, adminChecks = () => ({}) } = parts
  const askStored = sharing(async (sequence, last) => (await readFrameAt(frames, sequence, last))?.storedMs ?? null)
  return async (ctx) => {
    readQuery(ctx, {})
    const tables = (await orNull(readModels.findCheckpoint()))?.sequence ?? null
    const last = await orNull(log.lastSequence())
    const isAdmin = ctx.state.admin !== undefined
    const checks = isAdmin ? { ...ready(), ...adminChecks() } : ready()
    const { sequence, sealed } = tail.ledger
    const size = sealed?.size ?? 0
    const body = {
      object: 'health',
      at: new Date(clock()).toISOString(),
      ready: allPass(checks),
      checks,
      log: { sequence: last },
      ledger: { sequence },
      tables: { sequence: tables, ...(await lagOf({ askStored, clock }, tables, last)) },
      sealed: { size, unsealed_frames: Math.max(0, sequence - size) },
    } satisfies LedgerHealthResponse
    ctx.body = isAdmin ? body : withoutFrames(body)
  }
}

export const showHealth = (): HttpMiddleware => (ctx) => {
  ctx.body = { status: 'ok' }
}

/** GET /readyz: requests can be served and recorded; 503 with the failed checks while they cannot. */
export const showReadiness =
  (ready: () => Checks): HttpMiddleware =>
  (ctx) => {
    const checks = ready()
    const isReady = allPass(checks)
    ctx.status = isReady ? 200 : 503
    ctx.body = { status: isReady ? 'ready' : 'not_ready', role: 'edge', checks }
  }
