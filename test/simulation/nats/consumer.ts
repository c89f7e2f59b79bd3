import type { VirtualTime } from '../virtual-time.ts'
import type { SimStream, StoredMessage } from './stream.ts'
import { matchesSubject } from './subjects.ts'

export interface ConsumerSettings {
  readonly durable_name?: string
  readonly filter_subject?: string
  readonly opt_start_seq?: number
  readonly ack_policy: 'none' | 'explicit'
  /** Nanoseconds. */
  readonly ack_wait?: number
  readonly max_ack_pending?: number
  readonly headers_only?: boolean
}

export interface Delivery {
  /** The inbox of the request. */
  readonly to: string
  readonly subject: string
  readonly reply: string
  readonly headers: string
  readonly data: Buffer
}

/** False where nobody listens at the inbox any more. */
export type Deliver = (delivery: Delivery) => boolean

interface Pull {
  readonly inbox: string
  readonly batch: number
  readonly maxBytes: number
  left: number
  bytes: number
  readonly cancel: () => void
}

interface Lease {
  deliveries: number
  untilMs: number
}

const nanosecondsInMs = 1_000_000
const none = Buffer.alloc(0)

const statusHeaders = (code: number, text: string, more = ''): string => `NATS/1.0 ${code} ${text}\r\n${more}\r\n`

/** A pull consumer: it hands out in order what was requested, and again what was not acknowledged. */
export class SimConsumer {
  readonly name: string
  readonly config: ConsumerSettings & Record<string, unknown>
  readonly #stream: SimStream
  readonly #time: VirtualTime
  readonly #deliver: Deliver
  readonly #pulls: Pull[] = []
  readonly #leases = new Map<number, Lease>()
  /** To be delivered again, by sequence; the number is that of the deliveries so far. */
  readonly #again = new Map<number, number>()
  #next: number
  #delivered = 0
  #isOver = false

  constructor(name: string, config: SimConsumer['config'], stream: SimStream, time: VirtualTime, deliver: Deliver) {
    this.name = name
    this.config = config
    this.#stream = stream
    this.#time = time
    this.#deliver = deliver
    this.#next = config.opt_start_seq ?? 1
  }

