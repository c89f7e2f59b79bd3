import { syncBuiltinESMExports } from 'node:module'
import net, { type Server } from 'node:net'
import { Duplex } from 'node:stream'
import { currentProcess, runIn, type SimProcess } from './process.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Of bytes on their way in one direction; a writer waits for room. */
const flightBytesMax = 256 * 1024

interface Listener {
  readonly process: SimProcess | undefined
  /** The listener's end of a connection, once it is joined with the client's. */
  readonly open: (owner: SimProcess | undefined) => End
  readonly accept: (end: End) => void
}

type Done = (fault?: Error | null) => void

/** Of a connection. */
interface End {
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

const reset = (code: string): Error => Object.assign(new Error(code), { code })

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
class SimSocket extends Duplex implements End {
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

/** All connections: between processes, to the simulated servers, and from clients. */
export class Network {
  readonly #time: VirtualTime
  readonly #latencyMs: () => number
  readonly #listeners = new Map<number, Listener>()
  readonly #ends = new Set<End>()
  /** Until when nothing arrives from or at a process. */
  readonly #stalledMs = new Map<SimProcess, number>()
  /** From which other process it is cut off, and until when. */
  readonly #isolated = new Map<SimProcess, { readonly from: SimProcess; readonly untilMs: number }>()
  readonly #servers = new Set<Server>()
  /** Ends of connections that a listener accepted, until they are closed: also those of the dead. */
  readonly #accepted = new Set<SimSocket>()
  #port = 40_000
  /** Before and after a process writes to a client; false where it dies there. */
  #onWrite: (process: SimProcess, place: 'before' | 'after') => boolean = () => true

  constructor(time: VirtualTime, latencyMs: () => number) {
    this.#time = time
    this.#latencyMs = latencyMs
  }

  onWrite(listener: (process: SimProcess, place: 'before' | 'after') => boolean): void {
    this.#onWrite = listener
  }

  reach({ owner, peer }: End, place: 'before' | 'after'): boolean {
    return owner === undefined || peer?.owner !== undefined || this.#onWrite(owner, place)
  }

  listen(port: number, accept: (socket: PlainSocket) => void): void {
    const open = (owner: SimProcess | undefined): PlainSocket => new PlainSocket(this, owner)
    this.#listeners.set(port, { process: currentProcess(), open, accept: (end) => accept(end as PlainSocket) })
  }

  close(port: number): void {
    this.#listeners.delete(port)
  }

  isListening(port: number): boolean {
    const listener = this.#listeners.get(port)
    return listener !== undefined && listener.process?.isDead !== true
  }

  connect(port: number): PlainSocket {
    return this.#connect(port, new PlainSocket(this, currentProcess()))
  }

