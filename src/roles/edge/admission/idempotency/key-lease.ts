import { setTimeout as delay } from 'node:timers/promises'
import type { AnsweredKey, ClaimedKey, UnstoredKey } from '../../../../domain/idempotency/key.ts'
import { GatewayError, logUnavailable } from '../../../../errors/gateway-error.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { runWhereLarge } from '../../../../runtime/large-steps.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import type { Logger } from '../../../../runtime/logger.ts'
import { Semaphore } from '../../../../runtime/semaphore.ts'
import { withTimeout } from '../../../../runtime/within.ts'
import { admissionLimits } from '../limits.ts'
import { decodeKeyRecord, encodeKeyRecord } from './key-record.ts'
import type { OutcomeRoom } from './outcome-quota.ts'
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

/** The record of a claimed key, written under its revision. */
class ClaimedRecord {
  readonly #outcomes: OutcomeStore
  readonly #place: OutcomeAddress
  readonly #claim: Pick<ClaimedKey, 'requestId' | 'holder'>
  readonly #lost = new AbortController()
  #revision: number
  /** One write at a time: each names the revision before it. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(outcomes: OutcomeStore, place: OutcomeAddress, claim: ClaimedKey, revision: number) {
    this.#outcomes = outcomes
    this.#place = place
    this.#claim = claim
    this.#revision = revision
  }

  get workspaceId(): string {
    return this.#place.workspaceId
  }

  /** Fires when another request has taken over the key. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** False where the store is full. Throws `idempotency_key_in_use` where the key is lost, or `log_unavailable`. */
  write(bytes: Uint8Array): Promise<boolean> {
    const written = this.#writing.then(() => this.#replace(bytes))
    this.#writing = written.catch(() => undefined)
    return written
  }

  remove(): Promise<boolean> {
    return this.#outcomes.remove(this.#revision)
  }

