import type { Applied } from '../domain/ledger/ledger.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { UsageRecorded } from '../events/types.ts'
import { type LedgerTail, waitForLogEnd } from '../log/ledger-tail.ts'
import { type RowFramesParts, readClosedRequest, rowMismatch } from '../log/row-frames.ts'
import { roleLimits } from './limits.ts'

export type StoredResponseOwner = Pick<UsageRecorded, 'workspaceId' | 'provider'>

/** What the tables have of a response: an index of the log. */
interface StoredResponse {
  readonly requestId: string
  readonly sequences: readonly number[]
}

export interface StoredResponsesParts extends RowFramesParts {
  readonly tail: Pick<LedgerTail, 'ledger' | 'onApplied' | 'waitForSequence'>
  readonly findStored: (responseId: string) => Promise<StoredResponse | undefined>
  readonly recentMax?: number
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
  readonly #recent = new Map<string, StoredResponseOwner>()
  readonly #unlisten: () => void

  constructor(parts: StoredResponsesParts) {
    this.#parts = parts
    this.#recentMax = parts.recentMax ?? roleLimits.responseOwnersMax
    this.#unlisten = parts.tail.onApplied((applied) => {
      for (const each of applied) this.#note(each)
    })
  }

  /** Undefined where no response of ours has the id. Rejects with `read_models_unavailable` while that is unknown. */
  async find(responseId: string): Promise<StoredResponseOwner | undefined> {
    const known = this.#recent.get(responseId)
    if (known !== undefined) return known
    try {
      const stored = await this.#parts.findStored(responseId)
      if (stored !== undefined) return await this.#readOwner(responseId, stored)
      // Another process may have stored it a moment ago: it is in the log, since its answer was delivered.
      await waitForLogEnd(this.#parts, unavailable)
    } catch (fault) {
      throw unavailable(fault)
    }
    return this.#recent.get(responseId)
  }

  stop(): Promise<void> {
    this.#unlisten()
    return Promise.resolve()
  }

  async #readOwner(responseId: string, { requestId, sequences }: StoredResponse): Promise<StoredResponseOwner> {
    const row = { table: 'stored_responses', id: responseId, sequences }
    const { closing } = await readClosedRequest(this.#parts, row, requestId)
    if (closing.type === 'UsageRecorded' && closing.data.storedResponseId === responseId) return closing.data
    throw rowMismatch(this.#parts, row, 'the request that it names has another response')
  }

  /** The first that has an id keeps it. */
  #note({ closed }: Applied): void {
    if (closed?.closing.type !== 'UsageRecorded') return
    const { storedResponseId, workspaceId, provider } = closed.closing.data
    if (storedResponseId === undefined || this.#recent.has(storedResponseId)) return
    this.#recent.set(storedResponseId, { workspaceId, provider })
    if (this.#recent.size > this.#recentMax) this.#forgetOldest()
  }

  #forgetOldest(): void {
    const [oldest] = this.#recent.keys()
    if (oldest !== undefined) this.#recent.delete(oldest)
  }
}
