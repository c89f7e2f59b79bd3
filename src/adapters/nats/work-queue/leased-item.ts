import type { NatsConnection } from '@nats-io/transport-node'
import type { WorkItem } from '../../../roles/work-queue.ts'
import { nanosecondsInMs } from '../ensure-stream.ts'
import { natsLimits } from '../limits.ts'
import type { Link } from '../link.ts'
import type { ItemLocation, QueueContents } from './contents.ts'
import type { QueueHealth } from './health.ts'

export interface LeasedItemParts {
  readonly connection: NatsConnection
  readonly link: Link
  readonly contents: QueueContents
  readonly health: QueueHealth
  readonly onDone: (item: LeasedItem) => void
  readonly onReleased: (item: LeasedItem) => void
}

interface Delivered {
  readonly location: ItemLocation
  readonly deliveries: number
  readonly reply: string
}

const acknowledged = '+ACK'
const inProgress = '+WPI'

export const formatNak = (delayMs: number): string =>
  delayMs > 0 ? `-NAK ${JSON.stringify({ delay: Math.ceil(delayMs) * nanosecondsInMs })}` : '-NAK'

export class LeasedItem implements WorkItem {
  readonly id: string
  readonly #parts: LeasedItemParts
  #location: ItemLocation
  #reply: string
  #deliveries: number
  #mayBeShared: boolean
  #state: 'held' | 'ending' | 'over' = 'held'

  constructor(parts: LeasedItemParts, { location, deliveries, reply }: Delivered, mayBeShared: boolean) {
    this.#parts = parts
    this.#location = location
    this.id = location.id
    this.#deliveries = deliveries
    this.#mayBeShared = mayBeShared
    this.#reply = reply
  }

  get deliveries(): number {
    return this.#deliveries
  }

  get mayBeShared(): boolean {
    return this.#mayBeShared
  }

  bytes(): Promise<Uint8Array | null> {
    return this.#parts.contents.read(this.#location)
  }

  renew(): boolean {
    return this.#state === 'held' && this.#publishAck(inProgress)
  }

  async done(): Promise<void> {
    const { contents, link } = this.#parts
    if (this.#state === 'over') return
    this.#state = 'ending'
    this.#parts.onDone(this)
    for (let attempt = 0; !(await this.#acknowledge()); attempt += 1) await link.backOff(attempt)
    this.#end()
    await contents.remove(this.#location).catch(() => {}) // Logged by the queue's health; a sweep removes them.
  }

  again(delayMs: number): void {
    if (this.#state !== 'held') return
    this.#publishAck(formatNak(delayMs))
    this.#end()
  }

  /** A server that was killed may have lost the record of its delivery, and deliver it to another before this session has its next. */
  onSessionEnded(): void {
    this.#mayBeShared = true
  }

  /**
   * The lease had ended, or the server lost its record, and the same holder received the item again: no other has it
   * now, but one may have had it in between. A recreated consumer counts deliveries from one. Or it was withdrawn and put
   * again: where the first is done already, the second comes once more.
   */
  onRedelivered({ location, deliveries, reply }: Delivered): void {
    if (this.#state === 'ending' && location.sequence !== this.#location.sequence) return
    this.#location = location
    this.#reply = reply
    this.#deliveries = Math.max(deliveries, this.#deliveries + 1)
  }

  async #acknowledge(): Promise<boolean> {
    const { connection, health, link } = this.#parts
    try {
      await link.runWhileUp(() => connection.request(this.#reply, acknowledged, { timeout: natsLimits.frameAckMs }))
      health.reportSuccess()
      return true
    } catch (error) {
      if (!link.isClosed) health.reportFailure(error)
      return false
    }
  }

  /** False while the link is down. A lost acknowledgement does no harm: the lease ends by itself. */
  #publishAck(word: string): boolean {
    const { link, connection } = this.#parts
    if (link.isUp) connection.publish(this.#reply, word)
    return link.isUp
  }

  #end(): void {
    this.#state = 'over'
    this.#parts.onReleased(this)
  }
}
