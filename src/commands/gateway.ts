import { type Config, dialectOf, type ProviderConfig, profileOf } from '../config.ts'
import { callableModels } from '../domain/routing/plan.ts'
import { UndiciClient } from '../infrastructure/http/client.ts'
import { openCallClient } from '../infrastructure/nats/calls/call-client.ts'
import { openCallServer } from '../infrastructure/nats/calls/call-server.ts'
import { findStoredResponse } from '../read-models/stored-responses.ts'
import { edge } from '../roles/edge/role.ts'
import type { LedgerTail } from '../roles/ledger-tail.ts'
import { projector } from '../roles/projector/role.ts'
import { type CallSource, proxy } from '../roles/proxy/role.ts'
import type { Dispatch, RoleName } from '../roles/role.ts'
import { scheduler } from '../roles/scheduler/role.ts'
import { StoredResponses } from '../roles/stored-responses.ts'
import { startSandbox } from '../sandbox/server.ts'
import type { Books } from './accounts.ts'
import { sealingOf } from './audit-keys.ts'
import { openDemo } from './demo.ts'
import { LocalCalls } from './local-calls.ts'
import { openPlatform, openTail, type Platform, tablesOf } from './platform.ts'
import { publishUnknownPrices } from './prices.ts'
import type { Runtime } from './runtime.ts'
import { Stack } from './stack.ts'

/** A gateway that answers at `url`. */
export interface Gateway {
  readonly url: string
  /** The demo workspace's key; null on external servers, where nothing is opened unasked. */
  readonly demoKey: string | null
  readonly sandbox: boolean
  readonly sampleModel: string
  /** Finishes requests in flight, gives allowances back, stops in reverse order. */
  stop(): Promise<void>
}

/** One role that runs in this process alone. */
export interface RunningProcess {
  readonly role: RoleName
  /** Where it answers HTTP; null for a role that does not. */
  readonly url: string | null
  stop(): Promise<void>
}

type OnFatal = (fault: Error) => void

/** What every role is started from. */
interface House {
  readonly config: Config
  readonly runtime: Runtime
  readonly onFatal: OnFatal
  readonly platform: Platform
  readonly stack: Stack
}

const startProjector = async ({ platform, runtime, onFatal, stack }: House): Promise<void> => {
  const store = tablesOf(platform).database.projectionStore()
  stack.push(await projector.start({ log: platform.log, store, ...runtime, onFatal }))
}

const startTail = async ({ platform, runtime, onFatal, stack }: House): Promise<LedgerTail> => {
  const tail = stack.push(await openTail(platform, runtime))
  tail.done.catch(onFatal)
  return tail
}

const startScheduler = async ({ config, platform, runtime, stack }: House, tail: LedgerTail): Promise<void> => {
  const sealing = sealingOf(config, runtime)
  stack.push(await scheduler.start({ log: platform.log, tail, sealing, ...runtime }))
}

const sandboxed = ({ catalog }: Config, baseUrl: string): readonly ProviderConfig[] =>
  [...catalog.providers].map(([name, { models }]) => ({
    name,
    profile: profileOf(name),
    dialect: dialectOf(name),
    baseUrl,
    apiKey: 'sandbox',
    models,
  }))

/** The sandbox provider answers where no other is configured. */
const startProviders = async ({ config, runtime, stack }: House): Promise<readonly ProviderConfig[]> => {
  if (config.providers.length > 0) return config.providers
  runtime.logger.warn({}, 'no provider is configured: the sandbox provider answers, and its answers are billed')
  return sandboxed(config, stack.push(await startSandbox(runtime)).url)
}

const startProxy = async (house: House, calls: CallSource): Promise<void> => {
  const { config, platform, runtime, stack } = house
  const providers = await startProviders(house)
  stack.push(
    await proxy.start({
      log: platform.log,
      providers: new Map(providers.map((each) => [each.name, each])),
      http: stack.push(new UndiciClient()),
      calls,
      drainMs: config.drainMs,
      ...runtime,
    }),
  )
}

