import { openCallClient } from '../adapters/nats/calls/call-client.ts'
import { openCallServer } from '../adapters/nats/calls/call-server.ts'
import { openEndUserKeys } from '../adapters/nats/end-users/open.ts'
import { openOutcomes } from '../adapters/nats/outcomes/open.ts'
import { type OpenRates, openRates } from '../adapters/nats/rates/open.ts'
import { openWorkQueues, type WorkQueues } from '../adapters/nats/work-queue/open.ts'
import { createIdentityProvider } from '../adapters/openid/identity-provider.ts'
import { publishUnknownPrices } from '../administration/price-changes.ts'
import type { Config } from '../config/config.ts'
import { type ProviderConfig, resolveDialect, sandboxVendor } from '../config/providers.ts'
import { callableModels } from '../domain/routing/plan.ts'
import { callableVideoModels } from '../domain/video/plan.ts'
import type { EndUserKeyStore } from '../log/end-users.ts'
import { type LedgerTail, waitForLogEnd } from '../log/ledger-tail.ts'
import { createTablesCheck } from '../log/log-identity.ts'
import { resolveProfile } from '../providers/dialect/provider.ts'
import type { OutcomeStore } from '../roles/edge/admission/idempotency/outcome-store.ts'
import type { EdgeBounds } from '../roles/edge/bounds.ts'
import type { edge } from '../roles/edge/role.ts'
import type { CallSource, ProxyBounds } from '../roles/proxy/role.ts'
import { RecentTasks } from '../roles/recent-tasks.ts'
import { runsRole, type ServedRole } from '../roles/role.ts'
import type { SchedulerParts } from '../roles/scheduler/role.ts'
import { StoredResponses } from '../roles/stored-responses.ts'
import type { PollerBounds } from '../roles/video-poller/bounds.ts'
import { resolveAdministrators } from './administrators.ts'
import type { CommandContext } from './command-context.ts'
import { ConfigReload } from './config-reload.ts'
import { openDemo } from './demo.ts'
import { LocalCalls } from './local-calls.ts'
import { Observation } from './observation.ts'
import { openPlatform, openTail, type Platform, requireTables } from './platform.ts'
import { assertListenPortFree } from './ports.ts'
import type { Runtime } from './runtime.ts'
import { ShutdownStack } from './shutdown-stack.ts'

/** What the greeting of a whole gateway shows. */
export interface Offer {
  /** The demo workspace's key; null where there is none, as on external servers: no workspace is opened unasked. */
  readonly demoKey: string | null
  readonly sampleModel: string
  /** Null where no videos are made. */
  readonly sampleVideoModel: string | null
}

interface Reloading {
  readonly reload: Pick<ConfigReload, 'check'>
}

export interface Gateway extends Offer, Reloading {
  readonly url: string
  /** Of the data folder's own administrator, where it was made just now. */
  readonly newAdminToken: string | null
  readonly sandbox: boolean
  /** Of metrics and health; null where they are off. */
  readonly observeUrl: string | null
  /** Finishes requests in flight, returns allowances, stops in reverse order. */
  stop(): Promise<void>
}

export interface RunningProcess extends Reloading {
  readonly role: ServedRole
  /** Null for a role that answers no HTTP. */
  readonly url: string | null
  /** Of metrics and health; null where they are off. */
  readonly observeUrl: string | null
  stop(): Promise<void>
}

type OnFatal = (fault: Error) => void

/** Overrides of the limits, for tests. */
export interface GatewayBounds {
  readonly edge?: Partial<EdgeBounds>
  readonly proxy?: ProxyBounds
  readonly videoPoller?: Partial<PollerBounds>
  readonly configReadMs?: number
}

export interface Supervised {
  /** Null where a provider is configured. */
  readonly sandboxUrl: string | null
  readonly endedWriters: NonNullable<SchedulerParts['endedWriters']>
  /** How many there are, this one included. */
  readonly workers?: number | undefined
}

interface StartContext {
  readonly config: Config
  readonly runtime: Runtime
  readonly onFatal: OnFatal
  readonly bounds: GatewayBounds
  readonly supervised?: Supervised | undefined
}

