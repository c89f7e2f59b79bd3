import { JetStreamApiError, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type {
  OutcomeAddress,
  OutcomeStore,
  PutOutcome,
  StoredOutcome,
} from '../../../roles/edge/admission/idempotency/outcome-store.ts'
import type { NewId } from '../../../runtime/clock.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { withTimeout } from '../../../runtime/within.ts'
import { buildInboxPrefix } from '../connect.ts'
import { checkDurability, checkServer, type Durability } from '../durability.ts'
import { ensureStream } from '../ensure-stream.ts'
import { isSequenceConflict } from '../frame-store.ts'
import { Link } from '../link.ts'
import { assertMayPublish } from '../may-publish.ts'
import { Publisher } from '../publisher.ts'
import { buildOutcomeNames, outcomesStream, type RecordNames } from '../streams.ts'

export interface OutcomesOptions {
  /** Closed by the caller, afterwards. Not the log's connection: large answers would delay its frames. */
  readonly connection: NatsConnection
  /** `log.name` of the configuration: the stream is `<name>_OUTCOMES`. */
  readonly name: string
  readonly role: string
  readonly replicas: number
  readonly durability: Durability
  readonly monitoringUrl?: string | undefined
  readonly create: boolean
  readonly newId: NewId
  readonly logger: Logger
}

export interface OpenOutcomes extends OutcomeStore {
  close(): Promise<void>
}

interface OutcomesParts {
  readonly names: RecordNames
  readonly publisher: Publisher
  readonly jsm: JetStreamManager
  readonly link: Link
  readonly newId: NewId
}

const nothing: StoredOutcome = { revision: 0, bytes: new Uint8Array() }

/** Matched by its text, since the error code covers other failures too. */
const noRoom = /maximum bytes exceeded/

const isFull = (error: unknown): boolean => error instanceof JetStreamApiError && noRoom.test(error.message)

const createUnavailable = (cause?: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'Idempotency keys cannot be stored right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

/** One message per key's subject; its sequence is the revision. */
class NatsOutcomes implements OpenOutcomes {
  readonly #parts: OutcomesParts

  constructor(parts: OutcomesParts) {
    this.#parts = parts
  }

  get isClosed(): boolean {
    return this.#parts.link.isClosed
  }

  async freeBytes(): Promise<number> {
    const { jsm, names } = this.#parts
    const { config, state } = await this.#retryUntilAnswered(sharedLimits.outcomeWriteMs, () =>
      jsm.streams.info(names.stream),
    )
    return config.max_bytes < 0 ? Number.POSITIVE_INFINITY : config.max_bytes - state.bytes
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
        if (isSequenceConflict(error)) return { refused: 'taken' }
        if (isFull(error)) return { refused: 'full' }
        throw error
      }
    })
  }

  async remove(revision: number): Promise<boolean> {
    const { jsm, names } = this.#parts
    try {
      return await jsm.streams.deleteMessage(names.stream, revision, false)
    } catch {
      return false
    }
  }

  async close(): Promise<void> {
    this.#parts.link.close()
  }

  #subjectOf({ workspaceId, keyDigest }: OutcomeAddress): string {
    return `${this.#parts.names.prefix}${workspaceId}.${keyDigest}`
  }

  #retryUntilAnswered<T>(withinMs: number, work: () => Promise<T>): Promise<T> {
    const answer = this.#parts.link.retry(work, { withinMs, unavailable: createUnavailable })
    return withTimeout(answer, withinMs, () => createUnavailable())
  }
}

/** With `create`, creates a missing stream. Throws, with every reason, when it does not keep what it acknowledges. */
export const ensureOutcomes = async (options: OutcomesOptions): Promise<JetStreamManager> => {
  const { connection, name } = options
  checkServer(connection)
  const jsm = await jetstreamManager(connection, { timeout: sharedLimits.natsRequestMs, checkAPI: false })
  const stream = await ensureStream(jsm, outcomesStream(buildOutcomeNames(name)), options)
  await checkDurability(connection, stream, { ...options, noun: 'the stream of outcomes' })
  return jsm
}

/** Throws like `ensureOutcomes`, and when the server's permissions do not let this role write. */
export const openOutcomes = async (options: OutcomesOptions): Promise<OpenOutcomes> => {
  const { connection, name, role, logger } = options
  const jsm = await ensureOutcomes(options)
  const names = buildOutcomeNames(name)
  await assertMayPublish(jetstream(connection), `${names.prefix}new.new`, 'no outcome can be stored')
  const link = new Link(connection, {
    onRefused: ({ message }) => logger.log('outcomes.permission_denied', { reason: message }),
  })
  const publisher = new Publisher(connection, names.stream, buildInboxPrefix(role))
  return new NatsOutcomes({ ...options, names, jsm, link, publisher })
}
