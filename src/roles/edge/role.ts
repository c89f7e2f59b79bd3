import type { Catalog } from '../../domain/routing/plan.ts'
import { limits } from '../../limits.ts'
import type { LedgerTail } from '../ledger-tail.ts'
import {
  type Clock,
  type Dispatch,
  defineRole,
  type Logger,
  type LogOf,
  type NewId,
  type RunningRole,
} from '../role.ts'
import { WalletWriter } from '../wallet-writer.ts'
import { Allowances } from './allowances.ts'
import type { EdgeBounds } from './bounds.ts'
import { type EdgeEvent, Inference } from './inference.ts'
import { RateLimiter } from './rate-limiter.ts'
import type { EdgeReadModels } from './read-models.ts'
import { createServer } from './server.ts'

export interface EdgeParts {
  readonly log: LogOf<EdgeEvent>
  /** Caught up with the log: an edge decides from it. It must run until the edge has stopped. */
  readonly tail: LedgerTail
  readonly dispatch: Dispatch
  readonly catalog: Catalog
  readonly readModels: EdgeReadModels
  /** Of each workspace; null for no limit. */
  readonly requestsPerMinute: number | null
  /** How long a request may last. */
  readonly requestDeadlineMs?: number
  readonly listen: { readonly host: string; readonly port: number }
  readonly clock: Clock
  readonly newId: NewId
  readonly logger: Logger
  /** Other bounds than those of `limits.ts`, for a test. */
  readonly bounds?: Partial<EdgeBounds>
}

export interface RunningEdge extends RunningRole {
  readonly url: string
  readonly port: number
}

const start = async (parts: EdgeParts): Promise<RunningEdge> => {
  const { log, tail, clock, requestsPerMinute, requestDeadlineMs = limits.requestDeadlineMs, listen } = parts
  const holds: Pick<LogOf<'HoldPlaced' | 'HoldReleased'>, 'appendToWallet'> = log
  const allowances = new Allowances({
    ...parts,
    writer: new WalletWriter(holds, tail),
    owner: log.writer,
    requestDeadlineMs,
    lastEndMs: parts.bounds?.stopMs,
  })
  const inference = new Inference({ ...parts, allowances, requestDeadlineMs })
  const rateLimiter = requestsPerMinute === null ? null : new RateLimiter(requestsPerMinute, clock)
  const server = createServer({ ...parts, inference, rateLimiter })
  const stop = async (): Promise<void> => {
    await server.stop()
    await allowances.close()
    await inference.close()
  }
  try {
    return { ...(await server.listen(listen.host, listen.port)), stop }
  } catch (fault) {
    await stop()
    throw fault
  }
}

export const edge = defineRole({
  name: 'edge',
  emits: ['RequestRouted', 'RequestFailed', 'HoldPlaced', 'HoldReleased', 'AdjustmentPosted'],
  start,
})
