import { JetStreamApiCodes, JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type {
  OutcomeAddress,
  OutcomeStore,
  PutOutcome,
  StoredOutcome,
} from '../../../roles/edge/admission/idempotency/outcome-store.ts'
import type { NewId } from '../../../runtime/clock.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import { withTimeout } from '../../../runtime/within.ts'
import { findPermissionViolation } from '../connect.ts'
import { isApiError } from '../ensure-stream.ts'
import type { Link } from '../link.ts'
import type { Publisher } from '../publisher.ts'
import type { RecordNames } from '../streams.ts'

export interface OutcomesParts {
  readonly names: RecordNames
  readonly publisher: Publisher
  readonly jsm: JetStreamManager
  readonly link: Link
  readonly newId: NewId
}

const nothing: StoredOutcome = { revision: 0, bytes: new Uint8Array() }

/** Matched by its text, since the error code covers other failures too. */
const noRoom = /maximum bytes exceeded/

const isTaken = (error: unknown): boolean =>
  isApiError(error, JetStreamApiCodes.StreamWrongLastSequence) ||
  isApiError(error, JetStreamApiCodes.StreamWrongLastSequenceUnknown)

const isFull = (error: unknown): boolean => error instanceof JetStreamApiError && noRoom.test(error.message)

const createUnavailable = (cause?: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'Idempotency keys cannot be stored right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

/** One message per key's subject; its sequence is the revision. */
export class NatsOutcomes implements OutcomeStore {
  readonly #parts: OutcomesParts

  constructor(parts: OutcomesParts) {
    this.#parts = parts
  }

  get isClosed(): boolean {
    return this.#parts.link.isClosed
  }

  async find(place: OutcomeAddress): Promise<StoredOutcome> {
    const { jsm, names } = this.#parts
    const query = { last_by_subj: this.#subjectOf(place) }
    const found = await this.#retryUntilAnswered(sharedLimits.outcomeWriteMs, () =>
      jsm.streams.getMessage(names.stream, query),
    )
    return found === null ? nothing : { revision: found.seq, bytes: found.data }
  }

  put(place: OutcomeAddress, bytes: Uint8Array, revision: number, withinMs: number): Promise<PutOutcome> {
    const { publisher, newId } = this.#parts
    const messageId = newId()
    const publication = { subject: this.#subjectOf(place), bytes, messageId, expectedSequence: revision }
    return this.#retryUntilAnswered(withinMs, async () => {
      try {
        const { sequence } = await publisher.publish(publication)
        return { revision: sequence }
      } catch (error) {
        if (isTaken(error)) return { refused: 'taken' }
        if (isFull(error)) return { refused: 'full' }
        throw error
      }
    })
  }

  async close(): Promise<void> {
    this.#parts.link.close()
  }

  #subjectOf({ workspaceId, keyDigest }: OutcomeAddress): string {
    return `${this.#parts.names.prefix}${workspaceId}.${keyDigest}`
  }

  #retryUntilAnswered<T>(withinMs: number, work: () => Promise<T>): Promise<T> {
    const giveUpMs = performance.now() + withinMs
    return withTimeout(this.#tryUntil(giveUpMs, work), withinMs, () => createUnavailable())
  }

  async #tryUntil<T>(giveUpMs: number, work: () => Promise<T>): Promise<T> {
    const { link } = this.#parts
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await link.runWhileUp(work)
      } catch (error) {
        if (findPermissionViolation(error) !== null) throw error
        if (link.isClosed || performance.now() >= giveUpMs) throw createUnavailable(error)
      }
      await link.backOff(attempt)
    }
  }
}
