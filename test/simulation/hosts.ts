import { openCallClient } from '../../src/adapters/nats/calls/call-client.ts'
import { openCallServer } from '../../src/adapters/nats/calls/call-server.ts'
import type { OpenLog } from '../../src/adapters/nats/log.ts'
import { openOutcomes } from '../../src/adapters/nats/outcomes/open.ts'
import { openRates } from '../../src/adapters/nats/rates/open.ts'
import { openWorkQueues, type WorkQueues } from '../../src/adapters/nats/work-queue/open.ts'
import { SignedHeads } from '../../src/audit/signed-heads.ts'
import { LocalCalls } from '../../src/cli/local-calls.ts'
import type { Catalog } from '../../src/domain/routing/plan.ts'
import type { LedgerTail } from '../../src/log/ledger-tail.ts'
import type { Provider } from '../../src/providers/dialect/provider.ts'
import { openVideoVendor } from '../../src/providers/vv-video/open-video-vendor.ts'
import type { Dispatch } from '../../src/roles/dispatch.ts'
import { edge } from '../../src/roles/edge/role.ts'
import { projector } from '../../src/roles/projector/role.ts'
import { type CallSource, proxy } from '../../src/roles/proxy/role.ts'
import { RecentTasks } from '../../src/roles/recent-tasks.ts'
import type { ProcessRole } from '../../src/roles/role.ts'
import { scheduler } from '../../src/roles/scheduler/role.ts'
import { StoredResponses } from '../../src/roles/stored-responses.ts'
import { videoPoller } from '../../src/roles/video-poller/role.ts'
import { noReadModels } from '../roles/edge/edge-fixture.ts'
import { MemoryEndUserKeys } from '../support/memory-end-users.ts'
import { pollerBounds, simBounds, vendorTimeouts } from './bounds.ts'
import {
  connectSim,
  createLedgerOpener,
  logName,
  logOptions,
  openSimLedger,
  openSimLog,
  openSimSnapshots,
  openSimTail,
} from './open-log.ts'
import type { Start } from './start.ts'
import { vendorBaseUrl } from './vendor.ts'

/** Of requests with an idempotency key: their number, by which the log shows which of them are one. */
export const keyedTag = 'number'

const providers: ReadonlyMap<string, Provider> = new Map(
  ['openai', 'grok'].map((name) => [
    name,
    { name, dialect: 'openai', profile: 'openai', baseUrl: `https://${name}.example/v1`, apiKey: 'secret' },
  ]),
)

const simCatalog: Catalog = {
  providers: new Map([
    ['openai', { models: {}, surfaces: ['chat', 'messages', 'responses'], profile: 'openai' }],
    ['grok', { models: {}, surfaces: ['chat'], profile: 'openai' }],
    ['vv', { models: { v3: 'vendor-v3' } }],
  ]),
  aliases: {},
  routers: { auto: { candidates: ['openai/plain', 'grok/plain'] } },
}

const startSimProjector = async (start: Start, log: OpenLog, role: ProcessRole): Promise<void> => {
  const { tables, runtime, onFatal, push } = start
  const openLedger = await openSimLedger(start, log, role)
  push(await projector.start({ log, store: tables, openLedger, ...runtime, onFatal }))
}

const startSimScheduler = async (start: Start, log: OpenLog, tail: LedgerTail, role: ProcessRole): Promise<void> => {
  const { signer, heads, sharedHeads, runtime, push } = start
  const stores = [heads, sharedHeads]
  const sealing = { signer, previous: [], heads: new SignedHeads({ stores, ...runtime }), firstSeal: false }
  const store = await openSimSnapshots(start, role)
  const snapshots = { store, openLedger: createLedgerOpener(start, log, store), everyMs: simBounds.snapshotEveryMs }
  const { requestDeadlineMs } = simBounds
  push(await scheduler.start({ log, tail, sealing, snapshots, requestDeadlineMs, ...runtime }))
}

const startSimProxy = async (start: Start, log: OpenLog, calls: CallSource): Promise<void> => {
  const { upstream, runtime, push } = start
  const vendors = openSimVendors(start)
  push(await proxy.start({ log, providers, vendors, http: upstream.client(), calls, ...simBounds, ...runtime }))
}

const openSimVendors = ({ vendor, runtime: { clock } }: Start) => {
  const config = { name: 'vv', baseUrl: vendorBaseUrl, credential: { type: 'key', apiKey: 'secret' } } as const
  const parts = { config: { ...config, callsPerSecond: 50 }, http: vendor.client(), clock }
  return new Map([['vv', openVideoVendor({ ...parts, ...vendorTimeouts })]])
}

interface Views {
  readonly tail: LedgerTail
  readonly tasks: RecentTasks
}

const openViews = async (start: Start, log: OpenLog, role: ProcessRole): Promise<Views> => {
  const { runtime, tables, push } = start
  const tail = await openSimTail(start, log, role)
  const tasks = push(new RecentTasks({ tail, log, frames: log, ...runtime, stored: tables.tasks() }))
  return { tail, tasks }
}

const openSimQueues = async (
  start: Start,
  role: ProcessRole,
  does: { readonly puts?: boolean; readonly takes?: boolean },
): Promise<WorkQueues> => {
  const connection = await connectSim(start, role, 'tasks')
  const { queueLeaseMs: leaseMs } = simBounds
  const queues = await openWorkQueues({
    ...logOptions,
    ...start.runtime,
    ...does,
    role,
    leaseMs,
    create: false,
    connection,
  })
  start.push({ stop: () => queues.close() })
  return queues
}