interface ProcessContext extends StartContext {
  readonly platform: Platform
  readonly stack: ShutdownStack
  readonly observation: Observation
  readonly reload: ConfigReload
}

type EdgeParts = Parameters<typeof edge.start>[0]

// Roles are imported when they start: they are most of the program, and a process with one role needs no other's.

const startProjector = async ({ platform, runtime, onFatal, stack, observation }: ProcessContext): Promise<void> => {
  const { projector } = await import('../roles/projector/role.ts')
  const { refillReadModels } = await import('./replay.ts')
  const { log } = platform
  const { database, place } = requireTables(platform)
  const store = database.projectionStore()
  const refill = refillReadModels({ log, place })
  const running = stack.push(
    await projector.start({ log, store, refill, openLedger: platform.openLedger, ...runtime, onFatal }),
  )
  observation.watchTables(() => running.projectedSequence())
  observation.add(() => [{ name: 'gateway_read_models_behind', value: running.modelsBehind() }])
  observation.health.check('projector', () => running.checks())
}

const startTail = async ({ platform, onFatal, stack, observation }: ProcessContext): Promise<LedgerTail> => {
  const tail = stack.push(await openTail(platform))
  observation.watchTail(tail)
  tail.done.catch(onFatal)
  return tail
}

const openAlerting = async ({
  config,
  reload,
  stack,
}: ProcessContext): Promise<NonNullable<SchedulerParts['alerting']>> => {
  const [{ UndiciClient }, { sendMail }] = await Promise.all([
    import('../adapters/http/client.ts'),
    import('../adapters/smtp/send-mail.ts'),
  ])
  let { alertDestinations } = config
  reload.onChange((changed) => {
    alertDestinations = changed.alertDestinations
  })
  return { destinations: () => alertDestinations, http: stack.push(new UndiciClient()), sendMail }
}

const startScheduler = async (context: ProcessContext, tail: LedgerTail): Promise<void> => {
  const { config, platform, runtime, stack, observation, supervised } = context
  const [{ scheduler }, { resolveSealing }] = await Promise.all([
    import('../roles/scheduler/role.ts'),
    import('./audit-keys.ts'),
  ])
  const sealing = resolveSealing(config, platform.tables, runtime)
  const running = stack.push(
    await scheduler.start({
      log: platform.log,
      tail,
      sealing,
      alerting: await openAlerting(context),
      snapshots: { store: platform.snapshots, openLedger: platform.openLedger },
      requestDeadlineMs: config.requestDeadlineMs,
      endedWriters: supervised?.endedWriters,
      isClockTrusted: () => observation.isClockTrusted,
      ...runtime,
    }),
  )
  observation.health.check('scheduler', () => running.checks())
  observation.health.addLivenessCheck(() => running.aliveChecks())
}

/** Null where a provider is configured. */
const openSandbox = async ({ config, runtime, stack, supervised }: ProcessContext): Promise<string | null> => {
  if (supervised !== undefined) return supervised.sandboxUrl
  if (!config.sandbox) return null
  runtime.logger.log('sandbox.enabled', {})
  const { startSandbox } = await import('../../sandbox/server.ts')
  return stack.push(await startSandbox(runtime)).url
}

const createSandboxProviders = ({ catalog }: Config, baseUrl: string): readonly ProviderConfig[] =>
  [...catalog.providers]
    .filter(([name]) => name !== sandboxVendor)
    .map(([name, { models }]) => ({
      name,
      profile: resolveProfile({ name, baseUrl }),
      dialect: resolveDialect(name),
      baseUrl,
      apiKey: 'sandbox',
      models,
    }))

