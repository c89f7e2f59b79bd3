import type { Test } from 'tap'
import { startSandbox } from '../../sandbox/server.ts'
import { publishPrices } from '../../src/administration/price-changes.ts'
import type { Config } from '../../src/config/config.ts'
import { type ExternalServers, startExternalServers } from './external-servers.ts'
import {
  type Account,
  configOf,
  type Operator,
  openOperator,
  runtime,
  type TestOptions,
  temporaryFolder,
  untilKeyIsKnown,
} from './gateway.ts'
import { GatewayProcess } from './gateway-process.ts'

export interface ApartOptions extends TestOptions {
  /** In place of the sandbox, for every provider. */
  readonly upstreamUrl?: string
  /** Where the gateway connects, when not straight to the servers. */
  readonly externalOf?: (servers: ExternalServers) => NonNullable<Config['external']>
  readonly servers?: ExternalServers
  /** Of the gateway's process. */
  readonly env?: Readonly<Record<string, string>>
  /** Of Node in that process. */
  readonly flags?: readonly string[]
}

/** A whole gateway in a process of its own, whose memory can be measured, on servers that a test can do things to. */
export interface GatewayApart {
  readonly process: GatewayProcess
  readonly operator: Operator
  readonly servers: ExternalServers
  readonly account: Account
}

export const startGatewayApart = async (t: Test, options: ApartOptions = {}): Promise<GatewayApart> => {
  const {
    servers = await startExternalServers(t),
    externalOf = ({ direct }) => direct,
    bounds,
    env = {},
    flags = [],
  } = options
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const config = configOf(await temporaryFolder(t), options.upstreamUrl ?? sandbox.url, {
    ...options,
    config: { external: externalOf(servers), observe: { host: '127.0.0.1', port: 0 }, ...options.config },
  })
  const operator = await openOperator({ ...config, external: servers.direct }, bounds)
  t.teardown(() => operator.stop())
  await publishPrices(operator, config.prices)
  const process = await GatewayProcess.start(config, { bounds, env, flags })
  t.teardown(async () => {
    await process.end('SIGTERM')
  })
  const account = await operator.openAccount('acme', '100')
  await untilKeyIsKnown(process.url, account)
  return { process, operator, servers, account }
}
