import type { JetStreamManager } from '@nats-io/jetstream'
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { faultText } from '../../../errors.ts'
import { limits } from '../../../limits.ts'
import { type Check, checked } from '../../../roles/health.ts'
import type { Logger } from '../../../roles/role.ts'
import type { Taker, WorkItem } from '../../../roles/work-queue.ts'
import { atMost } from '../../../within.ts'
import { deliveryOf } from '../delivery.ts'
import type { Link } from '../link.ts'
import { placeOf, type QueueContents } from './contents.ts'
import type { QueueHealth } from './health.ts'
import { HeldItem, type HeldItemParts, notDone } from './held-item.ts'
import { ItemSession } from './item-session.ts'
import { ensureConsumer, type WantedConsumer } from './stream.ts'

export interface TakingParts {
  readonly connection: NatsConnection
  readonly jsm: JetStreamManager
  readonly consumer: WantedConsumer
  /** Makes the consumer again when it is deleted. */
  readonly create: boolean
  readonly inboxPrefix: string
  readonly link: Link
  readonly contents: QueueContents
  readonly health: QueueHealth
  readonly logger: Logger
}

/** Hands out items of one queue to one taker, across restarts of the server. */
export class Taking implements Taker {
  readonly #parts: TakingParts
  readonly #itemParts: HeldItemParts
  readonly #itemsMax: number
  readonly #onItem: (item: WorkItem) => void
  readonly #held = new Map<string, HeldItem>()
  /**
   * Done, but the server has not said so. They take no room: a server that was killed may have forgotten that it handed them out, and
   * hears of none until it has done so again.
   */
  readonly #ending = new Map<string, HeldItem>()
  readonly #sweepTimer: NodeJS.Timeout
  #session: ItemSession | undefined
  /** Sessions that could not be started since the last that could. */
  #attempt = 0
  #isOver = false
  #isAsking = false
  #wakeSession: (reason: string) => void = () => {}

  constructor(parts: TakingParts, itemsMax: number, onItem: (item: WorkItem) => void) {
    this.#parts = parts
    this.#itemParts = { ...parts, onEnding: (item) => this.#end(item), onOver: ({ id }) => this.#letGo(id) }
    this.#itemsMax = itemsMax
    this.#onItem = onItem
    this.#sweepTimer = setInterval(() => void this.#sweep(), limits.queueSweepMs)
    void this.#run()
    void this.#sweep()
  }

  get check(): Check {
    return checked(this.#isAsking, 'the work queue hands out nothing')
  }

  async stop(): Promise<void> {
    this.#isOver = true
    clearInterval(this.#sweepTimer)
    this.#wakeSession('stopped')
    // What the server cannot be told now, the end of the leases tells it.
    await atMost(this.#giveBack(), limits.natsRequestMs)
  }

  async #giveBack(): Promise<void> {
    const { connection, link } = this.#parts
    for (const item of this.#held.values()) item.again(0)
    await this.#session?.close().catch(() => {}) // The connection went: nothing comes any more.
    if (link.isUp) await connection.flush().catch(() => {}) // As above.
  }

  async #run(): Promise<void> {
    const { link, logger, consumer } = this.#parts
    while (!this.#isOver && !link.isClosed) {
      const reason = await this.#runSession()
      if (this.#isOver || link.isClosed) return
      if (this.#attempt === 0)
        logger.info({ stream: consumer.stream, queue: consumer.queue.consumer, reason }, 'work is asked for afresh')
      await link.backOff(Math.min(this.#attempt, limits.followDoublingsMax)).catch(() => {}) // Closed: the loop ends.
      this.#attempt += 1
    }
  }

  /** Ends with the reason why another session is needed. */
  async #runSession(): Promise<string> {
    const { jsm, link, consumer, create, health } = this.#parts
    const lost = Promise.withResolvers<string>()
    this.#wakeSession = lost.resolve
    const session = this.#newSession(lost.resolve)
    try {
      await link.whileUp(() => ensureConsumer(jsm, consumer, create))
      if (this.#isOver) return 'stopped'
      health.works()
      this.#attempt = 0
      this.#session = session
      for (const item of this.#held.values()) item.renew() // Before others are offered what ran out meanwhile.
      session.start()
      this.#isAsking = true
      return await link.whileUp(() => lost.promise)
    } catch (error) {
      if (!link.isClosed) health.fails(error)
      return faultText(error)
    } finally {
      this.#isAsking = false
      if (!this.#isOver) void session.close().catch(() => {}) // The connection went, and the subscription with it.
    }
  }

  #newSession(onLost: (reason: string) => void): ItemSession {
    const { connection, consumer, inboxPrefix } = this.#parts
    return new ItemSession({
      connection,
      stream: consumer.stream,
      consumer: consumer.queue.consumer,
      inboxPrefix,
      room: () => (this.#isOver ? 0 : this.#itemsMax - this.#held.size),
      onItem: (message) => this.#receive(message),
      onLost,
    })
  }

  #receive(message: Msg): void {
    const id = message.subject.slice(this.#parts.consumer.queue.itemPrefix.length)
    const held = this.#held.get(id) ?? this.#ending.get(id)
    const reply = message.reply ?? ''
    if (held !== undefined) held.handedOutAgain(reply, deliveryOf(reply).deliveries)
    else if (this.#isOver || this.#held.size >= this.#itemsMax) this.#parts.connection.publish(reply, notDone(0))
    else this.#hold(id, reply, message.headers)
  }

  #hold(id: string, reply: string, headers: MsgHdrs | undefined): void {
    const { deliveries, streamSequence, storedMs } = deliveryOf(reply)
    const place = placeOf(id, streamSequence, headers)
    const item = new HeldItem(this.#itemParts, { place, deliveries, putMs: storedMs, reply })
    this.#held.set(id, item)
    this.#onItem(item)
  }

  #end(item: HeldItem): void {
    this.#held.delete(item.id)
    this.#ending.set(item.id, item)
    this.#session?.fill()
  }

  #letGo(id: string): void {
    this.#held.delete(id)
    this.#ending.delete(id)
    this.#session?.fill()
  }

  async #sweep(): Promise<void> {
    const { contents, link, logger, consumer } = this.#parts
    try {
      await contents.sweep()
    } catch (error) {
      // The next one finds what this one left.
      if (!link.isClosed)
        logger.warn({ stream: consumer.stream, fault: error }, 'pieces without an item are not removed')
    }
  }
}
