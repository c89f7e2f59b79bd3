import { natsLimits } from '../limits.ts'
import { Inbox } from './inbox.ts'
import { Liveness } from './liveness.ts'
import { encodeHeader, type LinkMessage, type MessageHeader, type MessageType, type Packet, stamp } from './message.ts'
import { Outbox, type SentMessage } from './outbox.ts'

export interface LinkedCall {
  receive(packet: Packet): void
  connectionLost(): void
}

export interface LinkParts {
  readonly peer: string
  /** Grows with every link of this process, so that a dropped link is distinguished from its successor. */
  readonly incarnation: number
  /** Excludes pauses of this process, which are not the peer's silence. */
  readonly nowMs: () => number
  readonly publish: (message: Buffer) => void
  readonly flushSoon: (link: CallLink) => void
  readonly onUnknownCall: (link: CallLink, packet: Packet) => void
}

/** One end, at an edge or a proxy. Packets arrive in order and without loss, whatever messages NATS loses. */
export class CallLink {
  readonly peer: string
  readonly incarnation: number
  /** 0 until the first message from the peer. */
  peerIncarnation = 0
  readonly calls = new Map<number, LinkedCall>()
  readonly #parts: LinkParts
  readonly #outbox = new Outbox()
  readonly #inbox = new Inbox()
  readonly #liveness: Liveness
  #lastResend = { received: -1, atMs: 0 }
  #isConnectionLost = false

  constructor(parts: LinkParts) {
    this.#parts = parts
    this.peer = parts.peer
    this.incarnation = parts.incarnation
    this.#liveness = new Liveness(parts.nowMs())
  }

  get isSettled(): boolean {
    return this.#outbox.isEmpty
  }

  get isDead(): boolean {
    return this.#liveness.isConnectionLost(this.#parts.nowMs())
  }

  write(packet: Packet): void {
    if (this.#isConnectionLost) return
    this.#outbox.add(packet)
    this.#parts.flushSoon(this)
  }

  flush(): void {
    if (!this.#outbox.hasUnacknowledged) this.#liveness.progress(this.#parts.nowMs())
    for (let next = this.#outbox.nextMessage(); next !== null; next = this.#outbox.nextMessage()) this.#send(next)
  }

  receive(message: LinkMessage, bytes: number): void {
    this.#liveness.messageReceived(this.#parts.nowMs())
    if (this.#outbox.acknowledge(message.received)) this.#progress()
    if (message.type === 'missing') this.#resendFrom(message.received)
    if (message.type === 'packets') this.#receivePackets(message, bytes)
    else if (message.type === 'ping') this.#sendControl(message.number > this.#inbox.received ? 'missing' : 'ack')
    else this.#noteGap(message.number)
  }

  noResponders(): void {
    this.#liveness.noResponders(this.#parts.nowMs())
  }

  tick(): void {
    if (this.#inbox.hasUnacked) this.#sendControl('ack')
    if (this.#liveness.isPingDue(this.#parts.nowMs(), this.calls.size > 0, !this.#outbox.isEmpty)) this.ping()
  }

  ping(): void {
    this.#liveness.ping(this.#parts.nowMs())
    this.#sendControl('ping')
  }

  connectionLost(): void {
    this.#isConnectionLost = true
    const calls = [...this.calls.values()]
    this.calls.clear()
    for (const call of calls) call.connectionLost()
  }

  #progress(): void {
    this.#liveness.progress(this.#parts.nowMs())
    if (!this.#outbox.isEmpty) this.#parts.flushSoon(this)
  }

  #receivePackets({ number, packets }: LinkMessage, bytes: number): void {
    if (!this.#inbox.accept(number, bytes)) {
      this.#noteGap(number)
      return
    }
    if (this.#inbox.isAckOverdue) this.#sendControl('ack')
    for (const packet of packets) this.#deliver(packet)
  }

  #noteGap(number: number): void {
    if (this.#inbox.discoverGap(number)) this.#sendControl('missing')
  }

  #deliver(packet: Packet): void {
    const call = this.calls.get(packet.call)
    if (call === undefined) this.#parts.onUnknownCall(this, packet)
    else call.receive(packet)
  }

  /** Resends all that the peer lacks, but not twice before it can have noticed. */
  #resendFrom(received: number): void {
    const nowMs = this.#parts.nowMs()
    const { received: before, atMs } = this.#lastResend
    if (before === received && nowMs - atMs < natsLimits.callsPingMs / 2) return
    this.#lastResend = { received, atMs: nowMs }
    for (const message of this.#outbox.unacknowledged) this.#send(message)
  }

  #sendControl(type: MessageType): void {
    this.#parts.publish(encodeHeader(this.#header(type, this.#outbox.lastNumber)))
  }

  #send({ number, bytes }: SentMessage): void {
    this.#parts.publish(stamp(bytes, this.#header('packets', number)))
  }

  #header(type: MessageType, number: number): MessageHeader {
    this.#inbox.markAcked()
    return { type, from: this.incarnation, to: this.peerIncarnation, number, received: this.#inbox.received }
  }
}
