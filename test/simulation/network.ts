import { syncBuiltinESMExports } from 'node:module'
import net, { type Server } from 'node:net'
import { Duplex } from 'node:stream'
import { currentProcess, runIn, type SimProcess } from './process.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Of bytes on their way in one direction; a writer waits for room. */
const flightBytesMax = 256 * 1024

type Accept = (socket: SimSocket) => void

interface Listener {
  readonly process: SimProcess | undefined
  readonly accept: Accept
}

type Done = (fault?: Error | null) => void

const reset = (code: string): Error => Object.assign(new Error(code), { code })

/** One end of a connection: bytes arrive in order, after a while, or never. */
export class SimSocket extends Duplex {
  readonly owner: SimProcess | undefined
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 1
  readonly encrypted = false
  /** Of what this end sends. */
  arrivesMs = 0
  flightBytes = 0
  peer: SimSocket | undefined
  /** What arrives next of what was sent last. */
  #flight: Buffer[] | null = null
  readonly #network: Network
  #timer: NodeJS.Timeout | undefined
  #blocked: Done | undefined
  #unread: Done[] = []

  constructor(network: Network, owner: SimProcess | undefined) {
    super({ allowHalfOpen: true })
    this.#network = network
    this.owner = owner
    this.on('error', () => {})
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: Done): void {
    this.#send(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length), done)
  }

  override _writev(chunks: readonly { readonly chunk: Uint8Array }[], done: Done): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done)
  }

  override _final(done: Done): void {
    this.#network.deliver(this, () => this.peer?.push(null))
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
    this.flightBytes += bytes.length
    this.#fly(bytes)
    this.#network.reach(this, 'after')
    if (this.flightBytes < flightBytesMax) done()
    else this.#blocked = done
  }

  /** Bytes that arrive at one instant arrive together. */
  #fly(bytes: Buffer): void {
    const arrivesMs = this.#network.arrivalMs(this)
    if (this.#flight !== null && arrivesMs === this.arrivesMs) {
      this.#flight.push(bytes)
      return
    }
    const flight = [bytes]
    this.#flight = flight
    const arrive = (): void => {
      if (this.#flight === flight) this.#flight = null
      const all = flight.length === 1 ? bytes : Buffer.concat(flight)
      this.peer?.receive(all, () => this.#landed(all.length))
    }
    this.#network.deliver(this, arrive, arrivesMs)
  }

  receive(bytes: Buffer, landed: Done): void {
    this.#timer?.refresh()
    if (this.push(bytes)) landed()
    else this.#unread.push(landed)
  }

  #landed(bytes: number): void {
    this.flightBytes -= bytes
    if (this.flightBytes >= flightBytesMax) return
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
  readonly #sockets = new Set<SimSocket>()
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

  reach({ owner, peer }: SimSocket, place: 'before' | 'after'): boolean {
    return owner === undefined || peer?.owner !== undefined || this.#onWrite(owner, place)
  }

  listen(port: number, accept: Accept): number {
    const taken = port === 0 ? ++this.#port : port
    this.#listeners.set(taken, { process: currentProcess(), accept })
    return taken
  }

  close(port: number): void {
    this.#listeners.delete(port)
  }

  isListening(port: number): boolean {
    const listener = this.#listeners.get(port)
    return listener !== undefined && listener.process?.isDead !== true
  }

  connect(port: number): SimSocket {
    const socket = new SimSocket(this, currentProcess())
    this.#sockets.add(socket)
    this.deliver(socket, () => this.#accept(port, socket))
    return socket
  }

  /** When what this end sends now arrives: not before anything that it sent earlier. */
  arrivalMs({ owner, peer, arrivesMs }: SimSocket): number {
    const stalled = Math.max(
      this.#stalledUntil(owner),
      this.#stalledUntil(peer?.owner),
      this.#isolatedUntil(owner, peer?.owner),
      this.#isolatedUntil(peer?.owner, owner),
    )
    return Math.max(arrivesMs, stalled, this.#time.nowMs + this.#latencyMs())
  }

  deliver(from: SimSocket, arrive: () => void, atMs = this.arrivalMs(from)): void {
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
    for (const socket of [...this.#sockets]) if (socket.owner === process) this.#dropEnd(socket)
  }

  closed(socket: SimSocket): void {
    if (!this.#sockets.delete(socket)) return
    const { peer } = socket
    if (peer === undefined) return
    this.deliver(socket, () => {
      if (!peer.destroyed) peer.destroy(socket.writableFinished ? undefined : reset('ECONNRESET'))
    })
  }

  /** `net` of the program's own listeners and connections leads here until the returned function is called. */
  install(): () => void {
    const { createConnection } = net
    const { listen } = net.Server.prototype
    const network = this
    const connect = (port: number, _host: string, onConnect: () => void): SimSocket =>
      network.connect(port).once('connect', onConnect)
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

  #accept(port: number, client: SimSocket): void {
    const listener = this.#listeners.get(port)
    if (client.destroyed) return
    if (listener === undefined || listener.process?.isDead) {
      client.destroy(reset('ECONNREFUSED'))
      return
    }
    runIn(listener.process, () => {
      const served = new SimSocket(this, listener.process)
      this.#sockets.add(served)
      this.#accepted.add(served)
      served.once('close', () => this.#accepted.delete(served))
      served.peer = client
      client.peer = served
      served.arrivesMs = this.#time.nowMs
      this.deliver(served, () => client.emit('connect'))
      listener.accept(served)
    })
  }

  #dropEnd(socket: SimSocket): void {
    this.#sockets.delete(socket)
    const { peer } = socket
    if (peer === undefined || peer.destroyed) return
    const atMs = Math.max(socket.arrivesMs, this.#time.nowMs + this.#latencyMs())
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
    const port = this.listen(wanted, (socket) => {
      internals._connections += 1
      socket.once('close', () => {
        internals._connections -= 1
        internals._emitCloseIfDrained()
      })
      server.emit('connection', socket)
    })
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
