import type { Test } from 'tap'
import { type Sandbox, startSandbox } from '../../sandbox/server.ts'
import { publishPrices } from '../../src/administration/price-changes.ts'
import { type RunningProcess, startRole } from '../../src/cli/gateway.ts'
import type { Config } from '../../src/config/config.ts'
import { roleNames } from '../../src/roles/role.ts'
import type { DeploymentOptions } from './deployment.ts'
import { configOf, type Operator, openOperator, runtime, temporaryFolder } from './gateway.ts'
import { edgesAreWorkers, GatewayProcess } from './gateway-process.ts'

/** Roles as they run apart, each on connections of its own, but all in the test's process: for tests that kill none of these. */
export interface RolesTogether {
  readonly operator: Operator
  readonly sandbox: Sandbox
  readonly config: Config
  /** Addresses of the edges. */
  readonly urls: readonly string[]
  readonly processes: readonly RunningProcess[]
}

const startAll = async (t: Test, config: Config, options: DeploymentOptions): Promise<readonly RunningProcess[]> => {
  const { bounds, counts = {}, external, externalOf = () => external } = options
  const onFatal = (fault: Error): void => void t.fail(fault.message)
  const started: RunningProcess[] = []
  t.teardown(async () => {
    for (const { stop } of started) await stop()
  })
  for (const role of roleNames)
    for (let index = 0; index < (counts[role] ?? 1); index += 1)
      started.push(await startRole(role, { ...config, external: externalOf(role, index) }, runtime, onFatal, bounds))
  return started
}

const startWorkers = async (t: Test, config: Config, workers: number): Promise<readonly string[]> => {
  const gateway = await GatewayProcess.start(config, { workers })
  t.teardown(() => gateway.end('SIGTERM'))
  return Array.from({ length: workers }, () => gateway.url)
}

/** One of each role where `counts` says nothing. */
export const startRolesTogether = async (t: Test, options: DeploymentOptions): Promise<RolesTogether> => {
  const { external, operatorExternal = external } = options
  const bounds = edgesAreWorkers ? undefined : options.bounds // The program's own, also for what the operator makes.
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const config = configOf(await temporaryFolder(t), sandbox.url, {
    ...options,
    config: { external, ...options.config },
  })
  const operator = await openOperator({ ...config, external: operatorExternal }, bounds)
  t.teardown(() => operator.stop())
  await publishPrices(operator, config.prices)
  const { edge: edges = 1 } = options.counts ?? {}
  if (edgesAreWorkers) return { operator, sandbox, config, urls: await startWorkers(t, config, edges), processes: [] }
  const started = await startAll(t, config, options)
  return { operator, sandbox, config, urls: started.flatMap(({ url }) => url ?? []), processes: started }
}