const startSimVideoPoller = async (
  start: Start,
  log: OpenLog,
  { tail, tasks: recentTasks }: Views,
  queues: WorkQueues,
): Promise<void> => {
  const vendors = openSimVendors(start)
  const parts = { log, tail, recentTasks, ...queues, vendors, webhooks: null, bounds: pollerBounds }
  start.push(await videoPoller.start({ ...parts, ...start.runtime }))
}

const startSimEdge = async (
  start: Start,
  log: OpenLog,
  { tail, tasks }: Views,
  dispatch: Dispatch,
  queues: WorkQueues,
): Promise<void> => {
  const { process, runtime, tables, push, admins, listening } = start
  const options = { ...logOptions, ...runtime, role: 'edge', create: false } as const
  const outcomes = await openOutcomes({ ...options, connection: await connectSim(start, 'edge', 'outcomes') })
  push({ stop: () => outcomes.close() })
  const rateRecords = await openRates({ ...options, connection: await connectSim(start, 'edge', 'rates') })
  push({ stop: async () => rateRecords.close() })
  const responseOwners = push(new StoredResponses({ tail, log, frames: log, ...runtime, stored: tables.responses() }))
  const running = await edge.start({
    ...{
      log,
      tail,
      dispatch,
      approvalAbovePicos: () => null,
      alertDestinations: () => new Map(),
      admins: () => admins,
      outcomes,
      rateRecords,
      endUserKeys: new MemoryEndUserKeys(),
      tasks,
      responseOwners,
      ...runtime,
    },
    catalog: () => simCatalog,
    readModels: { ...noReadModels, findRequestFrames: (requestId) => tables.findRequestFrames(requestId) },
    frames: log,
    verifiers: [],
    taskQueue: queues.tasks,
    callbacks: false,
    tagNames: [keyedTag],
    taskDeadlineMs: simBounds.taskDeadlineMs,
    requestsPerMinute: () => null,
    requestDeadlineMs: simBounds.requestDeadlineMs,
    listen: { host: '127.0.0.1', port: 0 },
    // Node's own check for slow clients goes by real time.
    bounds: { ...simBounds, stopMs: simBounds.drainMs, slowClientsCheckMs: 2 ** 31 - 1 },
  })
  push(running)
  listening(process, running.port)
}

export type HostKind =
  | 'gateway'
  | 'worker'
  | 'background'
  | 'edge'
  | 'proxy'
  | 'projector'
  | 'scheduler'
  | 'video-poller'

const openCalls = async <Calls extends { close(): Promise<void> }>(
  start: Start,
  role: ProcessRole,
  open: (options: Parameters<typeof openCallClient>[0]) => Calls,
): Promise<Calls> => {
  const calls = open({ ...start.runtime, connection: await connectSim(start, role, 'calls'), name: logName })
  start.push({ stop: () => calls.close() })
  return calls
}

/** As `gateway serve`, its workers and `gateway serve --role` compose them. */
export const hostStarters: { readonly [Kind in HostKind]: (start: Start) => Promise<void> } = {
  gateway: async (start) => {
    const log = await openSimLog(start, 'gateway')
    await startSimProjector(start, log, 'gateway')
    const views = await openViews(start, log, 'gateway')
    await startSimScheduler(start, log, views.tail, 'gateway')
    const calls = new LocalCalls()
    await startSimProxy(start, log, calls)
    const queues = await openSimQueues(start, 'gateway', { puts: true, takes: true })
    await startSimVideoPoller(start, log, views, queues)
    await startSimEdge(start, log, views, calls.dispatch, queues)
  },
  worker: async (start) => {
    const log = await openSimLog(start, 'worker')
    const views = await openViews(start, log, 'worker')
    const queues = await openSimQueues(start, 'worker', { puts: true })
    const calls = new LocalCalls()
    await startSimProxy(start, log, calls)
    await startSimEdge(start, log, views, calls.dispatch, queues)
  },
  background: async (start) => {
    const log = await openSimLog(start, 'background')
    await startSimProjector(start, log, 'background')
    const views = await openViews(start, log, 'background')
    await startSimScheduler(start, log, views.tail, 'background')
    await startSimVideoPoller(start, log, views, await openSimQueues(start, 'background', { takes: true }))
  },
  edge: async (start) => {
    const log = await openSimLog(start, 'edge')
    const views = await openViews(start, log, 'edge')
    const queues = await openSimQueues(start, 'edge', { puts: true })
    const { dispatch } = await openCalls(start, 'edge', openCallClient)
    await startSimEdge(start, log, views, dispatch, queues)
  },
  proxy: async (start) => {
    const log = await openSimLog(start, 'proxy')
    await startSimProxy(start, log, await openCalls(start, 'proxy', openCallServer))
  },
  'video-poller': async (start) => {
    const log = await openSimLog(start, 'video-poller')
    const views = await openViews(start, log, 'video-poller')
    await startSimVideoPoller(start, log, views, await openSimQueues(start, 'video-poller', { takes: true }))
  },
  projector: async (start) => {
    await startSimProjector(start, await openSimLog(start, 'projector'), 'projector')
  },
  scheduler: async (start) => {
    const log = await openSimLog(start, 'scheduler')
    await startSimScheduler(start, log, await openSimTail(start, log, 'scheduler'), 'scheduler')
  },
}