  async #replace(bytes: Uint8Array): Promise<boolean> {
    for (;;) {
      const put = await this.#outcomes.put(this.#place, bytes, this.#revision, sharedLimits.closingAckMs)
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
    const existing = await this.#outcomes.find(this.#place)
    const isThis = Buffer.compare(existing.bytes, bytes) === 0
    if (!isThis && !isOwn(existing.bytes, this.#claim)) {
      this.#lost.abort()
      throw takenOver(this.#claim.requestId)
    }
    this.#revision = existing.revision
    return isThis
  }
}

const isOwn = (bytes: Uint8Array, { requestId, holder }: Pick<ClaimedKey, 'requestId' | 'holder'>): boolean => {
  const existing = decodeKeyRecord(bytes)?.record
  if (existing?.requestId !== requestId) return false
  return existing.state !== 'claimed' || existing.holder === holder
}

const nothing = new Uint8Array()

const noPermit = new Error('no permit in time')
/**
 * Writes of small records, which each request with a key has two of, would wait behind them at the store; and without a
 * pace, reading, copying and collecting them would take the main thread's time from others.
 */
const largeWrites = new Semaphore(admissionLimits.largeOutcomeWritesMax, {
  ms: admissionLimits.largeOutcomeWaitMs,
  late: () => noPermit,
})

interface LargeWrite {
  readonly workspaceId: string
  readonly bytes: number
}

/** The answer is paid for: one that has waited for long is written beside the others, in its turn among all large steps. */
const writeWithPermit = async <T>(size: LargeWrite, write: () => Promise<T>): Promise<T> => {
  try {
    return await largeWrites.run(size.workspaceId, write, size.bytes / admissionLimits.largeOutcomeBytesPerMs)
  } catch (fault) {
    if (fault !== noPermit) throw fault
    return runWhereLarge(size, write)
  }
}

/** None has a permit while it waits for its turn among the workspace's other steps. */
const writeInTurn = async <T>(size: LargeWrite, write: () => Promise<T>): Promise<T> =>
  size.bytes > sharedLimits.turnBytes ? runWhereLarge(size, () => writeWithPermit(size, write)) : write()

/** The claim is renewed while the request runs. */
export class KeyLease {
  readonly #parts: KeyLeaseParts
  readonly #record: ClaimedRecord
  readonly #room: OutcomeRoom
  #claim: ClaimedKey
  #renewal: NodeJS.Timeout | undefined
  #isEnded = false
  #isStored = false

  constructor(
    parts: KeyLeaseParts,
    { place, room }: { readonly place: OutcomeAddress; readonly room: OutcomeRoom },
    claim: ClaimedKey,
    revision: number,
  ) {
    this.#parts = parts
    this.#room = room
    this.#record = new ClaimedRecord(parts.outcomes, place, claim, revision)
    this.#claim = claim
    this.#renewLater()
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Fires when another request has taken over the key: nothing may be delivered any more. */
  get lost(): AbortSignal {
    return this.#record.lost
  }

  /**
   * Stores an answer before its end is sent; of one that is too large, or when the store is full, only that it was
   * given. Throws `idempotency_key_in_use` where another request has taken over, `log_unavailable` where it cannot be
   * stored: then it must not be delivered.
   */
  async store({ status, headers, body }: RequestOutcome): Promise<void> {
    const { requestId, digest, work } = this.#claim
    const owner = work.type === 'request' ? { keyId: work.keyId } : {}
    const bytes = encodeKeyRecord({ state: 'answered', requestId, digest, ...owner, status, headers }, body)
    if (bytes.length > admissionLimits.outcomeBytesMax) return this.storeNothing('size')
    // While a large one waits, the claim is renewed.
    this.#isStored = await writeInTurn({ workspaceId: this.#record.workspaceId, bytes: bytes.length }, () => {
      this.#end()
      return this.#record.write(bytes)
    })
    if (this.#isStored) return this.#room.settle(bytes.length)
    this.#parts.logger.log('idempotency.store_full', { requestId })
    await this.storeNothing('size')
  }

  /** Stores only that an answer was given. Throws like `store`. */
  async storeNothing(why: UnstoredKey['why']): Promise<void> {
    const { requestId, digest } = this.#claim
    this.#end()
    const bytes = encodeKeyRecord({ state: 'unkept', requestId, digest, why })
    await this.#record.write(bytes)
    this.#isStored = true
    this.#room.settle(bytes.length)
  }

  /** The request failed, and costs nothing once `settled`: then frees the key, or leaves it to expire. An outcome stays. */
  async release(settled: Promise<void>): Promise<void> {
    this.#end()
    try {
      await withTimeout(settled, this.#parts.outcomeLeaseMs, logUnavailable)
      if (await this.#writeAtLast(nothing)) void this.#remove()
      else this.#room.settle(nothing.length)
    } catch (fault) {
      this.#room.settle(nothing.length)
      throw fault
    }
  }

  /** The state of the work is unknown: a repeat takes over at once and resolves it. Otherwise like `release`. */
  async expire(): Promise<void> {
    const bytes = encodeKeyRecord({ ...this.#claim, leaseUntilMs: 0 })
    this.#end()
    await this.#writeAtLast(bytes).finally(() => this.#room.settle(bytes.length))
  }

  #end(): void {
    this.#isEnded = true
    clearTimeout(this.#renewal)
  }

  async #remove(): Promise<void> {
    const isRemoved = await this.#record.remove()
    this.#room.settle(isRemoved ? null : nothing.length)
  }

  async #writeAtLast(bytes: Uint8Array): Promise<boolean> {
    while (!this.lost.aborted && !this.#isStored)
      try {
        return await this.#record.write(bytes)
      } catch (fault) {
        if (!(fault instanceof GatewayError) || fault.code !== 'log_unavailable') throw fault
        if (this.#parts.outcomes.isClosed) return false
        await delay(admissionLimits.outcomeRetryMs, undefined, { ref: false })
      }
    return false
  }

  #renewLater(): void {
    const { outcomeLeaseMs, outcomeRenewMs } = this.#parts
    this.#renewal = setTimeout(() => void this.#renew(), outcomeLeaseMs - outcomeRenewMs).unref()
  }

  async #renew(): Promise<void> {
    const { clock, outcomeLeaseMs, logger } = this.#parts
    const claim = { ...this.#claim, leaseUntilMs: clock() + outcomeLeaseMs }
    try {
      await this.#record.write(encodeKeyRecord(claim))
      this.#claim = claim
    } catch (fault) {
      logger.log('idempotency.claim_not_renewed', { fault, requestId: claim.requestId })
    }
    if (!this.#isEnded && !this.lost.aborted && !this.#parts.outcomes.isClosed) this.#renewLater()
  }
}
