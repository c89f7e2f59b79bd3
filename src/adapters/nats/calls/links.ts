import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { withTimeout } from '../../../runtime/within.ts'
import { natsLimits } from '../limits.ts'
import { CallLink } from './link.ts'
import { decodeMessage, encodeHeader, type LinkMessage, type Packet } from './message.ts'
import { type CallSubjects, isCallNumber, type Side } from './subjects.ts'

export interface LinksParts {
  readonly connection: NatsConnection
  readonly subjects: CallSubjects
  readonly side: Side
  readonly id: string
  readonly clock: Clock
  readonly logger: Logger
  readonly onUnknownCall: (link: CallLink, packet: Packet) => void
  /** `refusal` is a proxy's reply to an opening; null when the server reports that there is no proxy. */
  readonly onOpeningRefused?: (call: number, refusal: Uint8Array | null) => void
  readonly onTick?: () => void
  readonly onReconnect?: () => void
}

const noRespondersStatus = 503
const otherSide = { edge: 'proxy', proxy: 'edge' } as const

const checkPayload = ({ info }: NatsConnection): void => {
  if (info !== undefined && info.max_payload < natsLimits.callsMessageBytesMax)
    throw new Error(
      `nats-server takes ${info.max_payload} bytes a message; calls need ${natsLimits.callsMessageBytesMax}`,
    )
}

/** All links of a process: one subscription, one timer, and one flush per turn of the event loop. */
export class Links {
  readonly #parts: LinksParts
  readonly #links = new Map<string, CallLink>()
  readonly #unflushed = new Set<CallLink>()
  readonly #subscription: Subscription
  readonly #timer: NodeJS.Timeout
  readonly #onSettled = new Set<() => void>()
  #flush: NodeJS.Immediate | undefined
  #incarnations = 0
  #elapsedMs = 0
  #tickedMs: number
  #isUp = true
  #isClosed = false

  constructor(parts: LinksParts) {
    this.#parts = parts
    const { connection, subjects, side, id, clock } = parts
    checkPayload(connection)
    const callback = (error: Error | null, msg: Msg): void => this.#receive(error, msg)
    this.#subscription = connection.subscribe(subjects.linkSubject(side, id, '*'), { callback })
    this.#tickedMs = clock()
    this.#timer = setInterval(() => this.#tick(), natsLimits.callsTickMs)
    void this.#watch()
  }

  get isUp(): boolean {
    return this.#isUp && !this.#isClosed
  }

  /** Milliseconds this process has run: its own pauses do not count as a peer's silence. */
  get elapsedMs(): number {
    return this.#elapsedMs
  }

  ensureLink(peer: string): CallLink {
    return this.#links.get(peer) ?? this.#begin(peer, 0)
  }

  subjectOf(sender: string): string {
    const { subjects, side, id } = this.#parts
    return subjects.linkSubject(side, id, sender)
  }

