import { DiscardPolicy, RetentionPolicy, StorageType, StoreCompression, type StreamConfig } from '@nats-io/jetstream'
import { logFormat } from '../../events/log-format.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { nanosecondsInMs, type StreamSpec } from './ensure-stream.ts'
import { natsLimits } from './limits.ts'

export interface LogNames {
  readonly stream: string
  readonly prefix: string
  readonly journalPrefix: string
  readonly walletPrefix: string
  /** Followed by a format to which the log was raised. */
  readonly formatPrefix: string
  /** Of the stream's metadata: the format of the release that made it. */
  readonly formatKey: string
}

const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** `name` is `log.name` of the configuration. Throws when it cannot be a stream's name, as the others below do. */
export const buildLogNames = (name: string): LogNames => {
  if (!namePattern.test(name)) throw new Error(`log.name ${JSON.stringify(name)} does not match ${namePattern}`)
  const prefix = name.toLowerCase()
  const journalPrefix = `${prefix}.journal.`
  const formatPrefix = `${journalPrefix}format-`
  return {
    stream: name,
    prefix: `${prefix}.`,
    journalPrefix,
    walletPrefix: `${prefix}.wallet.`,
    formatPrefix,
    formatKey: 'gateway.log-format',
  }
}

export interface RecordNames {
  readonly stream: string
  readonly prefix: string
}

/** The prefix is followed by a workspace's id and the digest of a key. */
export const buildOutcomeNames = (name: string): RecordNames => {
  const { stream, prefix } = buildLogNames(name)
  return { stream: `${stream}_OUTCOMES`, prefix: `${prefix}outcome.` }
}

export const buildRatesNames = (name: string): RecordNames => {
  const { stream, prefix } = buildLogNames(name)
  return { stream: `${stream}_RATES`, prefix: `${prefix}rate.` }
}

/** The prefix is followed by a workspace's id. */
export const buildEndUserNames = (name: string): RecordNames => {
  const { stream, prefix } = buildLogNames(name)
  return { stream: `${stream}_END_USERS`, prefix: `${prefix}end-user.` }
}

interface SnapshotNames {
  readonly stream: string
  readonly headPrefix: string
  readonly piecePrefix: string
}

export const buildSnapshotNames = (name: string): SnapshotNames => {
  const { stream, prefix } = buildLogNames(name)
  return { stream: `${stream}_SNAPSHOTS`, headPrefix: `${prefix}snapshot.`, piecePrefix: `${prefix}snapshot-part.` }
}

export interface QueueNames {
  readonly consumer: string
  readonly itemPrefix: string
  readonly piecePrefix: string
}

interface QueuesNames {
  readonly stream: string
  readonly tasks: QueueNames
  readonly callbacks: QueueNames
}

export const buildQueuesNames = (name: string): QueuesNames => {
  const { stream, prefix } = buildLogNames(name)
  const queueOf = (consumer: string, noun: string): QueueNames => ({
    consumer,
    itemPrefix: `${prefix}${noun}.`,
    piecePrefix: `${prefix}${noun}-part.`,
  })
  return { stream: `${stream}_TASKS`, tasks: queueOf('tasks', 'task'), callbacks: queueOf('callbacks', 'callback') }
}

const common = {
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_msgs: -1,
  max_age: 0,
  max_msgs_per_subject: 1,
  max_msg_size: -1,
  deny_delete: false,
  deny_purge: false,
  compression: StoreCompression.None,
  allow_direct: false, // A lagging replica would return an outdated record, or report an existing one as missing.
  allow_rollup_hdrs: false,
} satisfies Partial<StreamConfig>

const windowOf = (ms: number): Pick<StreamConfig, 'duplicate_window'> => ({ duplicate_window: ms * nanosecondsInMs })

export const logStream = ({ stream, journalPrefix, walletPrefix, formatKey }: LogNames): StreamSpec => ({
  noun: 'the log',
  config: {
    ...common,
    ...windowOf(natsLimits.duplicateWindowMs),
    name: stream,
    subjects: [`${journalPrefix}*`, `${walletPrefix}*`],
    max_bytes: -1,
    max_msgs_per_subject: -1,
    deny_delete: true,
    deny_purge: true,
  },
  initially: { metadata: { [formatKey]: String(logFormat) } },
})

/** One message per key. Full, it refuses more: a key forgotten too early would let a request be charged twice. */
export const outcomesStream = ({ stream, prefix }: RecordNames): StreamSpec => ({
  noun: 'outcomes',
  config: {
    ...common,
    ...windowOf(natsLimits.outcomeDuplicateWindowMs),
    name: stream,
    subjects: [`${prefix}*.*`],
    discard_new_per_subject: false,
    max_age: sharedLimits.outcomesKeptMs * nanosecondsInMs,
  },
  initially: { max_bytes: natsLimits.outcomesBytes },
})

/** One message per workspace. */
export const endUsersStream = ({ stream, prefix }: RecordNames): StreamSpec => ({
  noun: 'the keys of end users',
  config: {
    ...common,
    ...windowOf(natsLimits.rateRecordsWindowMs),
    name: stream,
    subjects: [`${prefix}*`],
    max_bytes: -1,
  },
})

/** One message per head and per piece, by the sequence of the snapshot. */
export const snapshotsStream = ({ stream, headPrefix, piecePrefix }: SnapshotNames): StreamSpec => ({
  noun: 'the snapshots',
  config: {
    ...common,
    ...windowOf(natsLimits.rateRecordsWindowMs),
    name: stream,
    subjects: [`${headPrefix}*`, `${piecePrefix}*.*`],
    max_bytes: -1,
  },
})

/** One record per subject, in memory: an fsync per lease would delay the log's, for short-lived records. */
export const ratesStream = ({ stream, prefix }: RecordNames): StreamSpec => ({
  noun: 'the rates',
  config: {
    ...common,
    ...windowOf(natsLimits.rateRecordsWindowMs),
    name: stream,
    subjects: [`${prefix}*`],
    storage: StorageType.Memory,
    discard: DiscardPolicy.Old,
    max_bytes: -1,
    max_age: natsLimits.rateRecordMs * nanosecondsInMs,
  },
})

/** An item is stored until it is done, and no second one under its id. */
export const queueStream = ({ stream, tasks, callbacks }: QueuesNames): StreamSpec => ({
  noun: 'the work queue',
  config: {
    ...common,
    ...windowOf(natsLimits.queueDuplicateWindowMs),
    name: stream,
    subjects: [tasks, callbacks].flatMap(({ itemPrefix, piecePrefix }) => [`${itemPrefix}*`, `${piecePrefix}*.*`]),
    retention: RetentionPolicy.Workqueue,
    discard_new_per_subject: true,
    max_bytes: -1,
  },
})
