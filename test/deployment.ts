import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { publishPrices } from '../src/commands/prices.ts'
import type { Config, External } from '../src/config.ts'
import { limits } from '../src/limits.ts'
import { type RoleName, roleNames } from '../src/roles/role.ts'
import { type Sandbox, startSandbox } from '../src/sandbox/server.ts'
import { configOf, type Operator, openOperator, runtime, type TestOptions, temporaryFolder } from './gateway.ts'
import { GatewayProcess } from './gateway-process.ts'

export interface DeploymentOptions extends TestOptions {
  readonly external: External
  /** Processes of each role; one where nothing is said. */
  readonly counts?: Partial<Record<RoleName, number>>
  /** Where a role connects, when not where all do: a user of its own, a node of its own. */
  readonly externalOf?: (role: RoleName, index: number) => External
  readonly operatorExternal?: External
}

interface Place {
  readonly role: RoleName
  readonly index: number
}

/** Roles apart, each in a process of its own which a test may kill, in front of a sandbox provider in the test's process. */
export class Deployment {
  readonly operator: Operator
  readonly sandbox: Sandbox
  readonly config: Config
  readonly #options: DeploymentOptions
  readonly #folder: string
  readonly #processes = new Map<string, GatewayProcess>()

  private constructor(
    parts: Pick<Deployment, 'operator' | 'sandbox' | 'config'>,
    options: DeploymentOptions,
    folder: string,
  ) {
    this.operator = parts.operator
    this.sandbox = parts.sandbox
    this.config = parts.config
    this.#options = options
    this.#folder = folder
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
    const deployment = new Deployment({ operator, sandbox, config }, options, folder)
    t.teardown(() => deployment.#stop())
    await deployment.#startAll()
    return deployment
  }

  /** Addresses of the edges that run. */
  get urls(): readonly string[] {
    return this.places('edge').map((index) => this.process('edge', index).url)
  }

  /** Which processes of a role run. */
  places(role: RoleName): readonly number[] {
    const count = this.#options.counts?.[role] ?? 1
    return Array.from({ length: count }, (_, index) => index).filter((index) => this.#processes.has(`${role}-${index}`))
  }

  process(role: RoleName, index: number): GatewayProcess {
    const found = this.#processes.get(`${role}-${index}`)
    if (found === undefined) throw new Error(`no ${role} ${index} runs`)
    return found
  }

  async start(role: RoleName, index: number): Promise<void> {
    const external = this.#options.externalOf?.(role, index) ?? this.config.external
    const settingsFolder = await mkdtemp(join(this.#folder, `${role}-${index}-`))
    const { bounds } = this.#options
    const process = await GatewayProcess.start({ ...this.config, external }, { role, settingsFolder, bounds })
    this.#processes.set(`${role}-${index}`, process)
  }

  /** Ends a process and forgets it; answers with its exit code, null when the signal took it. */
  async end(role: RoleName, index: number, signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): Promise<number | null> {
    return this.forget(role, index).end(signal)
  }

  /** A process that the test sees to from here on. */
  forget(role: RoleName, index: number): GatewayProcess {
    const process = this.process(role, index)
    this.#processes.delete(`${role}-${index}`)
    return process
  }

  /** What its processes wrote to their own logs. */
  get logged(): string {
    return [...this.#processes].map(([name, { logged }]) => `${name}\n${logged}`).join('\n')
  }

  async #startAll(): Promise<void> {
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

/** The longest that a slice of a killed edge stays held after its last request. */
export const boundOfDeadSlice = (requestDeadlineMs: number): number => 3 * requestDeadlineMs + 3 * limits.closingAckMs