const startProxy = async (
  context: ProcessContext,
  calls: CallSource,
  sandboxUrl: string | null,
): Promise<NonNullable<EdgeParts['ejections']>> => {
  const { config, platform, runtime, stack, observation, bounds, reload } = context
  const [{ proxy }, { UndiciClient }, { openProviders }, { openVendors }] = await Promise.all([
    import('../roles/proxy/role.ts'),
    import('../adapters/http/client.ts'),
    import('./providers.ts'),
    import('./video.ts'),
  ])
  const providers = sandboxUrl === null ? config.providers : createSandboxProviders(config, sandboxUrl)
  const http = stack.push(new UndiciClient())
  const opened = openProviders(providers, { http, clock: runtime.clock, files: reload.files })
  const vendors = openVendors(config, sandboxUrl, http, runtime)
  reload.onChange((changed) => {
    if (sandboxUrl === null) opened.replace(changed.providers)
    vendors.replace(changed.videoVendors)
  })
  const running = stack.push(
    await proxy.start({
      observer: observation.observer,
      log: platform.log,
      providers: opened.providers,
      vendors: vendors.vendors,
      http,
      calls,
      drainMs: config.drainMs,
      sharers: context.supervised?.workers,
      ...bounds.proxy,
      ...runtime,
    }),
  )
  observation.health.check('proxy', () => running.checks())
  return running.ejections
}

const openRecentTasks = ({ platform, runtime, stack }: ProcessContext, tail: LedgerTail): RecentTasks => {
  const { log } = platform
  const stored = requireTables(platform).database.tasks(createTablesCheck(log, () => tail.ledger.sequence))
  return stack.push(new RecentTasks({ ...runtime, tail, log, frames: log, stored }))
}

interface LedgerViews {
  readonly tail: LedgerTail
  readonly tasks: RecentTasks
}

const startVideoPoller = async (
  { config, platform, runtime, stack, bounds, observation, reload }: ProcessContext,
  { tail, tasks }: LedgerViews,
  queues: WorkQueues,
  sandboxUrl: string | null,
): Promise<void> => {
  const [{ videoPoller }, { UndiciClient }, { openVendors, openWebhooks }] = await Promise.all([
    import('../roles/video-poller/role.ts'),
    import('../adapters/http/client.ts'),
    import('./video.ts'),
  ])
  const http = stack.push(new UndiciClient())
  const vendors = openVendors(config, sandboxUrl, http, runtime)
  reload.onChange(({ videoVendors }) => vendors.replace(videoVendors))
  const running = stack.push(
    await videoPoller.start({
      observer: observation.observer,
      log: platform.log,
      tail,
      recentTasks: tasks,
      ...queues,
      vendors: vendors.vendors,
      webhooks: openWebhooks(config, stack),
      bounds: { stopMs: config.drainMs, ...bounds.videoPoller },
      ...runtime,
    }),
  )
  observation.health.check('video-poller', () => running.checks())
  observation.add(() => queues.readings())
}

/** On a connection of their own: large items must not delay the log's acknowledgements. */
const openQueues = async (
  { platform: { connect, queues }, stack }: ProcessContext,
  does: { readonly puts?: boolean; readonly takes?: boolean },
): Promise<WorkQueues> => {
  const connection = await connect('tasks')
  stack.push({ stop: () => connection.close() })
  const opened = await openWorkQueues({ ...queues, ...does, connection })
  stack.push({ stop: () => opened.close() })
  return opened
}

/** On a connection of their own: a lease must not wait behind frames or payloads. */
const openRateRecords = async ({ platform, stack }: ProcessContext): Promise<OpenRates> => {
  const connection = await platform.connect('rates')
  stack.push({ stop: () => connection.close() })
  const rates = await openRates({ ...platform.rates, connection })
  stack.push({ stop: async () => rates.close() })
  return rates
}

/** On a connection of their own, as the work queues are. */
const openOutcomeStore = async ({ platform, stack }: ProcessContext): Promise<OutcomeStore> => {
  const connection = await platform.connect('outcomes')
  stack.push({ stop: () => connection.close() })
  const outcomes = await openOutcomes({ ...platform.outcomes, connection })
  stack.push({ stop: () => outcomes.close() })
  return outcomes
}

const openEndUserStore = async ({ platform, stack }: ProcessContext): Promise<EndUserKeyStore> => {
  const connection = await platform.connect('end-users')
  stack.push({ stop: () => connection.close() })
  return openEndUserKeys({ ...platform.endUsers, connection })
}

/** By default, until the claim is read anew. */
const signInMinutes = 60

