import { setTimeout as delay } from 'node:timers/promises'
import type { AnsweredKey, ClaimedKey, UnstoredKey } from '../../../../domain/idempotency/key.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import type { Logger } from '../../../../runtime/logger.ts'
import { admissionLimits } from '../limits.ts'
import { decodeKeyRecord, encodeKeyRecord } from './key-record.ts'
import type { OutcomeAddress, OutcomeStore } from './outcome-store.ts'

export interface KeyLeaseParts {
  readonly outcomes: OutcomeStore
  readonly outcomeLeaseMs: number
  readonly outcomeRenewMs: number
  readonly clock: Clock
  readonly logger: Logger
}

export interface RequestOutcome {
  readonly status: number
  readonly headers: AnsweredKey['headers']
  readonly body: Uint8Array
}

const takenOver = (requestId: string): GatewayError =>
  new GatewayError(
    'idempotency_key_in_use',
    'A repeat of this request has taken over, since this one was silent for too long.',
    { retryAfterSeconds: 1, repeats: { requestId, isRetryable: true } },
  )

/** The claim is renewed while the request runs. */
export class KeyLease {
  readonly #parts: KeyLeaseParts
  readonly #place: OutcomeAddress
  readonly #lost = new AbortController()
  #claim: ClaimedKey
  #revision: number
  #renewal: NodeJS.Timeout | undefined
  /** One write at a time: each names the revision before it. */
  #writing: Promise<unknown> = Promise.resolve()
  #isEnded = false
  #isStored = false

  constructor(parts: KeyLeaseParts, place: OutcomeAddress, claim: ClaimedKey, revision: number) {
    this.#parts = parts
    this.#place = place
    this.#claim = claim
    this.#revision = revision
    this.#renewLater()
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Fires when another request has taken over the key: nothing may be delivered any more. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /**
   * Stores an answer before its end is sent; of one that is too large, or when the store is full, only that it was
   * given. Throws `idempotency_key_in_use` where another request has taken over, `log_unavailable` where it cannot be
   * stored: then it must not be delivered.
   */
  async store({ status, headers, body }: RequestOutcome): Promise<void> {
    const { requestId, digest } = this.#claim
    const bytes = encodeKeyRecord({ state: 'answered', requestId, digest, status, headers }, body)
    if (bytes.length > admissionLimits.outcomeBytesMax) return this.storeNothing('size')
    this.#end()
    this.#isStored = await this.#write(bytes)
    if (this.#isStored) return
    this.#parts.logger.log('idempotency.store_full', { requestId })
    await this.storeNothing('size')
  }

  /** Stores only that an answer was given. Throws like `store`. */
  async storeNothing(why: UnstoredKey['why']): Promise<void> {
    const { requestId, digest } = this.#claim
    this.#end()
    await this.#write(encodeKeyRecord({ state: 'unkept', requestId, digest, why }))
    this.#isStored = true
  }

  /** The request failed and cost nothing: frees the key. Retries until the store accepts it; a stored outcome stays. */
  release(): Promise<void> {
    return this.#leave(new Uint8Array())
  }

  /** The state of the work is unknown: a repeat takes over at once and resolves it. Otherwise like `release`. */
  expire(): Promise<void> {
    return this.#leave(encodeKeyRecord({ ...this.#claim, leaseUntilMs: 0 }))
  }

  #end(): void {
    this.#isEnded = true
    clearTimeout(this.#renewal)
  }

  async #leave(bytes: Uint8Array): Promise<void> {
    this.#end()
    while (!this.#lost.signal.aborted && !this.#isStored)
      try {
        await this.#write(bytes)
        return
      } catch (fault) {
        if (!(fault instanceof GatewayError) || fault.code !== 'log_unavailable') throw fault
        if (this.#parts.outcomes.isClosed) return
        await delay(admissionLimits.outcomeRetryMs, undefined, { ref: false })
      }
  }

  #renewLater(): void {
    const { outcomeLeaseMs, outcomeRenewMs } = this.#parts
    this.#renewal = setTimeout(() => void this.#renew(), outcomeLeaseMs - outcomeRenewMs).unref()
  }

  async #renew(): Promise<void> {
    const { clock, outcomeLeaseMs, logger } = this.#parts
    const claim = { ...this.#claim, leaseUntilMs: clock() + outcomeLeaseMs }
    try {
      await this.#write(encodeKeyRecord(claim))
      this.#claim = claim
    } catch (fault) {
      logger.log('idempotency.claim_not_renewed', { fault, requestId: claim.requestId })
    }
    if (!this.#isEnded && !this.lost.aborted && !this.#parts.outcomes.isClosed) this.#renewLater()
  }

  /** False where the store is full. */
  #write(bytes: Uint8Array): Promise<boolean> {
    const written = this.#writing.then(() => this.#replace(bytes))
    this.#writing = written.catch(() => undefined)
    return written
  }

  async #replace(bytes: Uint8Array): Promise<boolean> {
    const { outcomes } = this.#parts
    for (;;) {
      const put = await outcomes.put(this.#place, bytes, this.#revision, sharedLimits.closingAckMs)
      if ('revision' in put) {
        this.#revision = put.revision
        return true
      }
      if (put.refused === 'full') return false
      if (await this.#isCurrent(bytes)) return true
    }
  }

  /** The stored record may be our own, since an acknowledgement can be lost. Throws where it is another's. */
  async #isCurrent(bytes: Uint8Array): Promise<boolean> {
    const existing = await this.#parts.outcomes.find(this.#place)
    const isThis = Buffer.compare(existing.bytes, bytes) === 0
    if (!isThis && !this.#isOwn(existing.bytes)) {
      this.#lost.abort()
      throw takenOver(this.#claim.requestId)
    }
    this.#revision = existing.revision
    return isThis
  }

  #isOwn(bytes: Uint8Array): boolean {
    const existing = decodeKeyRecord(bytes)?.record
    if (existing?.requestId !== this.#claim.requestId) return false
    return existing.state !== 'claimed' || existing.holder === this.#claim.holder
  }
}
