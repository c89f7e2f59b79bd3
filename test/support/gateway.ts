import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Sandbox, sandboxVideoKey, startSandbox } from '../../sandbox/server.ts'
import { creditWallet, issueKey, openWorkspace } from '../../src/administration/account-changes.ts'
import type { CommandContext } from '../../src/cli/command-context.ts'
import { type Gateway, type GatewayBounds, startGateway } from '../../src/cli/gateway.ts'
import { openOperatorPlatform, openTail, type Platform } from '../../src/cli/platform.ts'
import { createRuntime, type Runtime } from '../../src/cli/runtime.ts'
import type { Config } from '../../src/config/config.ts'
import { configLimits } from '../../src/config/limits.ts'
import { answeringSurfaces, type ProviderConfig } from '../../src/config/providers.ts'
import { parseUsd } from '../../src/domain/money.ts'
import type { PriceFile } from '../../src/domain/pricing/price-file.ts'
import type { CatalogProvider } from '../../src/domain/routing/plan.ts'
import type { Event } from '../../src/events/envelope.ts'
import type { PriceSheet } from '../../src/events/types.ts'
import { sharedLimits } from '../../src/runtime/limits.ts'
import { until } from './clients.ts'
import { prepareDataFolder } from './clusters.ts'

export const runtime: Runtime = createRuntime(process.env['TEST_LOG_LEVEL'] ?? 'silent')

/** The sheet of test models: 1 USD per million in, 2 out, unless said otherwise. */
export const sheetOf = (sheet: Partial<PriceSheet> = {}): PriceSheet => ({
  currency: 'USD',
  per_million_tokens: { input: '1', output: '2' },
  max_output_tokens: 1_000,
  ...sheet,
})

const effectiveFrom = '2026-01-01T00:00:00Z'

export const pricesOf = (sheets: Readonly<Record<string, PriceSheet>>): PriceFile => ({
  prices: Object.entries(sheets).map(([model, sheet]) => ({
    model,
    effective_from: effectiveFrom,
    source: 'a test',
    sheet,
  })),
})

export interface TestOptions {
  /** Public name to upstream name with directives, of the provider `openai`, which counts as OpenAI does. */
  readonly models?: Readonly<Record<string, string>>
  readonly sheets?: Readonly<Record<string, PriceSheet>>
  readonly config?: Partial<Config>
  /** Beside those that the sandbox plays. */
  readonly providers?: readonly ProviderConfig[]
  /** Where the operator connects, when not to the gateway's own servers. */
  readonly operatorConfig?: Partial<Config>
  readonly bounds?: GatewayBounds | undefined
  /** Of the gateway, in place of the system's. */
  readonly runtime?: Runtime
  /** Of the sandbox's video vendor; what is configured where nothing is said. */
  readonly vendorCallsPerSecond?: number
  readonly openAccount?: (operator: Operator, config: Config) => Promise<Account>
}

export const configOf = (
  dataFolder: string,
  sandboxUrl: string,
  {
    models = {},
    sheets = {},
    config = {},
    providers = [],
    vendorCallsPerSecond = sharedLimits.vendorCallsPerSecond,
  }: TestOptions,
): Config => ({
  listen: { host: '127.0.0.1', port: 0 },
  dataFolder,
  external: null,
  natsServerBin: undefined,
  log: { name: 'GATEWAY', replicas: 1, durability: 'synced' },
  providers: [
    { name: 'openai', dialect: 'openai', profile: 'openai', baseUrl: sandboxUrl, apiKey: 'sk-upstream-secret', models },
    { name: 'grok', dialect: 'openai', profile: 'xai', baseUrl: sandboxUrl, apiKey: 'sk-upstream-secret', models },
    { name: 'google', dialect: 'openai', profile: 'gemini', baseUrl: sandboxUrl, apiKey: 'sk-upstream-secret', models },
    { name: 'gemini', dialect: 'google', profile: 'gemini', baseUrl: sandboxUrl, apiKey: 'sk-upstream-secret', models },
    {
      name: 'anthropic',
      dialect: 'anthropic',
      profile: 'openai',
      baseUrl: sandboxUrl,
      apiKey: 'sk-upstream-secret',
      models,
    },
    ...providers,
  ],
  videoVendors: [
    {
      name: 'vv',
      baseUrl: sandboxUrl,
      credential: { type: 'key', apiKey: sandboxVideoKey },
      callsPerSecond: vendorCallsPerSecond,
    },
  ],
  files: [],
  fileTexts: new Map(),
  memberDigests: new Map(),
  reread: () => {
    throw new Error('it has no file')
  },
  sandbox: false,
  telemetry: null,
  catalog: {
    providers: new Map<string, CatalogProvider>([
      ['openai', { models, surfaces: answeringSurfaces, profile: 'openai' }],
      ['grok', { models, surfaces: answeringSurfaces, profile: 'xai' }],
      ['google', { models, surfaces: answeringSurfaces, profile: 'gemini' }],
      ['gemini', { models, surfaces: answeringSurfaces, profile: 'gemini' }],
      ['anthropic', { models, surfaces: answeringSurfaces, profile: 'openai' }],
      ['vv', { models: {}, surfaces: ['video'] }],
      ...providers.map(
        ({ name, models, profile }) => [name, { models, surfaces: answeringSurfaces, profile }] as const,
      ),
    ]),
    aliases: { plain: 'openai/plain' },
    routers: { auto: { candidates: ['openai/absent', 'openai/plain'] } },
  },
  prices: pricesOf({
    'openai/plain': sheetOf(),
    ...Object.fromEntries(Object.keys(models).map((name) => [`openai/${name}`, sheetOf()])),
    ...sheets,
  }),
  requestsPerMinute: null,
  connectionsPerAddress: null,
  openBytesMax: sharedLimits.openBytesMax,
  workspaceOpenBytesMax: sharedLimits.workspaceOpenBytesMax,
  workspaceOutcomeBytesMax: sharedLimits.workspaceOutcomeBytesMax,
  corsOrigins: [],
  tagNames: [],
  invoicing: null,
  approvalAbovePicos: null,
  alertDestinations: new Map(),
  requestDeadlineMs: sharedLimits.requestDeadlineMs,
  taskDeadlineMs: configLimits.taskDeadlineMs,
  callbacks: { secret: 'a-secret-of-a-test', allowPrivateAddresses: true },
  withdrawMs: sharedLimits.withdrawMs,
  drainMs: sharedLimits.stopMs,
  audit: { sealing: false, origin: 'gateway.test/ledger', signer: null, verifier: null, previous: [] },
  auditStateFile: join(dataFolder, 'audit.state'),
  firstSeal: false,
  admins: [],
  signIn: null,
  logLevel: 'silent',
  demo: true,
  workers: null,
  logRequests: true,
  observe: null,
  exposedFiles: [],
  warnings: [],
  ...config,
})

