import { TransientMap } from '../../../runtime/transient-map.ts'
import { Inbox } from './inbox.ts'
import { Liveness } from './liveness.ts'
import { headerBytes, type LinkMessage, type MessageType, type Packet, stamp } from './message.ts'
import { Outbox } from './outbox.ts'

export interface LinkedCall {
  receive(packet: Packet): void
  connectionLost(): void
}

interface LinkParts {
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
  readonly calls = new TransientMap<number, LinkedCall>()
  readonly liveness: Liveness
  readonly #parts: LinkParts
  readonly #outbox = new Outbox()
  readonly #inbox = new Inbox()
  #isConnectionLost = false

  constructor(parts: LinkParts) {
    this.#parts = parts
    this.peer = parts.peer
    this.incarnation = parts.incarnation
    this.liveness = new Liveness(parts.nowMs)
  }

  get isSettled(): boolean {
    return this.#outbox.isEmpty
  }

  write(packet: Packet): void {
    if (this.#isConnectionLost) return
    this.#outbox.add(packet)
    this.#parts.flushSoon(this)
  }

  flush(): void {
    if (this.#isConnectionLost) return
    if (this.#outbox.unacknowledged.length === 0) this.liveness.progress()
    for (let next = this.#outbox.nextMessage(); next !== null; next = this.#outbox.nextMessage())
      this.#publish('packets', next.number, next.bytes)
  }

  receive(message: LinkMessage, bytes: number): void {
    this.liveness.messageReceived()
    if (this.#outbox.acknowledge(message.received)) {
      this.liveness.progress()
      if (!this.#outbox.isEmpty) this.#parts.flushSoon(this)
    }
    if (message.type === 'missing')
      for (const sent of this.#outbox.unacknowledged) this.#publish('packets', sent.number, sent.bytes)
    this.#inbox.notePeerNumber(message.number)
    if (message.type === 'packets') this.#receivePackets(message, bytes)
    if (message.type === 'ping' && this.#inbox.isComplete) this.#publish('ack')
    else if (message.type === 'ping') this.#requestMissing()
    else if (this.#inbox.isRequestDue(this.#parts.nowMs())) this.#requestMissing()
  }

  tick(): void {
    if (this.#inbox.isRequestDue(this.#parts.nowMs())) this.#requestMissing()
    else if (this.#inbox.hasUnacked) this.#publish('ack')
    if (this.liveness.isPingDue(this.calls.size > 0, !this.#outbox.isEmpty)) this.ping()
  }

  ping(): void {
    this.liveness.ping()
    this.#publish('ping')
  }

  connectionLost(): void {
    this.#isConnectionLost = true
    const calls = [...this.calls.values()]
    this.calls.clear()
    for (const call of calls) call.connectionLost()
  }

  #receivePackets({ number, packets }: LinkMessage, bytes: number): void {
    if (!this.#inbox.accept(number, bytes, this.#parts.nowMs())) return
    if (this.#inbox.isAckOverdue) this.#publish('ack')
    for (const packet of packets) {
      const call = this.calls.get(packet.call)
      if (call === undefined) this.#parts.onUnknownCall(this, packet)
      else call.receive(packet)
    }
  }

  #requestMissing(): void {
    this.#inbox.markRequested(this.#parts.nowMs())
    this.#publish('missing')
  }

  #publish(type: MessageType, number = this.#outbox.lastNumber, bytes: Buffer = Buffer.allocUnsafe(headerBytes)): void {
    this.#inbox.markAcked()
    const { received } = this.#inbox
    this.#parts.publish(stamp(bytes, { type, from: this.incarnation, to: this.peerIncarnation, number, received }))
  }
}
