import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  JetStreamApiCodes,
  type JetStreamManager,
  ReplayPolicy,
} from '@nats-io/jetstream'
import { findDifferences, isApiError, nanosecondsInMs, retryUntilLed } from '../ensure-stream.ts'
import type { QueueNames } from '../streams.ts'

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

const findOrCreate = async (jsm: JetStreamManager, wanted: ConsumerSpec, create: boolean): Promise<ConsumerInfo> => {
  const { stream, queue } = wanted
  try {
    return await jsm.consumers.info(stream, queue.consumer)
  } catch (error) {
    if (!isApiError(error, JetStreamApiCodes.ConsumerNotFound)) throw error
  }
  if (!create)
    throw new Error(
      `the consumer ${queue.consumer} of ${stream} does not exist; an operator's command, such as \`gateway prices publish\`, or a whole gateway makes it`,
    )
  // Another process may create it first; other settings are then noticed the next time it is found.
  return jsm.consumers.add(stream, consumerConfigOf(wanted))
}

const defaultSettings = { headers_only: false } as const

/** The server's time since the epoch. Throws with the differing settings, or its last error when no leader answers within `natsOpenMs`. */
export const ensureConsumer = async (jsm: JetStreamManager, wanted: ConsumerSpec, create: boolean): Promise<number> => {
  const { stream, queue } = wanted
  const { config, ts } = await retryUntilLed(
    () => findOrCreate(jsm, wanted, create),
    `the consumer of ${stream} has no leader`,
  )
  const differences = findDifferences<ConsumerConfig>(
    consumerConfigOf(wanted),
    { ...defaultSettings, ...config },
    forbidden,
  )
  if (differences.length === 0) return ts === undefined ? Number.POSITIVE_INFINITY : Date.parse(ts)
  throw new Error(
    `the consumer ${queue.consumer} cannot hand out the work of ${stream}: ${differences.join('; ')}; one that is deleted is made again`,
  )
}
