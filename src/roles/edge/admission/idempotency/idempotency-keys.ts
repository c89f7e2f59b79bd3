import { hash } from 'node:crypto'
import { decideAbandoned, decideKey, type KeyDecision } from '../../../../domain/idempotency/decide.ts'
import type { AnsweredKey, ClaimedKey, KeyedOperation, KeyRecord } from '../../../../domain/idempotency/key.ts'
import { digestCanonically } from '../../../../encoding/canonical-digest.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { runWhereLarge } from '../../../../runtime/large-steps.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import { admissionLimits } from '../limits.ts'
import { KeyLease, type KeyLeaseParts, type RequestOutcome } from './key-lease.ts'
import { decodeKeyRecord, encodeKeyRecord } from './key-record.ts'
import type { OrphanedRequestResolver } from './orphaned-request-resolver.ts'
import { OutcomeQuota, type OutcomeRoom } from './outcome-quota.ts'
import { type OutcomeAddress, storeIsFull } from './outcome-store.ts'

interface IdempotencyKeyParts extends KeyLeaseParts {
  readonly orphanedRequests: Pick<OrphanedRequestResolver, 'end' | 'refund'>
  readonly workspaceOutcomeBytesMax: number
}

interface KeyedRequest {
  readonly requestId: string
  readonly workspaceId: string
  readonly key: string
  readonly endpoint: string
  readonly body: unknown
  readonly bodyBytes: number
  readonly work: KeyedOperation
  /** Why a request without that key would be refused. */
  readonly shortage: GatewayError | null
}

export type StartedKey =
  | {
      readonly type: 'run'
      readonly held: KeyLease
      /** Its own, or that of an abandoned request with the key, which may have begun. */
      readonly work: KeyedOperation
    }
  | { readonly type: 'replay'; readonly requestId: string; readonly outcome: RequestOutcome }

interface AddressedRequest extends KeyedRequest {
  readonly place: OutcomeAddress
  readonly digest: string
  /** Or why there is none. */
  readonly room: OutcomeRoom | GatewayError
}

type RequestClaim = ClaimedKey & { readonly work: Extract<KeyedOperation, { type: 'request' }> }

const inUse = (requestId: string, runsForMs: number): GatewayError =>
  new GatewayError('idempotency_key_in_use', `The request ${requestId} has this idempotency key, and has not ended.`, {
    retryAfterSeconds: Math.min(Math.max(Math.ceil(runsForMs / 1_000), 1), admissionLimits.outcomeRetryAfterSecondsMax),
    repeats: { requestId, isRetryable: true },
  })

const final = (code: GatewayError['code'], requestId: string, message: string): GatewayError =>
  new GatewayError(code, message, { param: 'Idempotency-Key', repeats: { requestId, isRetryable: false } })

const reused = (requestId: string): GatewayError =>
  final(
    'idempotency_key_reused',
    requestId,
    `The request ${requestId} has this idempotency key and another body. Use another key.`,
  )

const notKept = (requestId: string): GatewayError =>
  final(
    'idempotency_outcome_not_kept',
    requestId,
    `The request ${requestId} has this idempotency key, was answered, and its answer is not stored, since it is too large or its stream broke off. Send the request again with a new key.`,
  )

const refusalOf = (refusal: Extract<KeyDecision, { type: 'refuse' }>): GatewayError => {
  switch (refusal.reason) {
    case 'in_use':
      return inUse(refusal.requestId, refusal.runsForMs)
    case 'reused':
      return reused(refusal.requestId)
    case 'not_kept':
      return notKept(refusal.requestId)
  }
}

/** The digest of the body is stored: it includes the key, so that it cannot be used to test guessed bodies. */
const addressRequest = async (request: KeyedRequest): Promise<Omit<AddressedRequest, 'room'>> => {
  const { workspaceId, key, endpoint, body, bodyBytes: bytes } = request
  const digest = await digestCanonically([key, endpoint, body], (step) => runWhereLarge({ workspaceId, bytes }, step))
  return { ...request, place: { workspaceId, keyDigest: hash('sha256', key) }, digest }
}

const isOfRequest = (claim: ClaimedKey): claim is RequestClaim => claim.work.type === 'request'

const isOwn = ({ keyId }: AnsweredKey, { work }: Pick<KeyedRequest, 'work'>): boolean =>
  work.type === 'request' && work.keyId === keyId

const noBytes = new Uint8Array(0)

const ofTheClaim: OutcomeRoom = { settle: () => undefined }

export class IdempotencyKeys {
  readonly #parts: IdempotencyKeyParts
  readonly #quota: OutcomeQuota

  constructor(parts: IdempotencyKeyParts) {
    this.#parts = parts
    this.#quota = new OutcomeQuota(parts)
  }

  /**
   * Claims the key of a request, or returns the stored outcome. Throws `idempotency_key_reused`,
   * `idempotency_key_in_use` or `idempotency_outcome_not_kept`; `idempotency_quota_exceeded` for a new key without room
   * for its answer; its `shortage`; `log_unavailable` where nothing can be claimed; and what `OrphanedRequestResolver` throws.
   */
  async begin(request: KeyedRequest): Promise<StartedKey> {
    const addressed = await addressRequest(request)
    await this.#refuseNew(addressed)
    const room = await this.#quota.reserve(request.workspaceId)
    if (room instanceof GatewayError) return this.#begin({ ...addressed, room })
    try {
      const begun = await this.#begin({ ...addressed, room })
      if (begun.type === 'replay') room.settle(null)
      return begun
    } catch (fault) {
      room.settle(null)
      throw fault
    }
  }