const openSignIn = ({ signIn }: Config): ReturnType<NonNullable<EdgeParts['signIn']>> => {
  if (signIn === null) return null
  const { issuer, client_id: clientId, client_secret: clientSecret = null, public_url: publicUrl, roles } = signIn
  const { scopes = ['openid', 'email'], session_minutes: minutes = signInMinutes } = signIn
  const redirectUrl = `${publicUrl.replace(/\/+$/, '')}/dashboard/session/oidc/callback`
  return {
    provider: createIdentityProvider({ issuer, clientId, clientSecret, scopes, redirectUrl }),
    label: signIn.label ?? new URL(issuer).host,
    nameClaim: signIn.name_claim ?? 'email',
    roleClaim: signIn.role_claim ?? 'groups',
    ...{ issuer, roles, isTls: redirectUrl.startsWith('https:'), sessionMs: minutes * 60_000 },
  }
}

/** Providers in place of the sandbox, and the other way, need a restart. */
const followConfig = ({
  config,
  reload,
}: ProcessContext): Pick<
  EdgeParts,
  'catalog' | 'admins' | 'signIn' | 'requestsPerMinute' | 'invoicing' | 'approvalAbovePicos' | 'alertDestinations'
> => {
  let { catalog, requestsPerMinute, invoicing, approvalAbovePicos, alertDestinations } = config
  let { admins } = resolveAdministrators(config)
  let signIn = openSignIn(config)
  reload.onChange((changed) => {
    if (changed.sandbox === config.sandbox) catalog = changed.catalog
    requestsPerMinute = changed.requestsPerMinute
    invoicing = changed.invoicing
    approvalAbovePicos = changed.approvalAbovePicos
    alertDestinations = changed.alertDestinations
    admins = resolveAdministrators(changed).admins
    signIn = openSignIn(changed)
  })
  return {
    catalog: () => catalog,
    admins: () => admins,
    signIn: () => signIn,
    requestsPerMinute: () => requestsPerMinute,
    invoicing: () => invoicing,
    approvalAbovePicos: () => approvalAbovePicos,
    alertDestinations: () => alertDestinations,
  }
}

/** Of providers, by the proxy of this process or by others. */
type EdgeCalls = Pick<EdgeParts, 'dispatch' | 'ejections'>

const startEdge = async (
  context: ProcessContext,
  { tail, tasks }: LedgerViews,
  { dispatch, ejections = null }: EdgeCalls,
  queues: WorkQueues,
): Promise<string> => {
  const { config, platform, runtime, stack, bounds, observation } = context
  const { listen, connectionsPerAddress, requestDeadlineMs, taskDeadlineMs } = config
  const { corsOrigins, tagNames, withdrawMs, drainMs, openBytesMax, workspaceOpenBytesMax, workspaceOutcomeBytesMax } =
    config
  const { database } = requireTables(platform)
  const behind = (): Error => new Error('the ledger is behind the log, which may have new prices')
  context.reload.beforeChange(() => waitForLogEnd({ log: platform.log, tail }, behind))
  const checkPosition = createTablesCheck(platform.log, () => tail.ledger.sequence)
  const [{ edge }, { listLogVerifiers }] = await Promise.all([
    import('../roles/edge/role.ts'),
    import('./audit-keys.ts'),
  ])
  const responseOwners = new StoredResponses({
    tail,
    log: platform.log,
    frames: platform.log,
    ...runtime,
    stored: database.responses(checkPosition),
  })
  stack.push(responseOwners)
  const running = await edge.start({
    log: platform.log,
    tail,
    dispatch,
    ejections,
    ...followConfig(context),
    readModels: database.readModels(checkPosition),
    frames: platform.log,
    verifiers: listLogVerifiers(config),
    responseOwners,
    taskQueue: queues.tasks,
    outcomes: await openOutcomeStore(context),
    endUserKeys: await openEndUserStore(context),
    tagNames,
    tasks,
    callbacks: config.callbacks !== null,
    taskDeadlineMs,
    rateRecords: await openRateRecords(context),
    requestDeadlineMs,
    listen: { ...listen, isShared: context.supervised !== undefined },
    corsOrigins,
    observer: observation.observer,
    requestLines: config.logRequests && ['debug', 'info'].includes(config.logLevel),
    checks: observation.health.baseChecks,
    adminChecks: context.reload.checks,
    bounds: {
      withdrawMs,
      stopMs: drainMs,
      openBytesMax,
      workspaceOpenBytesMax,
      workspaceOutcomeBytesMax,
      ...(connectionsPerAddress === null ? {} : { connectionsPerAddressMax: connectionsPerAddress }),
      ...bounds.edge,
    },
    ...runtime,
  })
  observation.health.check('edge', () => running.checks())
  observation.add(running.readings)
  return stack.push(running).url
}

