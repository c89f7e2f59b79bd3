import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withFreshPorts } from '../../../src/embedded/free-ports.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import { pickServerPorts } from '../../support/ports.ts'
import { NatsProcess } from './server.ts'

const configFile = fileURLToPath(new URL('../../../deploy/nats/nats-server.conf', import.meta.url))
const nodeCount = 3

export const users = [
  'edge',
  'proxy',
  'video-poller',
  'projector',
  'scheduler',
  'gateway',
  'operator',
  'backup',
  'restore',
] as const
export type User = (typeof users)[number]

const variableOf = (user: User): string => `GATEWAY_${user.toUpperCase().replace('-', '_')}_PASSWORD`

const passwordOf = (user: User | 'route'): string => `secret-of-${user}`

interface Ports {
  readonly client: number
  readonly route: number
  readonly monitoring: number
}

const pickNodePorts = async (): Promise<readonly Ports[]> => {
  const ports = await pickServerPorts(nodeCount * 3)
  return Array.from({ length: nodeCount }, (_, node) => {
    const [client = 0, route = 0, monitoring = 0] = ports.slice(node * 3)
    return { client, route, monitoring }
  })
}

const routesOf = (nodes: readonly Ports[]): string =>
  `[${nodes.map(({ route }) => `tls://route:${passwordOf('route')}@127.0.0.1:${route}`).join(', ')}]`

interface House {
  readonly folder: string
  readonly certificates: Certificates
  readonly ports: readonly Ports[]
}

const variablesOf = ({ folder, certificates, ports }: House, node: number): NodeJS.ProcessEnv => {
  const { client, route, monitoring } = ports[node]!
  return {
    GATEWAY_NATS_NAME: `node-${node}`,
    GATEWAY_NATS_LISTEN: `127.0.0.1:${client}`,
    GATEWAY_NATS_MONITORING: `127.0.0.1:${monitoring}`,
    GATEWAY_NATS_CLUSTER_LISTEN: `127.0.0.1:${route}`,
    GATEWAY_NATS_ROUTES: routesOf(ports),
    GATEWAY_NATS_ROUTE_PASSWORD: passwordOf('route'),
    GATEWAY_NATS_STORE: join(folder, `node-${node}`),
    GATEWAY_NATS_CERT: certificates.server.certFile,
    GATEWAY_NATS_KEY: certificates.server.keyFile,
    GATEWAY_NATS_CA: certificates.caFile,
    ...Object.fromEntries(users.map((user) => [variableOf(user), passwordOf(user)])),
  }
}

interface StreamReport {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly { readonly name: string; readonly cluster?: { readonly leader?: string } }[]
  }[]
}

/**
 * Three real nats-servers on loopback ports that run the configuration of `deploy/nats`, with TLS and its users. Nodes are counted from 0;
 * each can be killed, stopped, and started again on its own store and ports.
 */
export class NatsCluster {
  readonly certificates: Certificates
  readonly #house: House
  readonly #nodes: readonly NatsProcess[]

  private constructor(house: House) {
    this.certificates = house.certificates
    this.#house = house
    this.#nodes = house.ports.map(
      ({ monitoring }, node) => new NatsProcess(configFile, monitoring, variablesOf(house, node)),
    )
  }

  static create(): Promise<NatsCluster> {
    return withFreshPorts(async () => {
      const cluster = new NatsCluster({
        folder: await mkdtemp(join(tmpdir(), 'gateway-cluster-')),
        certificates: await makeCertificates(),
        ports: await pickNodePorts(),
      })
      try {
        for (const node of cluster.#nodes) node.launch()
        await cluster.whenHealthy()
        return cluster
      } catch (error) {
        await cluster.remove()
        throw error
      }
    })
  }

  /** One for each node. */
  get urls(): readonly string[] {
    return this.#house.ports.map(({ client }) => `tls://localhost:${client}`)
  }

  get monitoringUrls(): readonly string[] {
    return this.#nodes.map(({ monitoringUrl }) => monitoringUrl)
  }

  /** What a user's connection needs. */
  accessOf(user: User): {
    readonly url: string
    readonly user: string
    readonly password: string
    readonly tls: { readonly caFile: string }
  } {
    const { caFile } = this.certificates
    return { url: this.urls.join(','), user, password: passwordOf(user), tls: { caFile } }
  }

  /** What users tried that they may not, as the nodes logged it. */
  get violations(): readonly string[] {
    return this.#nodes.flatMap(({ violations }) => violations)
  }

  /** Resolves when every node that runs has caught up with the others. */
  async whenHealthy(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.isRunning && node.whenHealthy()))
  }

  /** The node that leads a stream; null while none does. Asks the nodes that run. */
  async leaderOf(stream: string): Promise<number | null> {
    for (const node of this.#nodes.filter(({ isRunning }) => isRunning)) {
      const response = await fetch(`${node.monitoringUrl}/jsz?streams=true`)
      const { account_details = [] } = (await response.json()) as StreamReport
      const found = account_details.flatMap((each) => each.stream_detail ?? []).find(({ name }) => name === stream)
      if (found?.cluster?.leader) return Number(found.cluster.leader.replace('node-', ''))
    }
    return null
  }

  async stop(node: number, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#nodes[node]!.stop(signal)
  }

  kill(node: number): Promise<void> {
    return this.stop(node, 'SIGKILL')
  }

  /** Starts a node again and waits until it has caught up with the others. */
  async start(node: number): Promise<void> {
    this.#nodes[node]!.launch()
    await this.#nodes[node]!.whenHealthy()
  }

  /** Ends all nodes and removes their stores. */
  async remove(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop('SIGKILL')))
    await rm(this.#house.folder, { recursive: true, force: true })
    await this.certificates.remove()
  }
}