const startEdge = async (
  { config, platform, runtime, stack }: House,
  tail: LedgerTail,
  dispatch: Dispatch,
): Promise<string> => {
  const { catalog, listen, requestsPerMinute, requestDeadlineMs, drainMs } = config
  const { database } = tablesOf(platform)
  const responseOwners = new StoredResponses({
    tail,
    log: platform.log,
    findStored: (responseId) => findStoredResponse(database.db, responseId),
  })
  stack.push(responseOwners)
  const running = await edge.start({
    log: platform.log,
    tail,
    dispatch,
    catalog,
    readModels: database.billing(),
    frames: platform.log,
    responseOwners,
    requestsPerMinute,
    requestDeadlineMs,
    listen,
    bounds: { stopMs: drainMs },
    ...runtime,
  })
  return stack.push(running).url
}

const preferredModel = 'openai/gpt-4o-mini'

/** A model for the first request: one that can be called here. */
const sampleModelOf = ({ catalog }: Config, { tail }: Books, nowMs: number): string => {
  const models = callableModels(catalog, tail.ledger.prices, nowMs).map(({ model }) => model)
  return models.includes(preferredModel) ? preferredModel : (models[0] ?? preferredModel)
}

const startAll = async (house: House): Promise<Omit<Gateway, 'stop'>> => {
  const { config, runtime, platform } = house
  await startProjector(house)
  const tail = await startTail(house)
  await startScheduler(house, tail)
  const books = { log: platform.log, tail }
  await publishUnknownPrices(books, config.prices)
  const demoKey = config.external === null ? await openDemo(books, config.dataFolder, runtime) : null
  const calls = new LocalCalls()
  await startProxy(house, calls)
  const url = await startEdge(house, tail, calls.dispatch)
  const sampleModel = sampleModelOf(config, books, runtime.clock())
  return { url, demoKey, sandbox: config.providers.length === 0, sampleModel }
}

/** Calls travel on a connection of their own: a long answer must not stand before the log's acknowledgements. */
const openCalls = async <Calls extends { close(): Promise<void> }>(
  { config, platform, runtime, stack }: House,
  open: (options: Parameters<typeof openCallClient>[0]) => Calls,
): Promise<Calls> => {
  const connection = await platform.connect('calls')
  stack.push({ stop: () => connection.close() })
  const calls = open({ connection, name: config.log.name, ...runtime })
  stack.push({ stop: () => calls.close() })
  return calls
}

const warnWithoutPrices = ({ runtime }: House, tail: LedgerTail): void => {
  if (tail.ledger.prices.size === 0)
    runtime.logger.warn({}, 'no price is published, so no model can be called: run `gateway prices publish`')
}

const roleStarters: { readonly [Role in RoleName]: (house: House) => Promise<string | null> } = {
  edge: async (house) => {
    const tail = await startTail(house)
    warnWithoutPrices(house, tail)
    return startEdge(house, tail, (await openCalls(house, openCallClient)).dispatch)
  },
  proxy: async (house) => {
    await startProxy(house, await openCalls(house, openCallServer))
    return null
  },
  projector: async (house) => {
    await startProjector(house)
    return null
  },
  scheduler: async (house) => {
    await startScheduler(house, await startTail(house))
    return null
  },
}

const onPlatform = async <Started extends object>(
  { config, runtime, onFatal }: Pick<House, 'config' | 'runtime' | 'onFatal'>,
  role: RoleName | 'gateway',
  start: (house: House) => Promise<Started>,
): Promise<Started & { stop(): Promise<void> }> => {
  const stack = new Stack()
  try {
    const embedded = role === 'gateway' ? 'own' : 'running'
    const platform = stack.push(await openPlatform(config, runtime, { role, embedded, onFatal }))
    const started = await start({ config, runtime, onFatal, platform, stack })
    return { ...started, stop: () => stack.stop() }
  } catch (fault) {
    await stack.stop()
    throw fault
  }
}

/** Starts every role in this process. Rejects, with all that was started stopped again, when one cannot start. */
export const startGateway = (config: Config, runtime: Runtime, onFatal: OnFatal): Promise<Gateway> =>
  onPlatform({ config, runtime, onFatal }, 'gateway', startAll)

/** Starts one role on servers that run already. Rejects like `startGateway`. */
export const startRole = (
  role: RoleName,
  config: Config,
  runtime: Runtime,
  onFatal: OnFatal,
): Promise<RunningProcess> =>
  onPlatform({ config, runtime, onFatal }, role, async (house) => ({ role, url: await roleStarters[role](house) }))