const preferredModel = 'openai/gpt-4o-mini'

const sampleModelOf = ({ catalog }: Config, { tail }: CommandContext, nowMs: number): string => {
  const models = callableModels(catalog, tail.ledger.prices, nowMs).map(({ model }) => model)
  return models.includes(preferredModel) ? preferredModel : (models[0] ?? preferredModel)
}

const sampleVideoModelOf = ({ catalog }: Config, { tail }: CommandContext, nowMs: number): string | null => {
  const models = callableVideoModels(catalog, tail.ledger.prices, nowMs).map(({ model }) => model)
  return models.find((model) => model.endsWith('/v3')) ?? models[0] ?? null
}

/** The prices of the configuration and, on embedded servers, a workspace to begin with. */
const prepareOffer = async (
  { config, runtime, platform, reload }: ProcessContext,
  tail: LedgerTail,
): Promise<Offer> => {
  const commandContext = { log: platform.log, tail }
  await publishUnknownPrices(commandContext, config.prices)
  reload.beforeChange(({ prices }) => publishUnknownPrices(commandContext, prices))
  return {
    demoKey:
      config.external === null && config.demo ? await openDemo(commandContext, config.dataFolder, runtime) : null,
    sampleModel: sampleModelOf(config, commandContext, runtime.clock()),
    sampleVideoModel: sampleVideoModelOf(config, commandContext, runtime.clock()),
  }
}

const startAll = async (context: ProcessContext): Promise<Omit<Gateway, 'stop' | 'observeUrl' | 'reload'>> => {
  const { config } = context
  await startProjector(context)
  const tail = await startTail(context)
  await startScheduler(context, tail)
  const offer = await prepareOffer(context, tail)
  const calls = new LocalCalls()
  const views = { tail, tasks: openRecentTasks(context, tail) }
  const sandboxUrl = await openSandbox(context)
  const ejections = await startProxy(context, calls, sandboxUrl)
  const queues = await openQueues(context, { puts: true, takes: true })
  await startVideoPoller(context, views, queues, sandboxUrl)
  const { newToken } = resolveAdministrators(config)
  const url = await startEdge(context, views, { dispatch: calls.dispatch, ejections }, queues)
  return { url, ...offer, newAdminToken: newToken, sandbox: config.sandbox }
}

/** On a connection of their own: a long answer must not delay the log's acknowledgements. */
const openCalls = async <Calls extends { close(): Promise<void> }>(
  { config, platform, runtime, stack }: ProcessContext,
  open: (options: Parameters<typeof openCallClient>[0]) => Calls,
): Promise<Calls> => {
  const connection = await platform.connect('calls')
  stack.push({ stop: () => connection.close() })
  const calls = open({ connection, name: config.log.name, ...runtime })
  stack.push({ stop: () => calls.close() })
  return calls
}

const warnWithoutPrices = ({ runtime }: ProcessContext, tail: LedgerTail): void => {
  if (tail.ledger.prices.size === 0) runtime.logger.log('prices.none_published', {})
}

const warnWithoutVendors = ({ config, runtime }: ProcessContext): void => {
  if (config.videoVendors.length === 0 && !config.sandbox) runtime.logger.log('video.no_vendor_configured', {})
}

interface StartedRole {
  readonly url: string | null
  readonly offer?: Offer
}

const startEdgeRole = async (context: ProcessContext, openCallsOf: () => Promise<EdgeCalls>): Promise<StartedRole> => {
  const tail = await startTail(context)
  warnWithoutPrices(context, tail)
  const views = { tail, tasks: openRecentTasks(context, tail) }
  const queues = await openQueues(context, { puts: true })
  return { url: await startEdge(context, views, await openCallsOf(), queues) }
}