/** A temporary folder that goes when the test ends. */
export const temporaryFolder = async (t: Test): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export interface Account {
  readonly workspaceId: string
  readonly secret: string
}

/** Resolves when an edge has read from the log that the key was issued: until then it refuses it. */
export const untilKeyIsKnown = (url: string, { secret }: Pick<Account, 'secret'>): Promise<void> =>
  until(async () => {
    const response = await fetch(`${url}/v1/videos/none`, { headers: { authorization: `Bearer ${secret}` } })
    await response.body?.cancel()
    return response.status !== 401
  })

/** A second process's view of the log: what an operator's command sees. */
export class Operator implements CommandContext {
  readonly platform: Platform
  readonly tail: CommandContext['tail']
  readonly log: CommandContext['log']
  readonly #events: Event[] = []
  #readTo = 0
  #reading: Promise<readonly Event[]> = Promise.resolve([])

  constructor(platform: Platform, tail: CommandContext['tail']) {
    this.platform = platform
    this.tail = tail
    this.log = platform.log
  }

  async openAccount(workspaceId: string, creditUsd: string): Promise<Account> {
    await openWorkspace(this, { workspaceId, name: workspaceId, creditLimitPicos: 0n })
    if (creditUsd !== '0') await this.credit(workspaceId, creditUsd, 'test-credit')
    const { secret } = await issueKey(this, { workspaceId, name: 'test' }, runtime)
    return { workspaceId, secret }
  }

  async credit(workspaceId: string, usd: string, reference: string, note = '', expiresAt?: string): Promise<void> {
    await creditWallet(this, workspaceId, { amountPicos: parseUsd(usd), reference, note, expiresAt })
  }

  /** Every event in the log, in its order. Each is read once, however often a condition asks. */
  events(): Promise<readonly Event[]> {
    const readOn = (): Promise<readonly Event[]> => this.#readOn()
    this.#reading = this.#reading.then(readOn, readOn)
    return this.#reading
  }

  async #readOn(): Promise<readonly Event[]> {
    const last = await this.log.lastSequence()
    if (last > this.#readTo) await this.#readTill(last)
    return [...this.#events]
  }

  #readTill(last: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const follower = this.log.follow(this.#readTo + 1, (frame) => {
        this.#events.push(...frame.events)
        this.#readTo = frame.sequence
        if (frame.sequence === last) void follower.stop().then(resolve)
      })
      follower.done.catch(reject)
    })
  }

  /** After a restart of NATS this connection may come back later than those of the gateways. */
  async caughtUp(): Promise<void> {
    await until(() =>
      this.log.lastSequence().then(
        () => true,
        () => false,
      ),
    )
    await this.tail.waitForSequence(await this.log.lastSequence())
  }

  async stop(): Promise<void> {
    await this.tail.stop()
    await this.platform.stop()
  }
}

export const openOperator = async (config: Config, { videoPoller }: GatewayBounds = {}): Promise<Operator> => {
  const platform = await openOperatorPlatform(config, runtime, { queueLeaseMs: videoPoller?.queueLeaseMs })
  return new Operator(platform, await openTail(platform))
}

export interface TestGateway {
  readonly gateway: Gateway
  readonly sandbox: Sandbox
  readonly operator: Operator
  readonly config: Config
  readonly account: Account
}

/** A whole gateway in this process, on real servers of its own, in front of a sandbox provider, with one funded account. */
export const startTestGateway = async (t: Test, options: TestOptions = {}): Promise<TestGateway> => {
  const dataFolder = await temporaryFolder(t)
  if (!options.config?.external) await prepareDataFolder(dataFolder)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const config = configOf(dataFolder, sandbox.url, options)
  const gateway = await startGateway(
    config,
    options.runtime ?? runtime,
    (fault) => t.fail(fault.message),
    options.bounds,
  )
  t.teardown(() => gateway.stop())
  const operator = await openOperator({ ...config, ...options.operatorConfig }, options.bounds)
  t.teardown(() => operator.stop())
  const { openAccount = () => operator.openAccount('acme', '100') } = options
  const account = await openAccount(operator, config)
  await untilKeyIsKnown(gateway.url, account)
  return { gateway, sandbox, operator, config, account }
}
