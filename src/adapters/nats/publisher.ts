import { JetStreamApiError } from '@nats-io/jetstream'
import {
  createInbox,
  type Msg,
  type NatsConnection,
  headers as newHeaders,
  PermissionViolationError,
  TimeoutError,
} from '@nats-io/transport-node'
import { TransientMap } from '../../runtime/transient-map.ts'
import { natsLimits } from './limits.ts'

interface Acknowledgement {
  readonly sequence: number
  readonly duplicate: boolean
}

interface Publication {
  readonly subject: string
  readonly bytes: Uint8Array
  /** The server stores it once within the stream's duplicate window; absent: as often as it is sent. */
  readonly messageId?: string
  /** The subject's last sequence that is required; absent: any. */
  readonly expectedSequence?: number | undefined
  readonly headers?: Readonly<Record<string, string>>
}

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

/** The library's own way creates an error, a promise and a timer for each message: more than the message costs. */
export class Publisher {
  readonly #connection: NatsConnection
  readonly #stream: string
  readonly #inbox: string
  /** Oldest first, since all have the same timeout. */
  readonly #pending = new TransientMap<string, PendingPublish>()
  #lastToken = 0
  #timer: NodeJS.Timeout | undefined
  #isSubscribed = false

  constructor(connection: NatsConnection, stream: string, inboxPrefix: string) {
    this.#connection = connection
    this.#stream = stream
    this.#inbox = createInbox(inboxPrefix)
    this.#subscribe()
    void this.#watchRefusals()
  }

  /**
   * Resolves once the message is stored. Rejects with JetStreamApiError where the server refuses it,
   * PermissionViolationError where this user may not publish it, and TimeoutError when no answer came within
   * `frameAckMs`: then it may be stored or not.
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

  /** The server ended the subscription, so no pending answer can come; the next publish subscribes again. */
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

  /** The server reports a violation only to the connection, not to the inbox. */
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

const parseAck = (msg: Msg): Acknowledgement => {
  if (msg.data.length === 0 && msg.headers?.code === noRespondersStatus) throw new NoSuchStream()
  const { seq, duplicate = false, error } = msg.json<AckPayload>()
  if (error !== undefined) throw new JetStreamApiError(error)
  return { sequence: seq, duplicate }
}