  get info(): object {
    return {
      type: 'io.nats.jetstream.api.v1.consumer_info_response',
      stream_name: this.#stream.config.name,
      name: this.name,
      created: this.#stream.created,
      config: this.config,
      delivered: { consumer_seq: this.#delivered, stream_seq: this.#next - 1 },
      ack_floor: { consumer_seq: 0, stream_seq: 0 },
      num_ack_pending: this.#leases.size,
      num_redelivered: 0,
      num_waiting: this.#pulls.length,
      num_pending: this.#countFrom(this.#next),
      ts: new Date(this.#time.wallMs()).toISOString(),
    }
  }

  request(inbox: string, text: string): void {
    const { batch = 1, expires = 0, idle_heartbeat = 0, max_bytes = 0 } = JSON.parse(text) as Record<string, number>
    const beatMs = idle_heartbeat / nanosecondsInMs
    const timers: NodeJS.Timeout[] = []
    if (expires > 0) timers.push(setTimeout(() => this.#expire(pull), expires / nanosecondsInMs))
    if (beatMs > 0) timers.push(setInterval(() => this.#send(pull, statusHeaders(100, 'Idle Heartbeat')), beatMs))
    const cancel = (): void => timers.forEach(clearTimeout)
    const pull: Pull = { inbox, batch, maxBytes: max_bytes, left: batch, bytes: 0, cancel }
    this.#pulls.push(pull)
    this.handOut()
  }

  /** What can be delivered now is. */
  handOut(): void {
    while (!this.#isOver && this.#pulls.length > 0) {
      const message = this.#findNext()
      if (message === undefined || !this.#give(message)) return
    }
  }

  acknowledge(sequence: number, word: string): void {
    const lease = this.#leases.get(sequence)
    if (lease === undefined) return
    if (word.startsWith('+WPI')) {
      this.#lease(sequence, lease.deliveries)
      return
    }
    this.#leases.delete(sequence)
    if (word.startsWith('-NAK')) this.#return(sequence, lease.deliveries, word)
    else if (this.#stream.config.retention === 'workqueue') this.#stream.remove(sequence)
    this.handOut()
  }

  /** A killed server may have lost who has what: it is handed out again, counted from less. */
  forgetLeases(): void {
    for (const [sequence, { deliveries }] of this.#leases) this.#again.set(sequence, deliveries - 1)
    this.#leases.clear()
  }

  endPulls(code: number, text: string): void {
    for (const pull of [...this.#pulls]) this.#end(pull, code, text)
  }

  /** The connections of all who had requested are gone. */
  dropPulls(): void {
    for (const { cancel } of this.#pulls.splice(0)) cancel()
  }

  /** On request; a consumer that the server forgets is closed without a message. */
  delete(): void {
    for (const pull of [...this.#pulls]) this.#send(pull, statusHeaders(409, 'Consumer Deleted'))
    this.close()
  }

  close(): void {
    this.#isOver = true
    this.dropPulls()
  }

  #wants({ subject }: StoredMessage): boolean {
    return this.config.filter_subject === undefined || matchesSubject(this.config.filter_subject, subject)
  }

  /** How many messages it has for later. */
  #countFrom(sequence: number): number {
    const { lastSequence, size } = this.#stream
    if (this.config.filter_subject === undefined && size === lastSequence)
      return Math.max(0, lastSequence - sequence + 1)
    let count = 0
    for (const message of this.#stream.all()) if (message.sequence >= sequence && this.#wants(message)) count += 1
    return count
  }

  #findNext(): StoredMessage | undefined {
    if (this.#leases.size >= (this.config.max_ack_pending || Number.POSITIVE_INFINITY)) return undefined
    for (const sequence of this.#again.keys()) {
      const message = this.#stream.at(sequence)
      if (message !== undefined) return message
      this.#again.delete(sequence)
    }
    while (this.#next <= this.#stream.lastSequence) {
      const message = this.#stream.at(this.#next)
      if (message !== undefined && this.#wants(message)) return message
      this.#next += 1
    }
    return undefined
  }

  /** False where the message stays, since no request has room for it. */
  #give(message: StoredMessage): boolean {
    const pull = this.#pulls[0]!
    const size = message.data.length + message.headers.length
    if (pull.maxBytes > 0 && pull.bytes + size > pull.maxBytes) {
      this.#end(pull, 409, 'Message Size Exceeds MaxBytes')
      return true
    }
    const deliveries = (this.#again.get(message.sequence) ?? 0) + 1
    if (!this.#deliver({ to: pull.inbox, ...this.#contentOf(message, deliveries) })) {
      this.#drop(pull)
      return true
    }
    this.#delivered += 1
    pull.left -= 1
    pull.bytes += size
    if (!this.#again.delete(message.sequence)) this.#next = message.sequence + 1
    if (this.config.ack_policy === 'explicit') this.#lease(message.sequence, deliveries)
    if (pull.left === 0 && pull.maxBytes > 0) this.#end(pull, 409, 'Batch Completed')
    else if (pull.left === 0) this.#drop(pull)
    return true
  }

  #contentOf({ sequence, subject, headers, data, storedMs }: StoredMessage, deliveries: number): Omit<Delivery, 'to'> {
    const pending = this.#countFrom(Math.max(this.#next, sequence + 1))
    const tokens = [this.#stream.config.name, this.name, deliveries, sequence, this.#delivered + 1]
    const reply = `$JS.ACK.${tokens.join('.')}.${Math.floor(storedMs)}000000.${pending}`
    if (!this.config.headers_only) return { subject, reply, headers, data }
    const size = `Nats-Msg-Size: ${data.length}\r\n\r\n`
    return { subject, reply, headers: `${headers === '' ? 'NATS/1.0\r\n' : headers.slice(0, -2)}${size}`, data: none }
  }

  #lease(sequence: number, deliveries: number): void {
    const waitMs = (this.config.ack_wait ?? 30_000 * nanosecondsInMs) / nanosecondsInMs
    const lease: Lease = { deliveries, untilMs: this.#time.nowMs + waitMs }
    this.#leases.set(sequence, lease)
    this.#time.schedule(waitMs, () => {
      if (this.#leases.get(sequence) !== lease) return
      this.#leases.delete(sequence)
      this.#again.set(sequence, deliveries)
      this.handOut()
    })
  }

  #return(sequence: number, deliveries: number, word: string): void {
    const { delay = 0 } = word.length > 5 ? (JSON.parse(word.slice(5)) as { readonly delay?: number }) : {}
    this.#time.schedule(delay / nanosecondsInMs, () => {
      this.#again.set(sequence, deliveries)
      this.handOut()
    })
  }

  #expire(pull: Pull): void {
    this.#end(pull, 408, 'Request Timeout')
  }

  #end(pull: Pull, code: number, text: string): void {
    const left = `Nats-Pending-Messages: ${pull.left}\r\nNats-Pending-Bytes: ${Math.max(0, pull.maxBytes - pull.bytes)}\r\n`
    this.#send(pull, statusHeaders(code, text, left))
    this.#drop(pull)
  }

  #send(pull: Pull, headers: string): void {
    if (!this.#deliver({ to: pull.inbox, subject: pull.inbox, reply: '', headers, data: none })) this.#drop(pull)
  }

  #drop(pull: Pull): void {
    pull.cancel()
    const at = this.#pulls.indexOf(pull)
    if (at >= 0) this.#pulls.splice(at, 1)
  }
}
