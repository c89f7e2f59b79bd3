import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface Target {
  readonly port: number
  readonly isTls: boolean
}

/** A status; `closed` without one, `open` where the attack ended first. */
export type Ending = number | 'closed' | 'open'

export interface Asked {
  readonly method?: string
  readonly path: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
}

const headOf = ({ method = 'POST', path, key, headers = {} }: Asked, length: number): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: gateway',
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    ...(length === 0 ? [] : [`Content-Length: ${length}`]),
    ...Object.entries({ ...(length === 0 ? {} : { 'Content-Type': 'application/json' }), ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    '\r\n',
  ].join('\r\n')

export const requestBytes = (asked: Asked): Buffer => {
  const { body = '' } = asked
  return Buffer.concat([Buffer.from(headOf(asked, Buffer.byteLength(body))), Buffer.from(body)])
}

/** The head of a request whose body never ends. */
export const unendingHead = (asked: Asked, length: number): Buffer => Buffer.from(headOf(asked, length))

const open = ({ port, isTls }: Target): Socket =>
  isTls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1')

const statusLine = /^HTTP\/1\.1 (\d{3}) /
const contentLength = /\r\ncontent-length: (\d+)\r\n/i

/** Bytes of the whole response; infinite where its end is not announced. */
const lengthOf = (text: string, headEnd: number): number => {
  const [, length] = contentLength.exec(text.slice(0, headEnd + 2)) ?? []
  return length === undefined ? Number.POSITIVE_INFINITY : headEnd + 4 + Number(length)
}

/** One connection after another that this attacker has; requests are sent as bytes, since parsing would cost it its tries. */
export class Connection {
  readonly #target: Target
  #socket: Socket | null = null
  #received = ''
  #end: (ending: Ending) => void = () => undefined

  constructor(target: Target) {
    this.#target = target
  }

  /** Resolves with the status once the response has begun, and keeps the connection where it has ended by then. */
  exchange(bytes: Buffer): Promise<Ending> {
    return this.#await((socket) => socket.write(bytes))
  }

  /** Sends the first bytes, and then one more now and again, until the gateway answers or closes. */
  trickle(first: Buffer, everyMs: number): Promise<Ending> {
    return this.#await((socket) => {
      socket.write(first)
      const timer = setInterval(() => socket.write('a'), everyMs)
      socket.once('close', () => clearInterval(timer))
    })
  }

  /** Reads nothing of what it is sent, until the gateway closes. */
  neverRead(bytes: Buffer): Promise<Ending> {
    return this.#await((socket) => {
      socket.pause()
      socket.write(bytes)
    })
  }

  /** Reads all that it is sent, until the gateway closes. */
  readWhole(bytes: Buffer): Promise<Ending> {
    const socket = open(this.#target)
    this.#socket = socket
    let begin = ''
    return new Promise((resolve) => {
      this.#end = resolve
      socket.on('error', () => undefined)
      socket.on('data', (chunk) => {
        begin ||= chunk.toString('latin1', 0, 16)
      })
      socket.once('close', () => resolve(begin === '' ? 'closed' : Number(statusLine.exec(begin)?.[1])))
      socket.write(bytes)
    })
  }

  /** Closes as soon as the bytes are sent. */
  leave(bytes: Buffer): Promise<Ending> {
    return this.#await((socket) => socket.write(bytes, () => socket.destroy()))
  }

  /** Connects, and says nothing, until the gateway closes. */
  beginHandshake(): Promise<Ending> {
    this.#socket = this.#watch(connect(this.#target.port, '127.0.0.1'))
    return this.#await(() => undefined)
  }

  close(): void {
    this.#end('open')
    this.#drop()
  }

  #await(send: (socket: Socket) => void): Promise<Ending> {
    return new Promise((resolve) => {
      this.#received = ''
      this.#end = resolve
      send(this.#opened())
    })
  }

  #opened(): Socket {
    if (this.#socket !== null) return this.#socket
    this.#socket = this.#watch(open(this.#target))
    return this.#socket
  }

  #watch(socket: Socket): Socket {
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => this.#receive(chunk.toString('latin1')))
    socket.once('close', () => {
      if (this.#socket !== socket) return
      this.#socket = null
      this.#end('closed')
    })
    return socket
  }

  #receive(text: string): void {
    this.#received += text
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd === -1) return
    const whole = this.#received.length >= lengthOf(this.#received, headEnd)
    const closes = /\r\nconnection: close\r\n/i.test(this.#received)
    if (!whole || closes) this.#drop()
    this.#end(Number(statusLine.exec(this.#received)?.[1]))
  }

  #drop(): void {
    const socket = this.#socket
    this.#socket = null
    socket?.destroy()
  }
}

export const freshText = (): string => randomUUID()
