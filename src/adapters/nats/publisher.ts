import { JetStreamApiError } from '@nats-io/jetstream'
import {
  createInbox,
  type Msg,
  type NatsConnection,
  headers as newHeaders,
  PermissionViolationError,
  TimeoutError,
} from '@nats-io/transport-node'
import { natsLimits } from './limits.ts'

/** How a message went into its stream. */
export interface Acknowledgement {
  readonly sequence: number
  /** The server had it before, and did not store it again. */
  readonly duplicate: boolean
}

export interface Publication {
  readonly subject: string
  readonly bytes: Uint8Array
  /** The server stores it once within the stream's duplicate window; absent: as often as it is sent. */
  readonly messageId?: string
  /** The subject's last sequence for the message to be stored; absent: whatever it is. */
  readonly expectedSequence?: number | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Nobody takes what is published. */
export class NoSuchStream extends Error {
  override readonly name = 'NoSuchStream'

  constructor() {
    super('no stream has the subject')
  }
}

interface PendingPublish {
  readonly subject: string
  readonly untilMs: number
  readonly resolve: (acknowledgement: Acknowledgement) => void
  readonly reject: (error: Error) => void
}

/** What the server says in an acknowledgement. */
interface AckPayload {
  readonly seq: number
  readonly duplicate?: boolean
  readonly error?: ConstructorParameters<typeof JetStreamApiError>[0]
}

const noRespondersStatus = 503

const buildHeaders = (stream: string, { messageId, expectedSequence, headers = {} }: Publication) => {
  const all = newHeaders()
  if (messageId !== undefined) all.set('Nats-Msg-Id', messageId)
  all.set('Nats-Expected-Stream', stream)
  if (expectedSequence !== undefined) all.set('Nats-Expected-Last-Subject-Sequence', String(expectedSequence))
  for (const [name, value] of Object.entries(headers)) all.set(name, value)
  return all
}

/**
 * Publishes into one stream, and hears all acknowledgements on one inbox. The library's own way makes an error object, a promise and a timer
 * for each message, which together cost more than the message does.
 */
export class Publisher {
  readonly #connection: NatsConnection
  readonly #stream: string
  readonly #inbox: string
  /** The longest waiting first: all wait equally long. */
  readonly #pending = new Map<string, PendingPublish>()
  #lastToken = 0
  #timer: NodeJS.Timeout | undefined
  #isSubscribed = false

  /** Acknowledgements come to an inbox below the prefix. */
  constructor(connection: NatsConnection, stream: string, inboxPrefix: string) {
    this.#connection = connection
    this.#stream = stream
    this.#inbox = createInbox(inboxPrefix)
    this.#subscribe()
    void this.#watchRefusals()
  }

  /**
   * Resolves once the message stands. Rejects with JetStreamApiError where the server refuses it, PermissionViolationError where this user
   * may not publish it, and TimeoutError when nothing was heard for `frameAckMs`: then it may stand or not.
   */
  publish(publication: Publication): Promise<Acknowledgement> {
    const { subject, bytes } = publication
    return new Promise((resolve, reject) => {
      this.#lastToken += 1
      const token = String(this.#lastToken)
      const headers = buildHeaders(this.#stream, publication)
      if (!this.#isSubscribed) this.#subscribe()
      this.#connection.publish(subject, bytes, { reply: `${this.#inbox}.${token}`, headers })
      this.#pending.set(token, { subject, untilMs: performance.now() + natsLimits.frameAckMs, resolve, reject })
      this.#timer ??= setTimeout(() => this.#expirePending(), natsLimits.frameAckMs).unref()
    })
  }

  #subscribe(): void {
    this.#isSubscribed = true
    const callback = (error: Error | null, msg: Msg): void =>
      error === null ? this.#onAck(msg) : this.#onSubscriptionClosed(error)
    this.#connection.subscribe(`${this.#inbox}.*`, { callback })
  }

  /** The server has ended the subscription, and with it every answer that was due; the next message subscribes again. */
  #onSubscriptionClosed(error: Error): void {
    this.#isSubscribed = false
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }

  #onAck(msg: Msg): void {
    const token = msg.subject.slice(this.#inbox.length + 1)
    const waiting = this.#pending.get(token)
    if (waiting === undefined) return
    this.#pending.delete(token)
    try {
      waiting.resolve(parseAck(msg))
    } catch (error) {
      waiting.reject(error as Error)
    }
  }

  #expirePending(): void {
    const nowMs = performance.now()
    this.#timer = undefined
    for (const [token, { untilMs, reject }] of this.#pending) {
      if (untilMs > nowMs) {
        this.#timer = setTimeout(() => this.#expirePending(), untilMs - nowMs).unref()
        return
      }
      this.#pending.delete(token)
      reject(new TimeoutError())
    }
  }

  /** Of what it does not let through the server only tells the connection. */
  async #watchRefusals(): Promise<void> {
    for await (const status of this.#connection.status()) {
      const error = status.type === 'error' ? status.error : null
      if (!(error instanceof PermissionViolationError) || error.operation !== 'publish') continue
      for (const [token, { subject, reject }] of this.#pending)
        if (subject === error.subject) {
          this.#pending.delete(token)
          reject(error)
        }
    }
  }
}

/** Throws what the server says instead of one. */
const parseAck = (msg: Msg): Acknowledgement => {
  if (msg.data.length === 0 && msg.headers?.code === noRespondersStatus) throw new NoSuchStream()
  const { seq, duplicate = false, error } = msg.json<AckPayload>()
  if (error !== undefined) throw new JetStreamApiError(error)
  return { sequence: seq, duplicate }
}
