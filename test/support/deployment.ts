import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Sandbox, startSandbox } from '../../sandbox/server.ts'
import { publishPrices } from '../../src/administration/price-changes.ts'
import { startRole } from '../../src/cli/gateway.ts'
import type { Config } from '../../src/config/config.ts'
import type { External } from '../../src/config/servers.ts'
import { type RoleName, roleNames } from '../../src/roles/role.ts'
import { sharedLimits } from '../../src/runtime/limits.ts'
import { configOf, type Operator, openOperator, runtime, type TestOptions, temporaryFolder } from './gateway.ts'
import { type EndingSignal, edgesAreWorkers, GatewayProcess } from './gateway-process.ts'

export interface DeploymentOptions extends TestOptions {
  readonly external: External
  /** Processes of each role; one where nothing is said. */
  readonly counts?: Partial<Record<RoleName, number>>
  /** Where a role connects, when not where all do: a user of its own, a node of its own. */
  readonly externalOf?: (role: RoleName, index: number) => External
  readonly operatorExternal?: External
  /** Which are processes of their own, that can be killed; the others run in the test's. All, where nothing is said. */
  readonly apart?: (role: RoleName, index: number) => boolean
}

interface RunningPlace {
  /** Of an edge. */
  readonly url: string
  /** What it wrote to a log of its own. */
  readonly logged: string
  end(signal: EndingSignal): Promise<number | null>
}

interface Place {
  readonly role: RoleName
  readonly index: number
}

/** Roles apart, each on connections of its own and where it is to be killed in a process of its own, in front of a sandbox provider in the test's process. */
export class Deployment {
  readonly operator: Operator
  readonly sandbox: Sandbox
  readonly config: Config
  readonly #options: DeploymentOptions
  readonly #folder: string
  readonly #onFatal: (fault: Error) => void
  readonly #running = new Map<string, RunningPlace>()

  private constructor(
    parts: Pick<Deployment, 'operator' | 'sandbox' | 'config'>,
    options: DeploymentOptions,
    folder: string,
    onFatal: (fault: Error) => void,
  ) {
    this.operator = parts.operator
    this.sandbox = parts.sandbox
    this.config = parts.config
    this.#options = options
    this.#folder = folder
    this.#onFatal = onFatal
  }

  static async start(t: Test, options: DeploymentOptions): Promise<Deployment> {
    const folder = await temporaryFolder(t)
    const sandbox = await startSandbox(runtime)
    t.teardown(() => sandbox.stop())
    const config = configOf(folder, sandbox.url, {
      ...options,
      config: { external: options.external, ...options.config },
    })
    const operator = await openOperator(
      { ...config, external: options.operatorExternal ?? options.external },
      options.bounds,
    )
    await publishPrices(operator, config.prices)
    const deployment = new Deployment(
      { operator, sandbox, config },
      options,
      folder,
      (fault) => void t.fail(fault.message),
    )
    t.teardown(() => deployment.#stop())
    await deployment.#startAll()
    return deployment
  }

  /** Addresses of the edges that run. */
  get urls(): readonly string[] {
    return this.places('edge').map((index) => this.#place('edge', index).url)
  }

  /** Which processes of a role run. */
  places(role: RoleName): readonly number[] {
    const count = this.#options.counts?.[role] ?? 1
    return Array.from({ length: count }, (_, index) => index).filter((index) => this.#running.has(`${role}-${index}`))
  }

  async start(role: RoleName, index: number): Promise<void> {
    const { externalOf, apart = () => true } = this.#options
    const config = { ...this.config, external: externalOf?.(role, index) ?? this.config.external }
    const started = await (apart(role, index) ? this.#startApart(role, index, config) : this.#startHere(role, config))
    this.#running.set(`${role}-${index}`, started)
  }

  /** Ends a process and forgets it; answers with its exit code, null when the signal took it. */
  async end(role: RoleName, index: number, signal: EndingSignal): Promise<number | null> {
    const place = this.#place(role, index)
    this.#running.delete(`${role}-${index}`)
    return place.end(signal)
  }

  /** One of the processes of their own. */
  process(role: RoleName, index: number): GatewayProcess {
    const place = this.#place(role, index)
    if (!(place instanceof GatewayProcess)) throw new Error(`${role} ${index} runs in the test's own process`)
    return place
  }

  /** A process that the test sees to from here on. */
  forget(role: RoleName, index: number): GatewayProcess {
    const process = this.process(role, index)
    this.#running.delete(`${role}-${index}`)
    return process
  }

  /** What its processes wrote to their own logs. */
  get logged(): string {
    return [...this.#running].map(([name, { logged }]) => `${name}\n${logged}`).join('\n')
  }

  #place(role: RoleName, index: number): RunningPlace {
    const found = this.#running.get(`${role}-${index}`)
    if (found === undefined) throw new Error(`no ${role} ${index} runs`)
    return found
  }

  async #startApart(role: RoleName, index: number, config: Config): Promise<RunningPlace> {
    const settingsFolder = await mkdtemp(join(this.#folder, `${role}-${index}-`))
    return GatewayProcess.start(config, { role, settingsFolder, bounds: this.#options.bounds })
  }

  async #startHere(role: RoleName, config: Config): Promise<RunningPlace> {
    const running = await startRole(role, config, runtime, this.#onFatal, this.#options.bounds)
    const end = async (signal: EndingSignal): Promise<null> => {
      if (signal === 'SIGKILL') throw new Error(`${role} runs in the test's own process`)
      await running.stop()
      return null
    }
    return { url: running.url ?? '', logged: '', end }
  }

  async #startWorkers(count: number): Promise<void> {
    const gateway = await GatewayProcess.start(this.config, { workers: count })
    const { url } = gateway
    this.#running.set('edge-0', gateway)
    for (let index = 1; index < count; index += 1)
      this.#running.set(`edge-${index}`, { url, logged: '', end: async () => null })
  }

  async #startAll(): Promise<void> {
    if (edgesAreWorkers) return this.#startWorkers(this.#options.counts?.edge ?? 1)
    const places: Place[] = roleNames.flatMap((role) =>
      Array.from({ length: this.#options.counts?.[role] ?? 1 }, (_, index) => ({ role, index })),
    )
    const starts = places.map(({ role, index }) => this.start(role, index))
    await Promise.allSettled(starts) // One that fails must not leave the others starting behind its back.
    await Promise.all(starts)
  }

  async #stop(): Promise<void> {
    // Edges first, so that they can give their allowances back.
    for (const role of roleNames) await Promise.all(this.places(role).map((index) => this.end(role, index, 'SIGTERM')))
    await this.operator.stop()
  }
}

/** The longest that an allowance of a killed edge stays held after its last request. */
export const boundOfDeadSlice = (requestDeadlineMs: number): number =>
  3 * requestDeadlineMs + 3 * sharedLimits.closingAckMs
