import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { WorkQueue } from '../../../roles/work-queue.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Reading } from '../../../runtime/observer.ts'
import { buildInboxPrefix } from '../connect.ts'
import { checkDurability, checkServer, type Durability } from '../durability.ts'
import { ensureStream } from '../ensure-stream.ts'
import { natsLimits } from '../limits.ts'
import { Link } from '../link.ts'
import { assertMayPublish } from '../may-publish.ts'
import { Publisher } from '../publisher.ts'
import { buildQueuesNames, type QueueNames, queueStream } from '../streams.ts'
import { type ConsumerSpec, ensureConsumer } from './consumer.ts'
import { QueueContents } from './contents.ts'
import { QueueHealth } from './health.ts'
import { PullConsumer, type PullConsumerParts } from './pull-consumer.ts'
import { QueueStore, type QueueStoreParts } from './store.ts'

export interface QueueOptions {
  /** Closed by the caller, afterwards. Not the log's connection: large payloads would delay its frames. */
  readonly connection: NatsConnection
  /** `log.name` of the configuration: the stream is `<name>_TASKS`. */
  readonly name: string
  readonly role: string
  readonly replicas: number
  readonly durability: Durability
  readonly monitoringUrl?: string | undefined
  readonly create: boolean
  /** What the role does here: opening fails when permissions or consumer settings do not allow it. */
  readonly puts?: boolean
  readonly takes?: boolean
  /** A lease not renewed for so long ends; `queueLeaseMs` by default. */
  readonly leaseMs?: number
  readonly clock: Clock
  readonly logger: Logger
}

export interface WorkQueues {
  readonly tasks: WorkQueue
  readonly callbacks: WorkQueue
  /** Asks the server, which allows that only to consuming roles. */
  readings(): Promise<readonly Reading[]>
  /** Rejects pending requests with `log_unavailable`. Consumers must be stopped before. */
  close(): Promise<void>
}

type QueueParts = Omit<PullConsumerParts, 'contents'>

class NatsWorkQueue implements WorkQueue {
  readonly #parts: PullConsumerParts

  constructor(parts: QueueParts, store: QueueStore, clock: Clock, isPutOnce: boolean) {
    this.#parts = { ...parts, contents: new QueueContents(parts.consumer.queue, store, clock, isPutOnce) }
  }

  put(id: string, bytes: Uint8Array): Promise<void> {
    return this.#parts.contents.put(id, bytes)
  }

  withdraw(id: string): Promise<void> {
    return this.#parts.contents.withdraw(id)
  }

  take(itemsMax: number, onItem: Parameters<WorkQueue['take']>[1]): PullConsumer {
    return new PullConsumer(this.#parts, itemsMax, onItem)
  }
}

const consumersOf = (options: QueueOptions): { readonly tasks: ConsumerSpec; readonly callbacks: ConsumerSpec } => {
  const { stream, tasks, callbacks } = buildQueuesNames(options.name)
  const { leaseMs = sharedLimits.queueLeaseMs } = options
  const wanted = (queue: QueueNames, itemsMax: number): ConsumerSpec => ({ stream, queue, leaseMs, itemsMax })
  return { tasks: wanted(tasks, natsLimits.queueTasksMax), callbacks: wanted(callbacks, natsLimits.queueCallbacksMax) }
}

const readingsOf = async (
  jsm: JetStreamManager,
  { stream, queue }: ConsumerSpec,
  name: 'tasks' | 'callbacks',
): Promise<readonly Reading[]> => {
  const { num_pending, num_ack_pending } = await jsm.consumers.info(stream, queue.consumer)
  return [
    { name: 'gateway_queue_items', labels: { queue: name, state: 'waiting' }, value: num_pending },
    { name: 'gateway_queue_items', labels: { queue: name, state: 'in_hand' }, value: num_ack_pending },
  ]
}

const assemble = (options: QueueOptions, jsm: JetStreamManager): WorkQueues => {
  const { connection, clock, create, logger, role } = options
  const { tasks, callbacks } = consumersOf(options)
  const { stream } = tasks
  const link = new Link(connection, {
    onRefused: ({ message }) => logger.log('queue.permission_denied', { reason: message }),
  })
  const health = new QueueHealth(logger, stream)
  const inboxPrefix = buildInboxPrefix(role)
  const publisher = new Publisher(connection, stream, inboxPrefix)
  const storeParts: QueueStoreParts = { publisher, jsm, stream, link, health }
  const store = new QueueStore(storeParts)
  const parts = { connection, jsm, create, inboxPrefix, link, health, logger }
  return {
    tasks: new NatsWorkQueue({ ...parts, consumer: tasks }, store, clock, false), // What was withdrawn can be put again at once.
    callbacks: new NatsWorkQueue({ ...parts, consumer: callbacks }, store, clock, true),
    readings: async () =>
      (
        await link.runWhileUp(() =>
          Promise.all([readingsOf(jsm, tasks, 'tasks'), readingsOf(jsm, callbacks, 'callbacks')]),
        )
      ).flat(),
    close: async () => link.close(),
  }
}

/** Throws, with every reason, when what is acknowledged is not kept, or this role may not do its work. */
export const ensureWorkQueues = async (options: QueueOptions): Promise<JetStreamManager> => {
  const { connection, name, create, puts = false, takes = false } = options
  const names = buildQueuesNames(name)
  checkServer(connection)
  const jsm = await jetstreamManager(connection, { timeout: sharedLimits.natsRequestMs, checkAPI: false })
  const stream = await ensureStream(jsm, queueStream(names), options)
  await checkDurability(connection, stream, { ...options, noun: 'the work queue' })
  const consumers = consumersOf(options)
  if (create || takes) for (const consumer of Object.values(consumers)) await ensureConsumer(jsm, consumer, create)
  if (puts) await assertMayPublish(jetstream(connection), `${names.tasks.itemPrefix}new`, 'no task can be queued')
  return jsm
}

export const openWorkQueues = async (options: QueueOptions): Promise<WorkQueues> =>
  assemble(options, await ensureWorkQueues(options))
