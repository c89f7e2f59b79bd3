import type { Msg, NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { waitAtMost, withTimeout } from '../../../runtime/within.ts'
import { natsLimits } from '../limits.ts'
import { Link } from '../link.ts'
import { CallLink } from './link.ts'
import { LinkTable } from './link-table.ts'
import { decodeMessage, encodeHeader, type Packet } from './message.ts'
import { type CallSubjects, isCallNumber, type Side } from './subjects.ts'

interface LinksParts {
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

const sendOut = async ({ connection, logger }: LinksParts): Promise<void> => {
  try {
    await withTimeout(connection.flush(), natsLimits.callsCloseMs, () => new Error('the server does not answer'))
  } catch (fault) {
    logger.log('dispatch.flush_failed', { fault })
  }
}

/** Must not throw: the NATS client would stop reading. */
export const createMessageCallback =
  (take: (msg: Msg) => void, onFault: (fault: unknown) => void) =>
  (error: Error | null, msg: Msg): void => {
    try {
      if (error !== null) throw error
      take(msg)
    } catch (fault) {
      onFault(fault)
    }
  }

/** Milliseconds that this process has run: its own pauses do not count as a peer's silence. */
class RunningTime {
  #elapsedMs = 0
  #tickedMs: number

  constructor(nowMs: number) {
    this.#tickedMs = nowMs
  }

  get elapsedMs(): number {
    return this.#elapsedMs
  }

  advance(nowMs: number): void {
    this.#elapsedMs += Math.min(Math.max(0, nowMs - this.#tickedMs), natsLimits.callsTickLateMs)
    this.#tickedMs = nowMs
  }
}

/** What links write within one turn of the event loop is sent at its end. */
class FlushQueue {
  readonly #connection: Link
  readonly #links = new Set<CallLink>()
  #immediate: NodeJS.Immediate | undefined

  constructor(connection: Link) {
    this.#connection = connection
  }

  add(link: CallLink): void {
    this.#links.add(link)
    if (this.#connection.isUp) this.#immediate ??= setImmediate(() => this.flush())
  }

  flush(): void {
    clearImmediate(this.#immediate)
    this.#immediate = undefined
    if (!this.#connection.isUp) return
    for (const link of this.#links) link.flush()
    this.#links.clear()
  }
}

/** All links of a process: one subscription, one timer, and one flush per turn of the event loop. */
export class Links {
  readonly time: RunningTime
  readonly connection: Link
  readonly table = new LinkTable({
    create: (peer, incarnation) => this.#createLink(peer, incarnation),
    sendReset: (peer, from, to) => this.#sendReset(peer, from, to),
  })
  readonly #parts: LinksParts
  readonly #flushes: FlushQueue
  readonly #stop: () => void
  #settled: PromiseWithResolvers<void> | null = null

  constructor(parts: LinksParts) {
    this.#parts = parts
    const { connection, subjects, side, id, clock, logger } = parts
    checkPayload(connection)
    const callback = createMessageCallback(
      (msg) => this.#take(msg),
      (fault) => logger.log('dispatch.receive_failed', { fault }),
    )
    const subscription = connection.subscribe(subjects.linkSubject(side, id, '*'), { callback })
    this.time = new RunningTime(clock())
    const timer = setInterval(() => this.#tick(), natsLimits.callsTickMs)
    this.#stop = () => {
      clearInterval(timer)
      subscription.unsubscribe()
    }
    this.connection = new Link(connection, {
      onReconnect: () => this.#onReconnect(),
      onClosed: () => {
        for (const link of this.table.all) this.#dropUnresponsive(link)
      },
    })
    this.#flushes = new FlushQueue(this.connection)
  }

  subjectOf(sender: string): string {
    const { subjects, side, id } = this.#parts
    return subjects.linkSubject(side, id, sender)
  }

  publish(subject: string, message: Uint8Array, reply: string): boolean {
    const { connection, logger } = this.#parts
    if (!this.connection.isUp || connection.isClosed()) return false
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
    this.#flushes.flush()
    for (const link of this.table.all) if (!link.isSettled) link.ping()
    this.#settled = Promise.withResolvers()
    this.#checkSettled()
    await waitAtMost(this.#settled.promise, withinMs)
  }

  /** Resets the links at the peers. The connection stays open. */
  async close(): Promise<void> {
    this.#flushes.flush()
    for (const link of this.table.all) this.table.end(link)
    this.#stop()
    const isUp = this.connection.isUp && !this.#parts.connection.isClosed()
    this.connection.close()
    if (isUp) await sendOut(this.#parts)
  }

  #createLink(peer: string, incarnation: number): CallLink {
    const { subjects, side, id, onUnknownCall } = this.#parts
    const subject = subjects.linkSubject(otherSide[side], peer, id)
    const reply = this.subjectOf(peer)
    return new CallLink({
      peer,
      incarnation,
      nowMs: () => this.time.elapsedMs,
      publish: (message) => this.publish(subject, message, reply),
      flushSoon: (link) => this.#flushes.add(link),
      onUnknownCall,
    })
  }

  #sendReset(peer: string, from: number, to: number): void {
    const { subjects, side, id } = this.#parts
    const message = encodeHeader({ type: 'reset', from, to, number: 0, received: 0 })
    this.publish(subjects.linkSubject(otherSide[side], peer, id), message, this.subjectOf(peer))
  }

  #take({ subject, data, headers }: Msg): void {
    const { subjects, side, onOpeningRefused } = this.#parts
    const sender = subjects.parse(side, subject)?.sender ?? ''
    const hasNoResponders = data.length === 0 && headers?.code === noRespondersStatus
    if (isCallNumber(sender)) onOpeningRefused?.(Number(sender), hasNoResponders ? null : data)
    else if (!hasNoResponders) this.#receive(sender, data)
    else {
      const link = this.table.find(sender)
      link?.liveness.noResponders()
      if (link?.liveness.isConnectionLost) this.#dropUnresponsive(link)
    }
    this.#checkSettled()
  }

  #receive(peer: string, bytes: Uint8Array): void {
    const message = decodeMessage(bytes)
    if (message === null) this.#parts.logger.log('dispatch.malformed_message', { peer, bytes: bytes.length })
    else if (message.type === 'reset') this.table.onReset(peer, message)
    else this.table.resolve(peer, message)?.receive(message, bytes.length)
  }

  #checkSettled(): void {
    if (this.#settled !== null && this.table.all.every((link) => link.isSettled)) this.#settled.resolve()
  }

  #dropUnresponsive(link: CallLink): void {
    this.#parts.logger.log('dispatch.peer_lost', { peer: link.peer, calls: link.calls.size })
    this.table.end(link)
  }

  #tick(): void {
    this.time.advance(this.#parts.clock())
    for (const link of this.table.all) {
      if (link.liveness.isConnectionLost) this.#dropUnresponsive(link)
      else link.tick()
    }
    this.#parts.onTick?.()
  }

  #onReconnect(): void {
    if (this.connection.isClosed) return
    // Messages in flight may be lost: the replies show which.
    for (const link of this.table.all) link.ping()
    this.#flushes.flush()
    this.#parts.onReconnect?.()
  }
}
