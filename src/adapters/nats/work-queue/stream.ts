import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  type JetStreamManager,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
  StoreCompression,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { ensureStream, findDifferences, isApiError, nanosecondsInMs, retryUntilLed } from '../ensure-stream.ts'
import { natsLimits } from '../limits.ts'
import type { QueueNames, QueuesNames } from './names.ts'

export interface QueueStreamOptions {
  readonly replicas: number
  readonly create: boolean
}

const subjectsOf = ({ itemPrefix, piecePrefix }: QueueNames): readonly string[] => [
  `${itemPrefix}*`,
  `${piecePrefix}*.*`,
]

/** An item is stored until it is done, and no second one under its id. */
const configOf = ({ stream, tasks, callbacks }: QueuesNames, replicas: number) =>
  ({
    name: stream,
    subjects: [...subjectsOf(tasks), ...subjectsOf(callbacks)],
    storage: StorageType.File,
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    discard_new_per_subject: true,
    max_msgs: -1,
    max_bytes: -1,
    max_age: 0,
    max_msgs_per_subject: 1,
    max_msg_size: -1,
    deny_delete: false,
    deny_purge: false,
    compression: StoreCompression.None,
    allow_direct: false, // A lagging replica would report an existing item as missing.
    allow_rollup_hdrs: false,
    duplicate_window: natsLimits.queueDuplicateWindowMs * nanosecondsInMs,
    num_replicas: replicas,
  }) satisfies Partial<StreamConfig>

/** Throws like `ensureStream`. */
export const ensureQueueStream = (
  jsm: JetStreamManager,
  names: QueuesNames,
  { replicas, create }: QueueStreamOptions,
): Promise<StreamInfo> => ensureStream(jsm, { config: configOf(names, replicas), noun: 'the work queue', create })

/** One durable consumer per queue, shared by all its pollers. */
export interface ConsumerSpec {
  readonly stream: string
  readonly queue: QueueNames
  readonly leaseMs: number
  readonly itemsMax: number
}

const consumerConfigOf = ({ queue, leaseMs, itemsMax }: ConsumerSpec) =>
  ({
    durable_name: queue.consumer,
    filter_subject: `${queue.itemPrefix}*`,
    deliver_policy: DeliverPolicy.All,
    replay_policy: ReplayPolicy.Instant,
    ack_policy: AckPolicy.Explicit,
    ack_wait: leaseMs * nanosecondsInMs,
    max_deliver: -1,
    max_ack_pending: itemsMax,
    headers_only: true, // A poller that holds thousands must not hold their contents, which it needs once.
  }) satisfies Partial<ConsumerConfig>

const forbidden = [
  'backoff',
  'deliver_subject',
  'inactive_threshold',
  'max_batch',
  'max_expires',
  'mem_storage',
  'pause_until',
  'priority_groups',
] as const

const findOrCreate = async (jsm: JetStreamManager, wanted: ConsumerSpec, create: boolean): Promise<ConsumerConfig> => {
  const { stream, queue } = wanted
  try {
    return (await jsm.consumers.info(stream, queue.consumer)).config
  } catch (error) {
    if (!isApiError(error, JetStreamApiCodes.ConsumerNotFound)) throw error
  }
  if (!create)
    throw new Error(
      `the consumer ${queue.consumer} of ${stream} does not exist; an operator's command, such as \`gateway prices publish\`, or a whole gateway makes it`,
    )
  // Another process may create it first; other settings are then noticed the next time it is found.
  return (await jsm.consumers.add(stream, consumerConfigOf(wanted))).config
}

const defaultSettings = { headers_only: false } as const

/**
 * With `create`, creates a queue's missing consumer. Throws when it exists with other settings, and lists them; when it
 * does not exist; and with the server's last error when no leader answers within `natsOpenMs`.
 */
export const ensureConsumer = async (jsm: JetStreamManager, wanted: ConsumerSpec, create: boolean): Promise<void> => {
  const { stream, queue } = wanted
  const found = await retryUntilLed(() => findOrCreate(jsm, wanted, create), `the consumer of ${stream} has no leader`)
  const differences = findDifferences<ConsumerConfig>(
    consumerConfigOf(wanted),
    { ...defaultSettings, ...found },
    forbidden,
  )
  if (differences.length === 0) return
  throw new Error(
    `the consumer ${queue.consumer} cannot hand out the work of ${stream}: ${differences.join('; ')}; one that is deleted is made again`,
  )
}
