import { JsHeaders } from '@nats-io/jetstream'
import { createInbox, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node'
import { nanosecondsInMs } from './ensure-stream.ts'

interface PullSessionParts {
  readonly connection: NatsConnection
  readonly stream: string
  readonly consumer: string
  readonly inboxPrefix: string
  /** After `expiresMs` the server ends a request; after `stallMs` without message or heartbeat the session ends. */
  readonly pace: { readonly expiresMs: number; readonly heartbeatMs: number; readonly stallMs: number }
  /** Of one request; absent: not bounded. */
  readonly bytesMax?: number
  readonly room: () => number
  readonly onMessage: (message: Msg) => void
  readonly onEnd: (reason: string) => void
}

interface Delivery {
  readonly deliveries: number
  readonly streamSequence: number
  readonly deliverySequence: number
  /** In milliseconds since the epoch. */
  readonly storedMs: number
  /** Messages still to come, as far as the consumer's server has them. */
  readonly pending: number
}

const nanosecondsDigits = 6

/** `$JS.ACK.[domain.account.]stream.consumer.delivered.streamSequence.deliverySequence.time.pending[.…]` */
export const parseDelivery = (reply: string): Delivery => {
  const tokens = reply.split('.')
  const at = tokens.length === 9 ? 5 : 7
  return {
    deliveries: Number(tokens[at - 1]),
    streamSequence: Number(tokens[at]),
    deliverySequence: Number(tokens[at + 1]),
    storedMs: Number(tokens[at + 2]?.slice(0, -nanosecondsDigits)),
    pending: Number(tokens[at + 3]),
  }
}

const heartbeatStatus = 100
const requestEndedStatus = 408
const conflictStatus = 409
/** How a request bounded in bytes ends: the next message would exceed them, or the batch is complete. */
const requestIsDone = /exceeds maxbytes|batch completed/i

/** Any disturbance ends it. The library's `consume` has no bound: it requests as messages arrive, not as they end. */
export class PullSession {
  readonly #parts: PullSessionParts
  readonly #inbox: string
  #subscription: Subscription | undefined
  #outstanding = 0
  #stallTimer: NodeJS.Timeout | undefined
  #received = 0
  #isOver = false

  constructor(parts: PullSessionParts) {
    this.#parts = parts
    this.#inbox = createInbox(parts.inboxPrefix)
  }

  /** Whether the server has been asked for messages that have not come. */
  get isWaiting(): boolean {
    return this.#outstanding > 0
  }

  start(): void {
    this.#subscription = this.#parts.connection.subscribe(this.#inbox, {
      callback: (error, msg) => this.#receive(error, msg),
    })
    this.#stallTimer = setTimeout(() => this.#checkStall(), this.#parts.pace.stallMs)
    this.fill()
  }

  /** In few and large requests: the more is outstanding, the longer it waits for more room. */
  fill(): void {
    if (this.#isOver || this.#subscription === undefined || this.#parts.connection.isClosed()) return
    const room = this.#parts.room()
    if (room > this.#outstanding * 2) this.#request(room - this.#outstanding)
  }

  close(): void {
    this.#isOver = true
    clearTimeout(this.#stallTimer)
    this.#subscription?.unsubscribe()
  }

  /** Requests nothing more. Resolves when messages in flight have arrived, or cannot arrive. */
  async drain(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#stallTimer)
    const { connection } = this.#parts
    if (this.#subscription === undefined || this.#subscription.isClosed() || connection.isClosed()) return
    await this.#subscription.drain()
  }

  #request(batch: number): void {
    this.#outstanding += batch
    const { connection, stream, consumer, pace, bytesMax } = this.#parts
    const request = {
      batch,
      expires: pace.expiresMs * nanosecondsInMs,
      idle_heartbeat: pace.heartbeatMs * nanosecondsInMs,
      ...(bytesMax === undefined ? {} : { max_bytes: bytesMax }),
    }
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`
    connection.publish(subject, JSON.stringify(request), { reply: this.#inbox })
  }

  #endSession(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#parts.onEnd(reason)
  }

  /** The timer fires late, and before the socket is read, where the event loop was blocked. */
  #checkStall(): void {
    const before = this.#received
    setImmediate(() => {
      if (this.#isOver || this.#received !== before) return
      // Without room nothing is requested, and then the server sends nothing.
      if (this.#outstanding > 0) this.#endSession(`silent for ${this.#parts.pace.stallMs} ms`)
      else this.#stallTimer?.refresh()
    })
  }

  #receive(error: Error | null, msg: Msg): void {
    this.#received += 1
    this.#stallTimer?.refresh()
    if (error !== null) this.#endSession(error.message)
    else if (msg.subject === this.#inbox) this.#receiveStatus(msg)
    else {
      this.#outstanding -= 1
      this.#parts.onMessage(msg)
    }
    this.fill()
  }

  #receiveStatus(msg: Msg): void {
    const { code = 0, description = '' } = msg.headers ?? {}
    if (code === requestEndedStatus || (code === conflictStatus && requestIsDone.test(description)))
      this.#outstanding -= Number(msg.headers?.get(JsHeaders.PendingMessagesHdr) ?? 0)
    else if (code !== heartbeatStatus) this.#endSession(`${code} ${description}`)
  }
}
