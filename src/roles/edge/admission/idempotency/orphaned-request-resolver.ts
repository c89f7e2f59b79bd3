import type { AbandonedOutcome } from '../../../../domain/idempotency/decide.ts'
import { utcDayOf } from '../../../../domain/instant.ts'
import type { Applied } from '../../../../domain/ledger/ledger.ts'
import { labelsOf } from '../../../../domain/wallet/holders.ts'
import type { SpendingHolders } from '../../../../domain/wallet/spending.ts'
import { undeliveredFact } from '../../../../domain/wallet/undelivered.ts'
import { GatewayError, logUnavailable } from '../../../../errors/gateway-error.ts'
import type { FactOf } from '../../../../events/envelope.ts'
import type { RequestFailed } from '../../../../events/types.ts'
import { errorTable } from '../../../../http/error-table.ts'
import type { LogOf } from '../../../../log/event-log.ts'
import { type LedgerTail, waitForLogEnd } from '../../../../log/ledger-tail.ts'
import { type RowFramesParts, readClosedRequest, rowMismatch } from '../../../../log/row-frames.ts'
import type { EdgeReadModels } from '../../../../read-api/read-models.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import { waitUntilSequence } from '../../../../runtime/wait-until-sequence.ts'
import { withTimeout } from '../../../../runtime/within.ts'

interface OrphanedRequestParts extends RowFramesParts {
  readonly log: Pick<LogOf<'RequestFailed' | 'AdjustmentPosted'>, 'append' | 'postToWallet' | 'lastSequence'>
  readonly tail: LedgerTail
  readonly readModels: Pick<EdgeReadModels, 'findRequestFrames'>
}

type AbandonedRequest = Pick<RequestFailed, 'requestId' | 'workspaceId' | 'keyId' | 'surface'>

interface Closed extends Pick<NonNullable<Applied['closed']>, 'routed' | 'closing'> {
  /** Absent where the charge was read from its frames. */
  readonly spender?: SpendingHolders | null
}

type Charged = Extract<AbandonedOutcome, { chargedUsd: string }>

const unknown = (cause?: unknown): GatewayError =>
  new GatewayError(
    'read_models_unavailable',
    'A request with this idempotency key broke off, and what it cost cannot be looked up right now. Try again shortly.',
    { cause, retryAfterSeconds: 1 },
  )

export class OrphanedRequestResolver {
  readonly #parts: OrphanedRequestParts

  constructor(parts: OrphanedRequestParts) {
    this.#parts = parts
  }

  /**
   * The final state of the request in the log: one without an end is failed here, so that no later bill of it counts.
   * Rejects with `log_unavailable`, and with `read_models_unavailable` where memory does not have it and the tables
   * cannot be read.
   */
  async end(abandoned: AbandonedRequest): Promise<AbandonedOutcome> {
    const seen: Closed[] = []
    const unlisten = this.#parts.tail.onApplied((applied) => {
      for (const { closed, movements } of applied)
        if (closed?.routed.data.requestId === abandoned.requestId)
          seen.push({ ...closed, spender: movements[0]?.spender ?? null })
    })
    try {
      return outcomeOf((await this.#findEnd(abandoned, seen)) ?? seen[0])
    } finally {
      unlisten()
    }
  }

  /** Resolves once the charge is refunded; a repeat counts once. Rejects with `log_unavailable`. */
  async refund({ requestId, workspaceId }: AbandonedRequest, { chargedUsd, spender }: Charged): Promise<void> {
    const fact = undeliveredFact({ requestId, workspaceId, total: chargedUsd }, spender)
    await withTimeout(this.#parts.log.postToWallet(workspaceId, [fact]), sharedLimits.routedAckMs, () =>
      logUnavailable(),
    )
  }

  /** Null where the end is among those seen, or none will ever count. */
  async #findEnd(abandoned: AbandonedRequest, seen: readonly Closed[]): Promise<Closed | null> {
    const sequence = await waitForLogEnd(this.#parts, logUnavailable)
    const routed = this.#parts.tail.ledger.openRequests.get(abandoned.requestId)?.routed ?? null
    // Not open: it ended, or was never routed. A second end of an ended request is open too, without `routed`.
    const stored = routed === null && seen.length === 0 ? await this.#findStored(abandoned, sequence) : null
    if (stored === null && seen.length === 0) await this.#fail(abandoned, routed?.data.allowanceId ?? null)
    return stored
  }

  /** Null where the tables, which have every frame up to `sequence`, have no end of the request. */
  async #findStored(abandoned: AbandonedRequest, sequence: number): Promise<Closed | null> {
    let sequences: readonly number[] | undefined
    const read = async (): Promise<number> => {
      const found = await this.#parts.readModels.findRequestFrames(abandoned.requestId, abandoned.workspaceId)
      sequences = found.value
      return sequences === undefined ? found.sequence : Number.POSITIVE_INFINITY
    }
    const at = await waitUntilSequence(sequence, { read, pausesMs: sharedLimits.logStalledMs }).catch((fault) => {
      throw unknown(fault)
    })
    if (at < sequence) throw unknown()
    return sequences === undefined ? null : this.#readEnd(abandoned, sequences)
  }

  async #readEnd({ requestId, workspaceId }: AbandonedRequest, sequences: readonly number[]): Promise<Closed> {
    const row = { table: 'requests', id: requestId, sequences }
    const closed = await readClosedRequest(this.#parts, row, requestId)
    if (closed.routed.data.workspaceId === workspaceId) return closed
    throw rowMismatch(this.#parts, row, 'the request that it names is of another workspace')
  }

  /** Fails a request that was never routed too: should its edge resume and route it, it has already ended. */
  async #fail(abandoned: AbandonedRequest, allowanceId: string | null): Promise<void> {
    const { log, tail } = this.#parts
    const ended = log
      .append([abandonedFact(abandoned, allowanceId)])
      .then(({ sequence }) => tail.waitForSequence(sequence))
    await withTimeout(ended, sharedLimits.routedAckMs, logUnavailable)
  }
}

/** As far as the request shows it: what has no limits is not counted. */
const spenderOf = ({ data, time }: Closed['routed']): SpendingHolders => ({
  holders: [data.keyId, ...labelsOf(data)],
  day: utcDayOf(time),
})

const outcomeOf = (closed: Closed | undefined): AbandonedOutcome =>
  closed?.closing.type === 'UsageRecorded' && closed.closing.data.total !== '0'
    ? { chargedUsd: closed.closing.data.total, spender: closed.spender ?? spenderOf(closed.routed) }
    : { chargedUsd: null }

const abandonedFact = (abandoned: AbandonedRequest, allowanceId: string | null): FactOf<'RequestFailed'> => ({
  type: 'RequestFailed',
  data: {
    ...abandoned,
    status: errorTable.internal_error.status,
    reason: 'internal_error',
    allowanceId,
    attempts: [],
  },
})
