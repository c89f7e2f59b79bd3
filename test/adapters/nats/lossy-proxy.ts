import { once } from 'node:events'
import { createServer, connect as dial, type Server, type Socket } from 'node:net'

type Replies = 'pass' | 'hold' | 'drop'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly held: Buffer[]
  readonly heldRequests: Buffer[]
  /** As the client calls its connection; undefined until it has. */
  name: string | undefined
}

/** In what a client of NATS says first. */
const connectionName = /^CONNECT \{.*"name":"([^"]*)"/

/** A TCP proxy before a server, which can lose or hold what the server answers, hold what it is asked, and cut or refuse connections. */
export class LossyProxy {
  readonly #targetPort: number
  readonly #listener: Server
  readonly #pairs = new Set<Pair>()
  #replies: Replies = 'pass'
  /** Whose replies; everybody's where it is undefined. */
  #victim: string | undefined
  /** Whose requests are held. */
  #muted: string | undefined
  #isRefusing = false

  private constructor(targetPort: number) {
    this.#targetPort = targetPort
    this.#listener = createServer((client) => this.#accept(client))
  }

  static async create(targetPort: number): Promise<LossyProxy> {
    const proxy = new LossyProxy(targetPort)
    proxy.#listener.listen(0, '127.0.0.1')
    await once(proxy.#listener, 'listening')
    return proxy
  }

  get port(): number {
    const address = this.#listener.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen')
    return address.port
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  /** The server's bytes wait here until `passReplies`. `victim` names the connection that this befalls; without it, all. */
  holdReplies(victim?: string): void {
    this.#replies = 'hold'
    this.#victim = victim
  }

  /** The server's bytes are lost. What follows on these connections makes no sense any more: `cut` them before `passReplies`. */
  dropReplies(victim?: string): void {
    this.#replies = 'drop'
    this.#victim = victim
  }

  passReplies(): void {
    this.#replies = 'pass'
    for (const { client, held } of this.#pairs) for (const bytes of held.splice(0)) client.write(bytes)
  }

  /** What the clients of connections of this name say waits here until `passRequests`. */
  holdRequests(name: string): void {
    this.#muted = name
  }

  passRequests(): void {
    this.#muted = undefined
    for (const { server, heldRequests } of this.#pairs) for (const bytes of heldRequests.splice(0)) server.write(bytes)
  }

  /** The connections of now say and take nothing any more, and nobody is told; new ones are as good as ever. */
  freeze(): void {
    for (const { client, server } of this.#pairs) {
      client.pause()
      server.pause()
    }
  }

  /** Ends every connection on both sides. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy()
      server.destroy()
    }
    this.#pairs.clear()
  }

  /** New connections are closed at once, until `admit`. */
  refuse(): void {
    this.#isRefusing = true
  }

  admit(): void {
    this.#isRefusing = false
  }

  async close(): Promise<void> {
    this.cut()
    this.#listener.close()
    await once(this.#listener, 'close')
  }

  #accept(client: Socket): void {
    if (this.#isRefusing) {
      client.destroy()
      return
    }
    const server = dial(this.#targetPort, '127.0.0.1')
    const pair = { client, server, held: [], heldRequests: [], name: undefined }
    this.#pairs.add(pair)
    this.#relay(pair)
  }

  #relay(pair: Pair): void {
    const { client, server } = pair
    client.on('data', (bytes) => {
      pair.name ??= connectionName.exec(bytes.toString())?.[1]
      if (pair.name !== undefined && pair.name === this.#muted) pair.heldRequests.push(bytes)
      else server.write(bytes)
    })
    server.on('data', (bytes) => this.#reply(pair, bytes))
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.setNoDelay(true)
      // An error is followed by `close`, which ends the other side.
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#pairs.delete(pair)
        other.destroy()
      })
    }
  }

  #reply({ client, held, name }: Pair, bytes: Buffer): void {
    const replies = this.#victim === undefined || this.#victim === name ? this.#replies : 'pass'
    if (replies === 'pass') client.write(bytes)
    if (replies === 'hold') held.push(bytes)
  }
}
