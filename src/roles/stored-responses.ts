import type { Applied } from '../domain/ledger/ledger.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { UsageRecorded } from '../events/types.ts'
import { type LedgerTail, waitForLogEnd } from '../log/ledger-tail.ts'
import { type RowFramesParts, readClosedRequest, rowMismatch } from '../log/row-frames.ts'
import { roleLimits } from './limits.ts'
import { waitForTables } from './wait-for-tables.ts'

export interface StoredResponseOwner extends Pick<UsageRecorded, 'workspaceId' | 'provider'> {
  /** Of the provider's deployments, where it had several. */
  readonly deployment?: string
}

const ownerOf = ({ workspaceId, provider, attempts }: UsageRecorded): StoredResponseOwner => {
  const { deployment } = attempts.findLast(({ outcome }) => outcome === 'served') ?? {}
  return { workspaceId, provider, ...(deployment === undefined ? {} : { deployment }) }
}

/** What the tables have of a response: an index of the log. */
interface StoredResponse {
  readonly requestId: string
  readonly sequences: readonly number[]
}

/** Everything rejects while the tables cannot be read. */
export interface StoredResponseTables {
  /** Undefined where the tables do not have the response (yet). Read in the turn of the workspace, whosever it is. */
  findStored(responseId: string, forWorkspaceId: string): Promise<StoredResponse | undefined>
  checkpoint(): Promise<number>
}

export interface StoredResponsesParts extends RowFramesParts {
  readonly tail: Pick<LedgerTail, 'ledger' | 'onApplied' | 'waitForSequence'>
  readonly stored: StoredResponseTables
  readonly recentMax?: number
}

interface Recent {
  readonly owner: StoredResponseOwner
  readonly sequence: number
}

const unavailable = (cause?: unknown): GatewayError =>
  new GatewayError('read_models_unavailable', 'Stored responses cannot be looked up right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

/** The latest owners are in memory, since the tables may not have them yet; for others these name frames of the log. */
export class StoredResponses {
  readonly #parts: StoredResponsesParts
  readonly #recentMax: number
  readonly #recent = new Map<string, Recent>()
  /** Responses up to this sequence may be in the tables alone. */
  #forgotten: number
  readonly #unlisten: () => void

  constructor(parts: StoredResponsesParts) {
    this.#parts = parts
    this.#recentMax = parts.recentMax ?? roleLimits.responseOwnersMax
    this.#forgotten = parts.tail.ledger.sequence
    this.#unlisten = parts.tail.onApplied((applied) => {
      for (const each of applied) this.#note(each)
    })
  }

  /** Undefined where no response of ours has the id. Rejects with `read_models_unavailable` while that is unknown. */
  async find(responseId: string, forWorkspaceId: string): Promise<StoredResponseOwner | undefined> {
    const known = this.#recent.get(responseId)?.owner
    if (known !== undefined) return known
    try {
      const stored = await this.#parts.stored.findStored(responseId, forWorkspaceId)
      if (stored !== undefined) return await this.#readOwner(responseId, stored)
      // Another process may have stored it a moment ago: it is in the log, since its answer was delivered.
      await waitForLogEnd(this.#parts, unavailable)
      return this.#recent.get(responseId)?.owner ?? (await this.#findForgotten(responseId, forWorkspaceId))
    } catch (fault) {
      throw unavailable(fault)
    }
  }

  stop(): Promise<void> {
    this.#unlisten()
    return Promise.resolve()
  }

  /** In the tables, once they have all that memory has not, or nowhere. */
  async #findForgotten(responseId: string, forWorkspaceId: string): Promise<StoredResponseOwner | undefined> {
    await waitForTables(this.#parts.stored, this.#forgotten)
    const stored = await this.#parts.stored.findStored(responseId, forWorkspaceId)
    return stored === undefined ? undefined : this.#readOwner(responseId, stored)
  }

  async #readOwner(responseId: string, { requestId, sequences }: StoredResponse): Promise<StoredResponseOwner> {
    const row = { table: 'stored_responses', id: responseId, sequences }
    const { closing } = await readClosedRequest(this.#parts, row, requestId)
    if (closing.type === 'UsageRecorded' && closing.data.storedResponseId === responseId) return ownerOf(closing.data)
    throw rowMismatch(this.#parts, row, 'the request that it names has another response')
  }

  /** The first that has an id keeps it. */
  #note({ closed, sequence }: Applied): void {
    if (closed?.closing.type !== 'UsageRecorded') return
    const { storedResponseId } = closed.closing.data
    if (storedResponseId === undefined || this.#recent.has(storedResponseId)) return
    this.#recent.set(storedResponseId, { owner: ownerOf(closed.closing.data), sequence })
    if (this.#recent.size > this.#recentMax) this.#forgetOldest()
  }

  #forgetOldest(): void {
    const [oldest] = this.#recent
    if (oldest === undefined) return
    const [responseId, { sequence }] = oldest
    this.#recent.delete(responseId)
    this.#forgotten = sequence
  }
}
