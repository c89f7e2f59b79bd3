import { JsHeaders } from '@nats-io/jetstream'
import { createInbox, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node'
import { nanosecondsInMs } from '../ensure-stream.ts'
import { natsLimits } from '../limits.ts'

export interface ItemSessionParts {
  readonly connection: NatsConnection
  readonly stream: string
  readonly consumer: string
  readonly inboxPrefix: string
  readonly room: () => number
  readonly onItem: (message: Msg) => void
  readonly onEnd: (reason: string) => void
}

const heartbeatStatus = 100
const requestEndedStatus = 408

/**
 * Requests as many items from a durable consumer as there is room for. Any disturbance (a restart, a new leader, a
 * deleted consumer, silence) ends it, and its owner opens the next one. The library's own `consume` has no such bound:
 * it requests more as items arrive, not as they are done.
 */
export class ItemSession {
  readonly #parts: ItemSessionParts
  readonly #inbox: string
  #subscription: Subscription | undefined
  #outstanding = 0
  #stallTimer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(parts: ItemSessionParts) {
    this.#parts = parts
    this.#inbox = createInbox(parts.inboxPrefix)
  }

  start(): void {
    this.#subscription = this.#parts.connection.subscribe(this.#inbox, {
      callback: (error, msg) => this.#receive(error, msg),
    })
    this.#stallTimer = setTimeout(() => this.#checkStall(), natsLimits.queueStallMs)
    this.fill()
  }

  /** In few and large requests: the more is outstanding, the longer it waits for more room. */
  fill(): void {
    if (this.#isOver || this.#subscription === undefined || this.#parts.connection.isClosed()) return
    const room = this.#parts.room()
    if (room > this.#outstanding * 2) this.#request(room - this.#outstanding)
  }

  /** Requests nothing more. Resolves when items in flight have arrived, or cannot arrive. */
  async close(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#stallTimer)
    const { connection } = this.#parts
    if (this.#subscription === undefined || this.#subscription.isClosed() || connection.isClosed()) return
    await this.#subscription.drain()
  }

  #request(batch: number): void {
    this.#outstanding += batch
    const request = {
      batch,
      expires: natsLimits.queuePullMs * nanosecondsInMs,
      idle_heartbeat: natsLimits.queueHeartbeatMs * nanosecondsInMs,
    }
    const { connection, stream, consumer } = this.#parts
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`
    connection.publish(subject, JSON.stringify(request), { reply: this.#inbox })
  }

  #endSession(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#parts.onEnd(reason)
  }

  #checkStall(): void {
    // Without room nothing is requested, and then the server sends nothing.
    if (this.#outstanding > 0) this.#endSession(`silent for ${natsLimits.queueStallMs} ms`)
    else this.#stallTimer?.refresh()
  }

  #receive(error: Error | null, msg: Msg): void {
    this.#stallTimer?.refresh()
    if (error !== null) this.#endSession(error.message)
    else if (msg.subject === this.#inbox) this.#receiveStatus(msg)
    else this.#receiveItem(msg)
    this.fill()
  }

  #receiveItem(msg: Msg): void {
    this.#outstanding -= 1
    this.#parts.onItem(msg)
  }

  #receiveStatus(msg: Msg): void {
    const { code = 0, description = '' } = msg.headers ?? {}
    if (code === requestEndedStatus) this.#outstanding -= Number(msg.headers?.get(JsHeaders.PendingMessagesHdr) ?? 0)
    else if (code !== heartbeatStatus) this.#endSession(`${code} ${description}`)
  }
}