const startVideoPollerRole = async (context: ProcessContext, tail: LedgerTail): Promise<StartedRole> => {
  warnWithoutVendors(context)
  const views = { tail, tasks: openRecentTasks(context, tail) }
  const queues = await openQueues(context, { takes: true })
  await startVideoPoller(context, views, queues, await openSandbox(context))
  return { url: null }
}

const roleStarters: { readonly [Role in ServedRole]: (context: ProcessContext) => Promise<StartedRole> } = {
  edge: (context) => startEdgeRole(context, () => openCalls(context, openCallClient)),
  proxy: async (context) => {
    await startProxy(context, await openCalls(context, openCallServer), await openSandbox(context))
    return { url: null }
  },
  worker: (context) =>
    startEdgeRole(context, async () => {
      const calls = new LocalCalls()
      const ejections = await startProxy(context, calls, await openSandbox(context))
      return { dispatch: calls.dispatch, ejections }
    }),
  background: async (context) => {
    await startProjector(context)
    const tail = await startTail(context)
    await startScheduler(context, tail)
    const started = context.supervised === undefined ? {} : { offer: await prepareOffer(context, tail) }
    return { ...(await startVideoPollerRole(context, tail)), ...started }
  },
  'video-poller': async (context) => startVideoPollerRole(context, await startTail(context)),
  projector: async (context) => {
    await startProjector(context)
    return { url: null }
  },
  scheduler: async (context) => {
    await startScheduler(context, await startTail(context))
    return { url: null }
  },
}

interface StartedProcess {
  /** Of metrics and health; null where they are off. */
  readonly observeUrl: string | null
  readonly observation: Observation
  readonly reload: ConfigReload
  /** What its frames in the log are named by. */
  readonly writer: string
  stop(): Promise<void>
}

const startOnPlatform = async <Started extends object>(
  ground: StartContext,
  role: ServedRole | 'gateway',
  start: (context: ProcessContext) => Promise<Started>,
): Promise<Started & StartedProcess> => {
  const { config, runtime, bounds, supervised } = ground
  const stack = new ShutdownStack()
  const observation = stack.push(await Observation.open(role, config, runtime))
  const { observer } = observation
  const onFatal = (fault: Error): void => {
    observation.health.fail(fault)
    ground.onFatal(fault)
  }
  try {
    if (supervised === undefined) {
      if (runsRole(role, 'edge')) await assertListenPortFree(config)
      if (config.observe !== null) await observation.listen(config.observe, runtime.logger)
    }
    const embedded = role === 'gateway' ? 'own' : 'running'
    const { queueLeaseMs } = bounds.videoPoller ?? {}
    const platform = stack.push(
      await openPlatform(config, runtime, { role, embedded, queueLeaseMs, observer, onFatal }),
    )
    observation.watchLog(platform.log, runtime)
    const watches = supervised === undefined
    const reload = stack.push(new ConfigReload(config, runtime, { everyMs: bounds.configReadMs, watches }))
    observation.add(() => reload.readings())
    observation.health.check('configuration', reload.checks)
    const started = await start({ ...ground, onFatal, platform, stack, observation, reload })
    observation.health.enter('started')
    const stop = (): Promise<void> => {
      observation.health.enter('stopping')
      return stack.stop()
    }
    return { ...started, observeUrl: observation.url, observation, reload, writer: platform.log.writer, stop }
  } catch (fault) {
    await stack.stop()
    throw fault
  }
}

/** Starts every role in this process. Where one cannot start, stops the others and rejects. */
export const startGateway = (
  config: Config,
  runtime: Runtime,
  onFatal: OnFatal,
  bounds: GatewayBounds = {},
): Promise<Gateway> => startOnPlatform({ config, runtime, onFatal, bounds }, 'gateway', startAll)

/** Starts one role, or several, on servers that run already. Rejects like `startGateway`. */
export const startRole = async (
  role: ServedRole,
  config: Config,
  runtime: Runtime,
  onFatal: OnFatal,
  bounds: GatewayBounds = {},
  supervised?: Supervised,
): Promise<RunningProcess & StartedRole & StartedProcess> => ({
  role,
  ...(await startOnPlatform({ config, runtime, onFatal, bounds, supervised }, role, roleStarters[role])),
})
