import { syncBuiltinESMExports } from 'node:module'
import net, { type Server } from 'node:net'
import { type End, PlainSocket, reset, SimSocket } from './ends.ts'
import { currentProcess, runIn, type SimProcess } from './process.ts'
import type { VirtualTime } from './virtual-time.ts'

interface Listener {
  readonly process: SimProcess | undefined
  /** The listener's end of a connection, once it is joined with the client's. */
  readonly open: (owner: SimProcess | undefined) => End
  readonly accept: (end: End) => void
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

  /** When what this end sends now arrives: not before anything that it sent earlier. A process reads what came in a millisecond at once. */
  arrivalMs({ owner, peer, arrivesMs }: End): number {
    const stalled = Math.max(
      this.#stalledUntil(owner),
      this.#stalledUntil(peer?.owner),
      this.#isolatedUntil(owner, peer?.owner),
      this.#isolatedUntil(peer?.owner, owner),
    )
    return Math.max(arrivesMs, stalled, Math.ceil(this.#time.nowMs + this.#latencyMs()))
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
