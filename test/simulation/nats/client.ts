import type { PlainSocket } from '../ends.ts'
import type { SimProcess } from '../process.ts'

/** A message as a client published it, or as one receives it. */
export interface NatsMessage {
  readonly subject: string
  readonly reply: string
  /** `NATS/1.0 …`, with the empty line; empty where there are none. */
  readonly headers: string
  readonly data: Buffer
}

export interface NatsSubscription {
  readonly client: NatsClient
  readonly sid: string
  readonly subject: string
  readonly queue: string | null
}

export interface NatsClientEvents {
  readonly publish: (client: NatsClient, message: NatsMessage) => void
  readonly subscribe: (subscription: NatsSubscription) => void
  readonly unsubscribe: (subscription: NatsSubscription) => void
  readonly closed: (client: NatsClient) => void
}

const lineEnd = '\r\n'
const lineFeed = 0x0a
const empty = Buffer.alloc(0)
const pong = Buffer.from(`PONG${lineEnd}`)

/** One connection at the server, in the text protocol of NATS. */
export class NatsClient {
  readonly #socket: PlainSocket
  readonly #events: NatsClientEvents
  readonly #subscriptions = new Map<string, NatsSubscription>()
  /** Left of a subscription that ends after so many more messages. */
  readonly #remaining = new Map<string, number>()
  #received: Buffer = empty
  /** What of it is read. */
  #at = 0
  #message: {
    readonly head: Omit<NatsMessage, 'headers' | 'data'>
    readonly headerBytes: number
    readonly bytes: number
  } | null = null

  constructor(socket: PlainSocket, info: object, events: NatsClientEvents) {
    this.#socket = socket
    this.#events = events
    socket.write(Buffer.from(`INFO ${JSON.stringify(info)}${lineEnd}`))
    socket.onData = (bytes) => this.#receive(bytes)
    socket.onEnd = () => socket.end()
    socket.onClose = () => this.#end()
  }

  /** The process at the other end. */
  get owner(): SimProcess | undefined {
    return this.#socket.peer?.owner
  }

  send({ sid, client }: NatsSubscription, { subject, reply, headers, data }: NatsMessage): void {
    const to = reply === '' ? '' : ` ${reply}`
    const sizes = headers === '' ? `${data.length}` : `${headers.length} ${headers.length + data.length}`
    const verb = headers === '' ? 'MSG' : 'HMSG'
    const head = `${verb} ${subject} ${sid}${to} ${sizes}${lineEnd}${headers}`
    const bytes = Buffer.allocUnsafe(head.length + data.length + lineEnd.length)
    bytes.write(head, 'latin1')
    bytes.set(data, head.length)
    bytes.write(lineEnd, head.length + data.length, 'latin1')
    client.#socket.write(bytes)
    const left = this.#remaining.get(sid)
    if (left === undefined) return
    if (left > 1) this.#remaining.set(sid, left - 1)
    else this.#unsubscribe(sid)
  }

  close(): void {
    this.#socket.destroy()
  }

  #end(): void {
    for (const sid of [...this.#subscriptions.keys()]) this.#unsubscribe(sid)
    this.#events.closed(this)
  }

  #receive(bytes: Buffer): void {
    const isRead = this.#at === this.#received.length
    this.#received = isRead ? bytes : Buffer.concat([this.#received.subarray(this.#at), bytes])
    this.#at = 0
    while (this.#message === null ? this.#readLine() : this.#readMessage());
  }

  #readLine(): boolean {
    const end = this.#received.indexOf(lineFeed, this.#at) - 1
    if (end < 0) return false
    const line = this.#received.toString('latin1', this.#at, end)
    this.#at = end + lineEnd.length
    this.#obey(line)
    return true
  }

  #obey(line: string): void {
    const [verb = '', ...words] = line.split(/ +/)
    switch (verb.toUpperCase()) {
      case 'PING':
        this.#socket.write(pong)
        break
      case 'PUB':
        this.#expect(words, 1)
        break
      case 'HPUB':
        this.#expect(words, 2)
        break
      case 'SUB':
        this.#subscribe(words)
        break
      case 'UNSUB':
        this.#endSubscription(words)
        break
      case 'CONNECT':
      case 'PONG':
        break
      default:
        throw new Error(`not of the protocol: ${line.slice(0, 80)}`)
    }
  }

  #expect(words: readonly string[], sizes: 1 | 2): void {
    const subject = words[0]!
    const reply = words.length > sizes + 1 ? words[1]! : ''
    this.#message = {
      head: { subject, reply },
      headerBytes: sizes === 2 ? Number(words.at(-2)) : 0,
      bytes: Number(words.at(-1)),
    }
  }

  #readMessage(): boolean {
    const { head, headerBytes, bytes } = this.#message!
    const [received, start] = [this.#received, this.#at]
    if (received.length - start < bytes + lineEnd.length) return false
    const headers = received.toString('latin1', start, start + headerBytes)
    const data = Buffer.from(received.subarray(start + headerBytes, start + bytes))
    this.#at = start + bytes + lineEnd.length
    this.#message = null
    this.#events.publish(this, { ...head, headers, data })
    return true
  }

  #subscribe(words: readonly string[]): void {
    const subscription = {
      client: this,
      subject: words[0]!,
      queue: words.length > 2 ? words[1]! : null,
      sid: words.at(-1)!,
    }
    this.#subscriptions.set(subscription.sid, subscription)
    this.#events.subscribe(subscription)
  }

  #endSubscription([sid = '', max]: readonly string[]): void {
    if (max === undefined) this.#unsubscribe(sid)
    else this.#remaining.set(sid, Number(max))
  }

  #unsubscribe(sid: string): void {
    const subscription = this.#subscriptions.get(sid)
    if (subscription === undefined) return
    this.#subscriptions.delete(sid)
    this.#remaining.delete(sid)
    this.#events.unsubscribe(subscription)
  }
}
