import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { type Applied, applyFrame, initialLedger, type Ledger } from '../../../src/domain/ledger/ledger.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import type { TaskPayload } from '../../../src/domain/video/request.ts'
import { decideSettlement } from '../../../src/domain/video/settle.ts'
import { isEnded, type Task } from '../../../src/domain/video/task.ts'
import { balancePicos } from '../../../src/domain/wallet/wallet.ts'
import { getValidator } from '../../../src/encoding/schema-validation.ts'
import type { EventOf, EventType, FactOf } from '../../../src/events/envelope.ts'
import type { Appended, LogOf } from '../../../src/log/event-log.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import type { PollerBounds } from '../../../src/roles/video-poller/bounds.ts'
import type { Webhooks } from '../../../src/roles/video-poller/callback-sender.ts'
import { type VideoPollerParts, videoPoller } from '../../../src/roles/video-poller/role.ts'
import type { PollerEvent } from '../../../src/roles/video-poller/task-records.ts'
import type { WorkItem } from '../../../src/roles/work-queue.ts'
import type { LogEvent } from '../../../src/runtime/log-events.ts'
import { type LogLine, recordingLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { FakeQueue } from './fake-queue.ts'
import { ScriptedVendor } from './scripted-vendor.ts'

export const workspaceId = 'acme'
export const prompt = 'a secret cat on a secret roof'

/** Short, and a lease that a slow machine does not lose by itself. */
export const quick: Partial<PollerBounds> = {
  queueLeaseMs: 30_000,
  queueRenewMs: 10_000,
  taskLeaseTickMs: 10,
  taskHoldWaitMs: 100,
  taskDoubtMs: 20,
  taskPollMs: 3,
  taskPollMaxMs: 6,
  taskMissingMs: 10,
  taskRetryMs: 2,
  taskRetryMaxMs: 8,
  taskRetryAfterMaxMs: 20,
  lateVerdictWindowMs: 60_000,
  latePollMs: 3,
  latePollMaxMs: 6,
  stopMs: 2_000,
  lastAnswerMs: 200,
}

export interface Ordered {
  readonly taskId?: string
  readonly callbackUrl?: string | null
  readonly surface?: 'video' | 'native-video'
  readonly provider?: string
}

/** Every receiver says yes. */
const friendly: Webhooks = {
  http: {
    request: async () => ({
      status: 204,
      headers: {},
      body: (async function* () {})(),
      takeArrived: () => [],
      discard: () => undefined,
    }),
  },
  secretOf: () => 'whsec_c2VjcmV0',
}

/** What outlives processes: the log, the queues and the vendor. */
export class World {
  readonly log = new MemoryLog({ timeOf: () => new Date().toISOString() })
  readonly tasks = new FakeQueue()
  readonly callbacks = new FakeQueue()
  readonly vendor = new ScriptedVendor()
  /** Lines that processes logged. */
  readonly lines: LogLine[] = []
  readonly #payloads = new Map<string, Uint8Array>()

  constructor() {
    void this.log.postToWallet(workspaceId, [
      { type: 'WalletCredited', data: { workspaceId, amount: '100', reference: 'invoice-1', note: '' } },
    ])
  }

  payload({
    taskId = 'task_1',
    callbackUrl = 'https://caller.example/hook',
    provider = 'vv',
  }: Ordered = {}): Uint8Array {
    const payload: TaskPayload = {
      taskId,
      workspaceId,
      kind: 'text2video',
      provider,
      upstreamModel: 'vendor-v3',
      body: { prompt, duration: '5' },
      callbackUrl,
    }
    const bytes = Buffer.from(JSON.stringify(payload))
    this.#payloads.set(taskId, bytes)
    return bytes
  }

  /** As an edge does: the payload first, then the hold. */
  async order(ordered: Ordered = {}): Promise<void> {
    const { taskId = 'task_1' } = ordered
    await this.tasks.put(taskId, this.payload(ordered))
    await this.hold(ordered)
  }

  async hold({ taskId = 'task_1', surface = 'video', provider = 'vv' }: Ordered = {}): Promise<void> {
    const payloadDigest = createHash('sha256')
      .update(this.#payloads.get(taskId) ?? '')
      .digest('hex')
    const order = {
      keyId: 'key-1',
      surface,
      kind: 'text2video',
      model: 'vv/v3',
      provider,
      upstreamModel: 'vendor-v3',
      priceVersion: 'prices-1',
      unitPrice: '0.14',
      unitsMax: '4',
      requestDigest: '0'.repeat(64),
      payloadDigest,
    } as const
    const deadline = new Date(Date.now() + 3_600_000).toISOString()
    await this.log.postToWallet(workspaceId, [
      {
        type: 'HoldPlaced',
        data: { holdId: taskId, workspaceId, purpose: 'task', amount: '0.56', deadline, owner: 'edge-1', task: order },
      },
    ])
  }

  /** As the scheduler does at the deadline. */
  async expire(taskId = 'task_1'): Promise<void> {
    await this.log.postToWallet(workspaceId, [
      { type: 'HoldReleased', data: { holdId: taskId, workspaceId, reason: 'expired' } },
    ])
  }

  /** As another poller does, whose submit of the task was refused. */
  async refuse(taskId = 'task_1'): Promise<void> {
    const open = this.task(taskId)
    if (open === null) throw new Error(`${taskId} has no hold`)
    const refusal = { outcome: 'FAILURE', vendorTaskId: null, deduction: null, failReason: 'no', results: [] } as const
    await this.log.append([decideSettlement(open, { ...refusal, vendorCode: 1301 })])
  }

  folded(): { readonly ledger: Ledger; readonly applied: readonly Applied[] } {
    const ledger = initialLedger()
    return { ledger, applied: this.log.frames.flatMap((frame) => applyFrame(ledger, frame)) }
  }

  /** How a task stands by the whole log. */
  task(taskId = 'task_1'): Task | null {
    return this.folded().applied.findLast(({ task }) => task?.taskId === taskId)?.task ?? null
  }

  /** How often a task ended: what came second does not count. */
  ends(taskId = 'task_1'): number {
    return this.folded().applied.filter(
      ({ task, event }) => task?.taskId === taskId && (event.type === 'TaskSettled' || event.type === 'HoldReleased'),
    ).length
  }

  wallet(): { readonly balance: string; readonly held: string } {
    const wallet = this.folded().ledger.wallets.get(workspaceId)!
    return { balance: formatUsd(balancePicos(wallet)), held: formatUsd(wallet.heldPicos) }
  }

  events<T extends EventType>(type: T): readonly EventOf<T>['data'][] {
    return this.log.frames
      .flatMap(({ events }) => events)
      .filter((event) => event.type === type)
      .map(({ data }) => data as EventOf<T>['data'])
  }

  /** What pollers said, in order. */
  said(): readonly string[] {
    return this.log.frames
      .flatMap(({ events }) => events)
      .flatMap((event) =>
        event.type === 'TaskProgressed'
          ? [`${event.type} ${event.data.status} ${event.data.progress}`]
          : event.type.startsWith('Task') || event.type === 'LateVerdictSeen'
            ? [event.type]
            : [],
      )
  }

  /** The tables, as far as the log goes. */
  async find(workspace: string, taskId: string): Promise<Task | null> {
    const task = this.task(taskId)
    return task?.workspaceId === workspace ? task : null
  }

  logged(event: LogEvent): number {
    return this.lines.filter((line) => line.event === event).length
  }
}

const never = <T>(): Promise<T> => new Promise(() => {})

/** Everything that a process does to the world goes through here; once it is dead, it does nothing more. */
export class Life {
  isOver = false
  effects = 0
  readonly #diesAt: number
  readonly #diesBefore: boolean
  readonly #onDeath: () => void

  constructor(diesAt = Number.POSITIVE_INFINITY, diesBefore = false, onDeath: () => void = () => {}) {
    this.#diesAt = diesAt
    this.#diesBefore = diesBefore
    this.#onDeath = onDeath
  }

  async effect<T>(work: () => Promise<T>): Promise<T> {
    if (this.isOver) return never()
    this.effects += 1
    const isLast = this.effects === this.#diesAt
    if (isLast && this.#diesBefore) return this.#die()
    const result = await work()
    if (isLast) return this.#die()
    return this.isOver ? never() : result
  }

  #die<T>(): Promise<T> {
    this.isOver = true
    this.#onDeath()
    return never()
  }
}

const validate = (facts: readonly FactOf<PollerEvent>[]): void => {
  for (const { type, data } of facts) {
    const problems = getValidator(`events/${type}.v1.json`, { allErrors: true })(data)
    if (problems.length > 0) throw new Error(`${type}: ${JSON.stringify(problems)}`)
  }
}

export interface ProcessOptions {
  readonly life?: Life
  readonly bounds?: Partial<PollerBounds>
  readonly webhooks?: Webhooks | null
  readonly steadyMs?: () => number
  /** Runs before an append reaches the log. */
  readonly beforeAppend?: (facts: readonly FactOf<PollerEvent>[]) => Promise<void>
  readonly find?: VideoPollerParts['recentTasks']['find']
}

const itemOf = (item: WorkItem, life: Life): WorkItem => ({
  id: item.id,
  get deliveries() {
    return item.deliveries
  },
  get mayBeShared() {
    return item.mayBeShared
  },
  bytes: () => life.effect(() => item.bytes()),
  renew: () => !life.isOver && item.renew(),
  done: () => life.effect(() => item.done()),
  again: (delayMs) => {
    if (!life.isOver) item.again(delayMs)
  },
})

const queueOf = (queue: FakeQueue, life: Life): VideoPollerParts['tasks'] => ({
  put: (id, bytes) => life.effect(() => queue.put(id, bytes)),
  withdraw: (id) => life.effect(() => queue.withdraw(id)),
  take: (itemsMax, onItem) => queue.take(itemsMax, (item) => onItem(itemOf(item, life))),
})

const logOf = ({ log }: World, life: Life, beforeAppend: ProcessOptions['beforeAppend']): LogOf<PollerEvent> => ({
  append: (facts): Promise<Appended> =>
    life.effect(async () => {
      validate(facts)
      await beforeAppend?.(facts)
      return log.append(facts)
    }),
  appendToWallet: () => Promise.reject(new Error('a poller decides nothing')),
  postToWallet: () => Promise.reject(new Error('a poller moves no wallet')),
  follow: (from, onFrame) => log.follow(from, onFrame),
  lastSequence: () => log.lastSequence(),
  oldestUnacknowledgedMs: () => 0,
  writer: log.writer,
})

/** A poller as a process of its own: it begins with the tables, and follows the log from there. */
export const startProcess = async (t: Test, world: World, options: ProcessOptions = {}) => {
  const { life = new Life(), bounds, webhooks = friendly, steadyMs, beforeAppend } = options
  const tail = new LedgerTail(world.folded().ledger, world.log)
  const { vendor } = world
  const running = await videoPoller.start({
    log: logOf(world, life, beforeAppend),
    tail,
    recentTasks: { find: options.find ?? ((workspace, taskId) => world.find(workspace, taskId)) },
    tasks: queueOf(world.tasks, life),
    callbacks: queueOf(world.callbacks, life),
    vendors: new Map([
      [
        'vv',
        {
          callsPerSecond: vendor.callsPerSecond,
          submit: (payload) => life.effect(() => vendor.submit(payload)),
          query: (kind, id) => life.effect(() => vendor.query(kind, id)),
          find: (kind, id) => life.effect(() => vendor.find(kind, id)),
        },
      ],
    ]),
    webhooks,
    clock: Date.now,
    random: () => 0.5,
    logger: recordingLogger(world.lines),
    bounds: { ...quick, ...bounds },
    ...(steadyMs === undefined ? {} : { steadyMs }),
  })
  let stopped: Promise<unknown> | undefined
  const stop = (): Promise<unknown> => {
    stopped ??= running.stop().then(() => tail.stop())
    return stopped
  }
  t.teardown(stop)
  return { tail, stop, life }
}

export const isDone =
  (world: World, taskId = 'task_1') =>
  (): boolean =>
    world.tasks.done.includes(taskId)

export const isEndedIn =
  (world: World, taskId = 'task_1') =>
  (): boolean => {
    const task = world.task(taskId)
    return task !== null && isEnded(task)
  }