  /** Nothing is claimed for a request that is certain to be refused; an answer of a model goes to keys that may use it, and to its own. */
  async #refuseNew(addressed: Omit<AddressedRequest, 'room'>): Promise<void> {
    const { shortage, place } = addressed
    if (shortage === null) return
    const kept = decodeKeyRecord((await this.#parts.outcomes.find(place)).bytes)
    const decision = decideKey(kept?.record ?? null, { ...addressed, nowMs: this.#parts.clock() })
    if (decision.type === 'claim') throw shortage
    if (decision.type === 'replay' && shortage.code === 'model_not_allowed' && !isOwn(decision.record, addressed))
      throw shortage
  }

  async #begin(addressed: AddressedRequest): Promise<StartedKey> {
    const { requestId, work, room } = addressed
    let begun = room instanceof GatewayError ? await this.#repeat(addressed) : await this.#claim(addressed, work, 0)
    for (let race = 0; begun === null && race < admissionLimits.outcomeRacesMax; race += 1)
      begun = await this.#repeat(addressed)
    if (begun === null) throw inUse(requestId, 0)
    return begun
  }

  /** Null where another request was faster; likewise in the methods below. */
  async #repeat(addressed: AddressedRequest): Promise<StartedKey | null> {
    const { revision, bytes } = await this.#parts.outcomes.find(addressed.place)
    const kept = decodeKeyRecord(bytes)
    const decision = decideKey(kept?.record ?? null, { ...addressed, nowMs: this.#parts.clock() })
    switch (decision.type) {
      case 'claim':
        return this.#claim(addressed, addressed.work, revision)
      case 'run':
        return this.#run(addressed, decision.claim, revision)
      case 'take_over':
        return this.#resumeAbandoned(addressed, decision.claim, revision)
      case 'replay': {
        const { requestId, status, headers } = decision.record
        return { type: 'replay', requestId, outcome: { status, headers, body: kept?.body ?? bytes } }
      }
      case 'refuse':
        throw refusalOf(decision)
    }
  }

  async #claim(
    { requestId, digest, place, room }: AddressedRequest,
    work: KeyedOperation,
    revision: number,
  ): Promise<StartedKey | null> {
    if (room instanceof GatewayError) throw room
    const claimedMs = this.#parts.clock()
    const leaseUntilMs = claimedMs + this.#parts.outcomeLeaseMs
    const claim: ClaimedKey = {
      state: 'claimed',
      requestId,
      holder: requestId,
      digest,
      work,
      claimedMs,
      leaseUntilMs,
    }
    const claimed = await this.#put(place, claim, revision)
    return claimed === null ? null : this.#run({ place, room }, claim, claimed)
  }

  #run({ place, room }: Pick<AddressedRequest, 'place' | 'room'>, claim: ClaimedKey, revision: number): StartedKey {
    if (room instanceof GatewayError) throw room
    return { type: 'run', held: new KeyLease(this.#parts, { place, room }, claim, revision), work: claim.work }
  }

  /**
   * The claim is taken over before the state of the request is looked up: its previous holder, if it is merely slow,
   * delivers nothing from then on, so that a refunded answer was never received. A task keeps its id, under which it is
   * created once, also without room for its answer, which is as short as its claim.
   */
  async #resumeAbandoned(addressed: AddressedRequest, claim: ClaimedKey, revision: number): Promise<StartedKey | null> {
    const { room } = addressed
    if (!isOfRequest(claim))
      return this.#claim({ ...addressed, room: room instanceof GatewayError ? ofTheClaim : room }, claim.work, revision)
    const leaseUntilMs = this.#parts.clock() + this.#parts.outcomeLeaseMs
    const taken = await this.#put(addressed.place, { ...claim, holder: addressed.requestId, leaseUntilMs }, revision)
    if (taken === null) return null
    const isFree = await this.#settle(addressed, claim).catch(async (fault: unknown) => {
      await this.#put(addressed.place, { ...claim, holder: addressed.requestId, leaseUntilMs: 0 }, taken)
      throw fault
    })
    if (isFree && room instanceof GatewayError) {
      await this.#free(addressed.place, taken)
      throw room
    }
    if (isFree) return this.#claim(addressed, addressed.work, taken)
    const { requestId, digest } = claim
    await this.#put(addressed.place, { state: 'unkept', requestId, digest, why: 'stream' }, taken)
    throw notKept(requestId)
  }

  async #settle({ workspaceId }: AddressedRequest, claim: RequestClaim): Promise<boolean> {
    const { orphanedRequests } = this.#parts
    const { keyId, surface } = claim.work
    const abandoned = { requestId: claim.requestId, workspaceId, keyId, surface }
    const left = await orphanedRequests.end(abandoned)
    const decision = decideAbandoned(claim, left)
    if (decision === 'give_back' && left.chargedUsd !== null) await orphanedRequests.refund(abandoned, left)
    return decision !== 'stays_charged'
  }

  async #free(place: OutcomeAddress, revision: number): Promise<void> {
    const freed = await this.#parts.outcomes.put(place, noBytes, revision, sharedLimits.outcomeWriteMs)
    if ('revision' in freed) await this.#parts.outcomes.remove(freed.revision)
  }

  async #put(place: OutcomeAddress, record: KeyRecord, revision: number): Promise<number | null> {
    const put = await this.#parts.outcomes.put(place, encodeKeyRecord(record), revision, sharedLimits.outcomeWriteMs)
    if ('revision' in put) return put.revision
    if (put.refused === 'full') throw storeIsFull()
    return null
  }
}