  publish(subject: string, message: Uint8Array, reply: string): boolean {
    const { connection, logger } = this.#parts
    if (!this.#isUp || connection.isClosed()) return false
    try {
      connection.publish(subject, message, { reply })
      return true
    } catch (fault) {
      // The connection is draining, or now to a server with a smaller max_payload: treated as a lost message.
      logger.log('dispatch.publish_failed', { fault, subject })
      return false
    }
  }

  async settle(withinMs: number): Promise<void> {
    this.#flushNow()
    for (const link of this.#links.values()) if (!link.isSettled) link.ping()
    if (this.#isSettled()) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs)
      this.#onSettled.add(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** Resets the links at the peers. The connection stays open. */
  async close(): Promise<void> {
    this.#flushNow()
    this.#isClosed = true
    clearInterval(this.#timer)
    clearImmediate(this.#flush)
    for (const link of this.#all()) this.#end(link)
    this.#subscription.unsubscribe()
    if (this.#isUp && !this.#parts.connection.isClosed()) await this.#sendOut()
  }

  async #sendOut(): Promise<void> {
    const { connection, logger } = this.#parts
    try {
      await withTimeout(connection.flush(), natsLimits.callsCloseMs, () => new Error('the server does not answer'))
    } catch (fault) {
      logger.log('dispatch.flush_failed', { fault })
    }
  }

  #all(): readonly CallLink[] {
    return [...this.#links.values()]
  }

  #isSettled(): boolean {
    return this.#all().every((link) => link.isSettled)
  }

  #begin(peer: string, peerIncarnation: number): CallLink {
    const { subjects, side, id, onUnknownCall } = this.#parts
    const subject = subjects.linkSubject(otherSide[side], peer, id)
    const reply = this.subjectOf(peer)
    this.#incarnations += 1
    const link = new CallLink({
      peer,
      incarnation: this.#incarnations,
      nowMs: () => this.#elapsedMs,
      publish: (message) => this.publish(subject, message, reply),
      flushSoon: (each) => this.#flushSoon(each),
      onUnknownCall: onUnknownCall,
    })
    link.peerIncarnation = peerIncarnation
    this.#links.set(peer, link)
    return link
  }

  #flushSoon(link: CallLink): void {
    this.#unflushed.add(link)
    if (this.#isUp && !this.#isClosed) this.#flush ??= setImmediate(() => this.#flushNow())
  }

  #flushNow(): void {
    this.#flush = undefined
    if (!this.#isUp) return
    for (const link of this.#unflushed) link.flush()
    this.#unflushed.clear()
  }

  /** Must not throw: the NATS client would stop reading. */
  #receive(error: Error | null, msg: Msg): void {
    try {
      if (error !== null) throw error
      this.#take(msg)
    } catch (fault) {
      this.#parts.logger.log('dispatch.receive_failed', { fault })
    }
  }

  #take(msg: Msg): void {
    const { subjects, side, onOpeningRefused } = this.#parts
    const sender = subjects.parse(side, msg.subject)?.sender ?? ''
    const hasNoResponders = msg.data.length === 0 && msg.headers?.code === noRespondersStatus
    if (isCallNumber(sender)) onOpeningRefused?.(Number(sender), hasNoResponders ? null : msg.data)
    else if (hasNoResponders) this.#onNoResponders(sender)
    else this.#onMessage(sender, msg.data)
    if (this.#onSettled.size > 0 && this.#isSettled()) this.#notifySettled()
  }

  #notifySettled(): void {
    for (const resolve of this.#onSettled) resolve()
    this.#onSettled.clear()
  }

  #onNoResponders(peer: string): void {
    const link = this.#links.get(peer)
    link?.noResponders()
    if (link?.isDead) this.#dropUnresponsive(link)
  }

  #onMessage(peer: string, bytes: Uint8Array): void {
    const message = decodeMessage(bytes)
    if (message === null) this.#parts.logger.log('dispatch.malformed_message', { peer, bytes: bytes.length })
    else if (message.type === 'reset') this.#onReset(peer, message)
    else this.#resolveLink(peer, message)?.receive(message, bytes.length)
  }

  #onReset(peer: string, { from, to }: LinkMessage): void {
    const link = this.#links.get(peer)
    if (link?.incarnation === to || (from !== 0 && link?.peerIncarnation === from)) this.#drop(link)
  }

  /** Null when a message belongs to no link. A link dropped on one side is dropped on the other too. */
  #resolveLink(peer: string, { from, to }: LinkMessage): CallLink | null {
    const link = this.#links.get(peer)
    if (link === undefined) return to === 0 ? this.#begin(peer, from) : this.#reset(peer, 0, from)
    if (to !== 0 && to !== link.incarnation) return this.#reset(peer, 0, from)
    if (link.peerIncarnation === 0) link.peerIncarnation = from
    if (from === link.peerIncarnation) return link
    // A late message of a link that both sides have dropped.
    if (from < link.peerIncarnation) return null
    this.#drop(link)
    return to === 0 ? this.#begin(peer, from) : this.#reset(peer, 0, from)
  }

  /** Makes a peer drop a link, identified by our incarnation or by its own; 0 where unknown. */
  #reset(peer: string, from: number, to: number): null {
    const { subjects, side, id } = this.#parts
    const message = encodeHeader({ type: 'reset', from, to, number: 0, received: 0 })
    this.publish(subjects.linkSubject(otherSide[side], peer, id), message, this.subjectOf(peer))
    return null
  }

  #dropUnresponsive(link: CallLink): void {
    this.#parts.logger.log('dispatch.peer_lost', { peer: link.peer, calls: link.calls.size })
    this.#end(link)
  }

  #end(link: CallLink): void {
    this.#reset(link.peer, link.incarnation, link.peerIncarnation)
    this.#drop(link)
  }

  #drop(link: CallLink): void {
    this.#links.delete(link.peer)
    this.#unflushed.delete(link)
    link.connectionLost()
  }

  #tick(): void {
    const nowMs = this.#parts.clock()
    this.#elapsedMs += Math.min(Math.max(0, nowMs - this.#tickedMs), natsLimits.callsTickLateMs)
    this.#tickedMs = nowMs
    for (const link of this.#all()) {
      if (link.isDead) this.#dropUnresponsive(link)
      else link.tick()
    }
    this.#parts.onTick?.()
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#parts.connection.status()) {
      if (type === 'disconnect') this.#isUp = false
      if (type === 'reconnect') this.#resume()
    }
    for (const link of this.#all()) this.#dropUnresponsive(link)
  }

  #resume(): void {
    this.#isUp = true
    if (this.#isClosed) return
    // Messages in flight may be lost: the replies show which.
    for (const link of this.#all()) link.ping()
    this.#flushNow()
    this.#parts.onReconnect?.()
  }
}
