import { hash } from 'node:crypto'
import { JetStreamApiCodes, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { parseJson } from '../../../encoding/json.ts'
import { faultText, GatewayError } from '../../../errors/gateway-error.ts'
import type { RateRecord, RateRecords } from '../../../roles/rate-records.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { ThrottledWarning } from '../../../runtime/throttled-warning.ts'
import { buildInboxPrefix } from '../connect.ts'
import { ensureStream, isApiError } from '../ensure-stream.ts'
import { isSequenceConflict } from '../frame-store.ts'
import { Link } from '../link.ts'
import { assertMayPublish } from '../may-publish.ts'
import { NoSuchStream, Publisher } from '../publisher.ts'
import { buildRatesNames, type RecordNames, ratesStream } from '../streams.ts'

export interface RatesOptions {
  /** Closed by the caller, afterwards. */
  readonly connection: NatsConnection
  /** `log.name` of the configuration: the stream is `<name>_RATES`. */
  readonly name: string
  readonly role: string
  readonly replicas: number
  readonly logger: Logger
}

export interface OpenRates extends RateRecords {
  close(): void
}

interface Parts {
  readonly jsm: JetStreamManager
  readonly publisher: Publisher
  readonly names: RecordNames
  readonly replicas: number
  readonly link: Link
  readonly logger: Logger
}

const createUnavailable = (cause: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'The gateway cannot count requests right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

const isStreamMissing = (error: unknown): boolean =>
  error instanceof NoSuchStream || isApiError(error, JetStreamApiCodes.StreamNotFound)

class NatsRates implements OpenRates {
  readonly #parts: Parts
  readonly #warning: ThrottledWarning

  constructor(parts: Parts) {
    this.#parts = parts
    this.#warning = new ThrottledWarning(parts.logger)
  }

  find(name: string): Promise<RateRecord> {
    const { jsm, names } = this.#parts
    return this.#request(async () => {
      const found = await jsm.streams.getMessage(names.stream, { last_by_subj: this.#subjectOf(name) })
      if (found === null) return { sequence: 0, value: null }
      return { sequence: found.seq, value: parseJson(found.string()) ?? null } // One that is not ours is overwritten.
    })
  }

  put(name: string, value: object, expectedSequence: number): Promise<number | null> {
    const publication = {
      subject: this.#subjectOf(name),
      bytes: Buffer.from(JSON.stringify({ name, ...value })),
      expectedSequence,
    }
    return this.#request(async () => {
      try {
        return (await this.#parts.publisher.publish(publication)).sequence
      } catch (error) {
        if (isSequenceConflict(error)) return null
        throw error
      }
    })
  }

  close(): void {
    this.#parts.link.close()
  }

  /** Hashed, since ids and model names may contain characters that a subject must not. */
  #subjectOf(name: string): string {
    return `${this.#parts.names.prefix}${hash('sha256', name)}`
  }

  async #request<T>(work: () => Promise<T>): Promise<T> {
    try {
      const answer = await this.#runWithStream(work)
      this.#warning.clear('rates.store_available', {})
      return answer
    } catch (error) {
      if (!this.#parts.link.isClosed) this.#warning.raise('rates.store_unavailable', { reason: faultText(error) })
      throw createUnavailable(error)
    }
  }

  /** A memory stream is lost when its only server restarts, so it is created again. */
  async #runWithStream<T>(work: () => Promise<T>): Promise<T> {
    const { jsm, names, link, replicas } = this.#parts
    try {
      return await link.runWhileUp(work)
    } catch (error) {
      if (!isStreamMissing(error)) throw error
    }
    await link.runWhileUp(() => ensureStream(jsm, ratesStream(names), { replicas, create: true }))
    return link.runWhileUp(work)
  }
}

/** Creates the stream if absent. Throws when it exists with other settings, or may not be created. */
export const ensureRates = async ({ connection, name, replicas }: RatesOptions): Promise<JetStreamManager> => {
  const jsm = await jetstreamManager(connection, { timeout: sharedLimits.natsRequestMs, checkAPI: false })
  await ensureStream(jsm, ratesStream(buildRatesNames(name)), { replicas, create: true })
  return jsm
}

/** Throws like `ensureRates`, and when this role may not write records. */
export const openRates = async (options: RatesOptions): Promise<OpenRates> => {
  const { connection, name, role, replicas, logger } = options
  const jsm = await ensureRates(options)
  const names = buildRatesNames(name)
  await assertMayPublish(jetstream(connection), `${names.prefix}new`, 'no limited request can be counted')
  const refusals = new ThrottledWarning(logger)
  const link = new Link(connection, {
    onRefused: ({ message }) => refusals.raise('rates.permission_denied', { reason: message }),
  })
  const publisher = new Publisher(connection, names.stream, buildInboxPrefix(role))
  return new NatsRates({ jsm, publisher, names, replicas, link, logger })
}