  /** When what this end sends now arrives: not before anything that it sent earlier. */
  arrivalMs({ owner, peer, arrivesMs }: End): number {
    const stalled = Math.max(
      this.#stalledUntil(owner),
      this.#stalledUntil(peer?.owner),
      this.#isolatedUntil(owner, peer?.owner),
      this.#isolatedUntil(peer?.owner, owner),
    )
    return Math.max(arrivesMs, stalled, this.#time.nowMs + this.#latencyMs())
  }

  deliver(from: End, arrive: () => void, atMs = this.arrivalMs(from)): void {
    if (from.owner?.isDead) return
    from.arrivesMs = atMs
    this.#time.scheduleFor(from.peer?.owner, atMs - this.#time.nowMs, arrive)
  }

  /** Nothing gets through from or to the process for so long; its connections stay. */
  stall(process: SimProcess, ms: number): void {
    this.#stalledMs.set(process, this.#time.nowMs + ms)
  }

  /** As `stall`, between two processes. */
  isolate(process: SimProcess, from: SimProcess, ms: number): void {
    this.#isolated.set(process, { from, untilMs: this.#time.nowMs + ms })
  }

  /** Ends every connection of a process at its peers, as the kernel of a killed process does. */
  dropAll(process: SimProcess): void {
    for (const end of [...this.#ends]) if (end.owner === process) this.#dropEnd(end)
  }

  closed(end: End): void {
    if (!this.#ends.delete(end)) return
    const { peer } = end
    if (peer === undefined) return
    this.deliver(end, () => {
      if (!peer.destroyed) peer.destroy(end.writableFinished ? undefined : reset('ECONNRESET'))
    })
  }

  /** `net` of the program's own listeners and connections leads here until the returned function is called. */
  install(): () => void {
    const { createConnection } = net
    const { listen } = net.Server.prototype
    const network = this
    const connect = (port: number, _host: string, onConnect: () => void): SimSocket =>
      network.#connect(port, new SimSocket(network, currentProcess())).once('connect', onConnect)
    Object.assign(net, { createConnection: connect })
    Object.assign(net.Server.prototype, {
      listen(this: Server, { port }: { readonly port: number }, onListening: () => void): Server {
        network.#listenAs(this, port)
        process.nextTick(onListening)
        return this
      },
    })
    syncBuiltinESMExports()
    return () => {
      Object.assign(net, { createConnection })
      Object.assign(net.Server.prototype, { listen })
      syncBuiltinESMExports()
    }
  }

  /** Servers have timers and parsers of Node's own, which would keep all of this world in memory. */
  end(): void {
    for (const socket of this.#accepted) socket.destroy()
    for (const server of this.#servers) server.close()
  }

  #stalledUntil(process: SimProcess | undefined): number {
    return process === undefined ? 0 : (this.#stalledMs.get(process) ?? 0)
  }

  #isolatedUntil(process: SimProcess | undefined, peer: SimProcess | undefined): number {
    const isolation = process === undefined ? undefined : this.#isolated.get(process)
    return isolation !== undefined && isolation.from === peer ? isolation.untilMs : 0
  }

  #connect<Socket extends End>(port: number, client: Socket): Socket {
    this.#ends.add(client)
    this.deliver(client, () => this.#accept(port, client))
    return client
  }

  #accept(port: number, client: End): void {
    const listener = this.#listeners.get(port)
    if (client.destroyed) return
    if (listener === undefined || listener.process?.isDead) {
      client.destroy(reset('ECONNREFUSED'))
      return
    }
    runIn(listener.process, () => {
      const served = listener.open(listener.process)
      this.#ends.add(served)
      served.peer = client
      client.peer = served
      served.arrivesMs = this.#time.nowMs
      this.deliver(served, () => client.connected())
      listener.accept(served)
    })
  }

  #dropEnd(end: End): void {
    this.#ends.delete(end)
    const { peer } = end
    if (peer === undefined || peer.destroyed) return
    const atMs = Math.max(end.arrivesMs, this.#time.nowMs + this.#latencyMs())
    this.#time.scheduleFor(peer.owner, atMs - this.#time.nowMs, () => peer.destroy(reset('ECONNRESET')))
  }

  /** Node's server believes that it has a handle; its connections are counted as its own would be. */
  #listenAs(server: Server, wanted: number): void {
    this.#servers.add(server)
    const internals = server as unknown as {
      _handle: object | null
      _connections: number
      _emitCloseIfDrained: () => void
    }
    const port = wanted === 0 ? ++this.#port : wanted
    const open = (owner: SimProcess | undefined): SimSocket => {
      const socket = new SimSocket(this, owner)
      this.#accepted.add(socket)
      socket.once('close', () => this.#accepted.delete(socket))
      return socket
    }
    const accept = (end: End): void => {
      const socket = end as SimSocket
      internals._connections += 1
      socket.once('close', () => {
        internals._connections -= 1
        internals._emitCloseIfDrained()
      })
      server.emit('connection', socket)
    }
    this.#listeners.set(port, { process: currentProcess(), open, accept })
    internals._handle = {
      close: () => this.close(port),
      getsockname: (address: Record<string, unknown>) => {
        Object.assign(address, { address: '127.0.0.1', family: 'IPv4', port })
        return 0
      },
      ref: () => {},
      unref: () => {},
    }
  }
}
