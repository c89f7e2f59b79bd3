import type { JetStreamManager, LastForMsgRequest, SeqMsgRequest, StoredMsg } from '@nats-io/jetstream'
import { GatewayError } from '../../../errors/gateway-error.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import { isApiError } from '../ensure-stream.ts'
import { natsLimits } from '../limits.ts'
import type { Link } from '../link.ts'
import type { Publisher } from '../publisher.ts'
import type { QueueHealth } from './health.ts'

const subjectIsTaken = 10077

export interface QueueStoreParts {
  readonly publisher: Publisher
  readonly jsm: JetStreamManager
  readonly stream: string
  readonly link: Link
  readonly health: QueueHealth
}

interface QueueMessage {
  readonly subject: string
  readonly bytes: Uint8Array
  readonly messageId?: string
  readonly headers?: Readonly<Record<string, string>>
}

const createUnavailable = (cause: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'The work queue does not answer.', { cause, retryAfterSeconds: 1 })

export class QueueStore {
  readonly #parts: QueueStoreParts

  constructor(parts: QueueStoreParts) {
    this.#parts = parts
  }

  /** Resolves when this message, or an earlier one, is stored and synced. Rejects with `log_unavailable`. */
  async put(message: QueueMessage): Promise<void> {
    await this.#retryUntilAnswered(sharedLimits.routedAckMs, async () => {
      try {
        await this.#parts.publisher.publish(message)
      } catch (error) {
        if (!isApiError(error, subjectIsTaken)) throw error
      }
    })
  }

  /** A new leader may still apply what it has committed: it is asked more than once. Rejects with `log_unavailable`. */
  async find(query: SeqMsgRequest | LastForMsgRequest): Promise<StoredMsg | null> {
    const { jsm, link, stream } = this.#parts
    for (let attempt = 0; ; attempt += 1) {
      const found = await this.#retryUntilAnswered(natsLimits.natsOpenMs, () => jsm.streams.getMessage(stream, query))
      if (found !== null || attempt >= natsLimits.followShortLogAttemptsMax) return found
      await link.backOff(attempt)
    }
  }

  async remove(filter: string): Promise<void> {
    const { jsm, stream } = this.#parts
    await this.#retryUntilAnswered(natsLimits.natsOpenMs, () => jsm.streams.purge(stream, { filter }))
  }

  async subjects(filter: string): Promise<readonly string[]> {
    const { jsm, stream } = this.#parts
    const { state } = await this.#retryUntilAnswered(natsLimits.natsOpenMs, () =>
      jsm.streams.info(stream, { subjects_filter: filter }),
    )
    return Object.keys(state.subjects ?? {})
  }

  async #retryUntilAnswered<T>(withinMs: number, work: () => Promise<T>): Promise<T> {
    const { health, link } = this.#parts
    const onFailure = (error: unknown): void => health.reportFailure(error)
    const answer = await link.retry(work, { withinMs, unavailable: createUnavailable, onFailure })
    health.reportSuccess()
    return answer
  }
}
