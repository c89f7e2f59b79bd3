import { Duplex } from 'node:stream'
import type { Network } from './network.ts'
import { runIn, type SimProcess } from './process.ts'

/** Of bytes on their way in one direction; a writer waits for room. */
const flightBytesMax = 256 * 1024

type Done = (fault?: Error | null) => void

/** Of a connection. */
export interface End {
  readonly owner: SimProcess | undefined
  /** When what it sent last arrives. */
  arrivesMs: number
  peer: End | undefined
  readonly destroyed: boolean
  /** It has sent its end. */
  readonly writableFinished: boolean
  connected(): void
  receive(bytes: Buffer, landed: () => void): void
  receiveEnd(): void
  destroy(fault?: Error): void
}

export const reset = (code: string): Error => Object.assign(new Error(code), { code })

/** Bytes on their way from one end: they arrive in order, after a while, or never. */
class Flight {
  readonly #network: Network
  readonly #end: End
  readonly #onRoom: () => void
  #bytes = 0
  /** What arrives next of what was sent last. */
  #last: Buffer[] | null = null

  constructor(network: Network, end: End, onRoom: () => void) {
    this.#network = network
    this.#end = end
    this.#onRoom = onRoom
  }

  get isFull(): boolean {
    return this.#bytes >= flightBytesMax
  }

  /** Bytes that arrive at one instant arrive together. */
  send(bytes: Buffer): void {
    this.#bytes += bytes.length
    const arrivesMs = this.#network.arrivalMs(this.#end)
    if (this.#last !== null && arrivesMs === this.#end.arrivesMs) {
      this.#last.push(bytes)
      return
    }
    const flight = [bytes]
    this.#last = flight
    const arrive = (): void => {
      if (this.#last === flight) this.#last = null
      const all = flight.length === 1 ? bytes : Buffer.concat(flight)
      this.#end.peer?.receive(all, () => this.#landed(all.length))
    }
    this.#network.deliver(this.#end, arrive, arrivesMs)
  }

  #landed(bytes: number): void {
    this.#bytes -= bytes
    if (!this.isFull) this.#onRoom()
  }
}

/** What clients and the nats-server have: as a socket, without what only Node's own servers and clients ask of one. */
export class PlainSocket implements End {
  readonly owner: SimProcess | undefined
  arrivesMs = 0
  peer: End | undefined
  destroyed = false
  writableFinished = false
  onData: (bytes: Buffer) => void = () => {}
  onEnd: () => void = () => {}
  onClose: () => void = () => {}
  readonly #network: Network
  readonly #flight: Flight
  /** Until there is room for them. */
  #waiting: Buffer[] = []

  constructor(network: Network, owner: SimProcess | undefined) {
    this.#network = network
    this.owner = owner
    this.#flight = new Flight(network, this, () => this.#sendWaiting())
  }

  write(bytes: Buffer): void {
    if (this.destroyed || this.owner?.isDead) return
    if (this.#flight.isFull) this.#waiting.push(bytes)
    else this.#flight.send(bytes)
  }

  end(): void {
    this.writableFinished = true
    this.#network.deliver(this, () => this.peer?.receiveEnd())
  }

  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.#network.closed(this)
    this.onClose()
  }

  connected(): void {}

  receive(bytes: Buffer, landed: () => void): void {
    if (this.destroyed) return
    this.onData(bytes)
    landed()
  }

  receiveEnd(): void {
    if (this.destroyed) return
    this.onEnd()
    if (this.writableFinished) this.destroy()
  }

  #sendWaiting(): void {
    if (this.#waiting.length > 0) this.#flight.send(Buffer.concat(this.#waiting.splice(0)))
  }
}

/** As Node's own, for its servers and clients. */
export class SimSocket extends Duplex implements End {
  readonly owner: SimProcess | undefined
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 1
  readonly encrypted = false
  arrivesMs = 0
  peer: End | undefined
  readonly #network: Network
  readonly #flight: Flight
  #timer: NodeJS.Timeout | undefined
  #blocked: Done | undefined
  #unread: Done[] = []

  constructor(network: Network, owner: SimProcess | undefined) {
    super({ allowHalfOpen: true })
    this.#network = network
    this.owner = owner
    this.#flight = new Flight(network, this, () => this.#resume())
    this.on('error', () => {})
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: Done): void {
    this.#send(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length), done)
  }

  override _writev(chunks: readonly { readonly chunk: Uint8Array }[], done: Done): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done)
  }

  override _final(done: Done): void {
    this.#network.deliver(this, () => this.peer?.receiveEnd())
    done()
  }

  override _read(): void {
    for (const done of this.#unread.splice(0)) done()
  }

  override _destroy(fault: Error | null, done: Done): void {
    clearTimeout(this.#timer)
    this.#network.closed(this)
    done(fault)
  }

  setTimeout(ms: number, callback?: () => void): this {
    clearTimeout(this.#timer)
    if (callback !== undefined) this.once('timeout', callback)
    if (ms > 0) this.#timer = setTimeout(() => this.emit('timeout'), ms)
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  #send(bytes: Buffer, done: Done): void {
    if (this.owner?.isDead) return
    this.#timer?.refresh()
    if (!this.#network.reach(this, 'before')) return
    this.#flight.send(bytes)
    this.#network.reach(this, 'after')
    if (this.#flight.isFull) this.#blocked = done
    else done()
  }

  connected(): void {
    this.emit('connect')
  }

  receive(bytes: Buffer, landed: Done): void {
    this.#timer?.refresh()
    if (this.push(bytes)) landed()
    else this.#unread.push(landed)
  }

  receiveEnd(): void {
    this.push(null)
  }

  #resume(): void {
    const done = this.#blocked
    this.#blocked = undefined
    if (done !== undefined) runIn(this.owner, () => done())
  }
}
