import {
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import { ensureStream, nanosecondsInMs } from '../ensure-stream.ts'
import { natsLimits } from '../limits.ts'
import { buildLogNames } from '../log-stream.ts'

/** The stream of a log's rate records, and what stands before a record's token in its subject. */
export interface RatesNames {
  readonly stream: string
  readonly prefix: string
}

/** Names from `log.name` of the configuration. Throws when it cannot be a stream's name. */
export const buildRatesNames = (name: string): RatesNames => {
  const { stream, prefix } = buildLogNames(name)
  return { stream: `${stream}_RATES`, prefix: `${prefix}rate.` }
}

export interface RatesStreamOptions {
  readonly replicas: number
  /** Makes the stream where there is none. */
  readonly create: boolean
}

/** One record under each subject, in memory: an fsync for each lease would be the log's, and for what is worth nothing after a while. */
const configOf = ({ stream, prefix }: RatesNames, replicas: number) =>
  ({
    name: stream,
    subjects: [`${prefix}*`],
    storage: StorageType.Memory,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_msgs: -1,
    max_bytes: -1,
    max_age: natsLimits.rateRecordMs * nanosecondsInMs,
    max_msgs_per_subject: 1,
    max_msg_size: -1,
    deny_delete: false,
    deny_purge: false,
    allow_direct: false, // A server that lags would show a record that has been changed.
    allow_rollup_hdrs: false,
    duplicate_window: natsLimits.rateRecordsWindowMs * nanosecondsInMs,
    num_replicas: replicas,
  }) satisfies Partial<StreamConfig>

/** The stream of the rate records. Throws like `ensureStanding`. */
export const ensureRatesStream = async (
  jsm: JetStreamManager,
  names: RatesNames,
  { replicas, create }: RatesStreamOptions,
): Promise<void> => {
  await ensureStream(jsm, { config: configOf(names, replicas), noun: 'the rates', create })
}
