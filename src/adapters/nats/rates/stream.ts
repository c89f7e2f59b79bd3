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

export interface RatesNames {
  readonly stream: string
  readonly prefix: string
}

/** `name` is `log.name` of the configuration. Throws when it cannot be a stream's name. */
export const buildRatesNames = (name: string): RatesNames => {
  const { stream, prefix } = buildLogNames(name)
  return { stream: `${stream}_RATES`, prefix: `${prefix}rate.` }
}

export interface RatesStreamOptions {
  readonly replicas: number
  readonly create: boolean
}

/** One record per subject, in memory: an fsync per lease would delay the log's, for short-lived records. */
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
    allow_direct: false, // A lagging replica would return an outdated record.
    allow_rollup_hdrs: false,
    duplicate_window: natsLimits.rateRecordsWindowMs * nanosecondsInMs,
    num_replicas: replicas,
  }) satisfies Partial<StreamConfig>

/** Throws like `ensureStream`. */
export const ensureRatesStream = async (
  jsm: JetStreamManager,
  names: RatesNames,
  { replicas, create }: RatesStreamOptions,
): Promise<void> => {
  await ensureStream(jsm, { config: configOf(names, replicas), noun: 'the rates', create })
}
