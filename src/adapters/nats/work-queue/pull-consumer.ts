import type { JetStreamManager } from '@nats-io/jetstream'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import type { QueueConsumer, WorkItem } from '../../../roles/work-queue.ts'
import { type Check, checkOf } from '../../../runtime/health.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { waitAtMost } from '../../../runtime/within.ts'
import { natsLimits } from '../limits.ts'
import type { Link } from '../link.ts'
import { PullSession, parseDelivery } from '../pull-session.ts'
import { type Session, SessionLoop } from '../session-loop.ts'
import { type ConsumerSpec, ensureConsumer } from './consumer.ts'
import { parseItemLocation, type QueueContents } from './contents.ts'
import type { QueueHealth } from './health.ts'
import { formatNak, LeasedItem, type LeasedItemParts } from './leased-item.ts'

export interface PullConsumerParts {
  readonly connection: NatsConnection
  readonly jsm: JetStreamManager
  readonly consumer: ConsumerSpec
  readonly create: boolean
  readonly inboxPrefix: string
  readonly link: Link
  readonly contents: QueueContents
  readonly health: QueueHealth
  readonly logger: Logger
}

const pace = {
  expiresMs: natsLimits.queuePullMs,
  heartbeatMs: natsLimits.queueHeartbeatMs,
  stallMs: natsLimits.queueStallMs,
}

export class PullConsumer implements QueueConsumer {
  readonly #parts: PullConsumerParts
  readonly #itemParts: LeasedItemParts
  readonly #itemsMax: number
  readonly #onItem: (item: WorkItem) => void
  readonly #leased = new Map<string, LeasedItem>()
  /**
   * Done, but not confirmed by the server. They take no room: a server that was killed may have lost the record of
   * their delivery, and accepts no acknowledgement before it has delivered them again.
   */
  readonly #completing = new Map<string, LeasedItem>()
  readonly #sweepTimer: NodeJS.Timeout
  readonly #loop: SessionLoop
  #session: PullSession | undefined
  #isPulling = false

  constructor(parts: PullConsumerParts, itemsMax: number, onItem: (item: WorkItem) => void) {
    this.#parts = parts
    this.#itemParts = {
      ...parts,
      onDone: (item) => this.#markCompleting(item),
      onReleased: ({ id }) => this.#release(id),
    }
    this.#itemsMax = itemsMax
    this.#onItem = onItem
    const { link, logger, consumer, health } = parts
    this.#loop = new SessionLoop({
      link,
      open: (onEnd) => this.#open(onEnd),
      onRestart: (reason) =>
        logger.log('queue.consumer_restarted', { stream: consumer.stream, queue: consumer.queue.consumer, reason }),
      onFault: (error) => {
        if (!link.isClosed) health.reportFailure(error)
      },
    })
    this.#sweepTimer = setInterval(() => void this.#sweep(), natsLimits.queueSweepMs)
    void this.#loop.run()
    void this.#sweep()
  }

  get check(): Check {
    return checkOf(this.#isPulling, 'the work queue hands out nothing')
  }

  async stop(): Promise<void> {
    clearInterval(this.#sweepTimer)
    this.#loop.stop()
    // Items that cannot be returned now are redelivered when their leases end.
    await waitAtMost(this.#nakAll(), sharedLimits.natsRequestMs)
  }

  async #nakAll(): Promise<void> {
    const { connection, link } = this.#parts
    for (const item of this.#leased.values()) item.again(0)
    await this.#session?.drain().catch(() => {}) // The connection is gone: nothing more arrives.
    if (link.isUp) await connection.flush().catch(() => {})
  }

  #open(onEnd: (reason: string) => void): Session {
    const { jsm, connection, consumer, create, health, inboxPrefix } = this.#parts
    let startedMs = Number.POSITIVE_INFINITY
    const session = new PullSession({
      pace,
      connection,
      stream: consumer.stream,
      consumer: consumer.queue.consumer,
      inboxPrefix,
      room: () => (this.#loop.isOver ? 0 : this.#itemsMax - this.#leased.size),
      onMessage: (message) => this.#receive(message, startedMs),
      onEnd,
    })
    return {
      prepare: async () => {
        startedMs = await ensureConsumer(jsm, consumer, create)
      },
      start: () => {
        health.reportSuccess()
        this.#session = session
        for (const item of this.#leased.values()) item.renew() // Before expired ones are delivered to others.
        session.start()
        this.#isPulling = true
      },
      close: () => {
        this.#isPulling = false
        for (const item of this.#leased.values()) item.onSessionEnded()
        // Where it fails the connection is gone, and the subscription with it.
        if (!this.#loop.isOver) void session.drain().catch(() => {})
      },
    }
  }

  #receive(message: Msg, sessionStartedMs: number): void {
    const id = message.subject.slice(this.#parts.consumer.queue.itemPrefix.length)
    const held = this.#leased.get(id) ?? this.#completing.get(id)
    const { reply = '', headers } = message
    const { deliveries, streamSequence, storedMs } = parseDelivery(reply)
    const delivered = { location: parseItemLocation(id, streamSequence, headers), deliveries, reply }
    if (held !== undefined) held.onRedelivered(delivered)
    else if (this.#loop.isOver || this.#leased.size >= this.#itemsMax)
      this.#parts.connection.publish(reply, formatNak(0))
    else this.#lease(new LeasedItem(this.#itemParts, delivered, storedMs <= sessionStartedMs || !this.#isPulling))
  }

  #lease(item: LeasedItem): void {
    this.#leased.set(item.id, item)
    this.#onItem(item)
  }

  #markCompleting(item: LeasedItem): void {
    this.#leased.delete(item.id)
    this.#completing.set(item.id, item)
    this.#session?.fill()
  }

  #release(id: string): void {
    this.#leased.delete(id)
    this.#completing.delete(id)
    this.#session?.fill()
  }

  async #sweep(): Promise<void> {
    const { contents, link, logger, consumer } = this.#parts
    try {
      await contents.sweep()
    } catch (error) {
      if (!link.isClosed) logger.log('queue.sweep_failed', { stream: consumer.stream, fault: error })
    }
  }
}
