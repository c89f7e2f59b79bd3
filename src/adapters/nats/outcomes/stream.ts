import {
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  StoreCompression,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { ensureStream, nanosecondsInMs } from '../ensure-stream.ts'
import { natsLimits } from '../limits.ts'
import { buildLogNames } from '../log-stream.ts'

/** The stream of a log's outcomes. */
export interface OutcomeNames {
  readonly stream: string
  /** Before a workspace and the digest of a key. */
  readonly prefix: string
}

/** Names from `log.name` of the configuration. Throws when it cannot be a stream's name. */
export const buildOutcomeNames = (name: string): OutcomeNames => {
  const { stream, prefix } = buildLogNames(name)
  return { stream: `${stream}_OUTCOMES`, prefix: `${prefix}outcome.` }
}

/** One message stands under each key. Full, the stream takes no more: a key that was forgotten too early would let a request be charged twice. */
const configOf = ({ stream, prefix }: OutcomeNames, replicas: number) =>
  ({
    name: stream,
    subjects: [`${prefix}*.*`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    discard_new_per_subject: false,
    max_msgs: -1,
    max_age: natsLimits.outcomesKeptMs * nanosecondsInMs,
    max_msgs_per_subject: 1,
    max_msg_size: -1,
    deny_delete: false,
    deny_purge: false,
    compression: StoreCompression.None,
    allow_direct: false, // A server that lags would say of a key that it is free.
    allow_rollup_hdrs: false,
    duplicate_window: natsLimits.outcomeDuplicateWindowMs * nanosecondsInMs,
    num_replicas: replicas,
  }) satisfies Partial<StreamConfig>

/** The stream of the outcomes, with room for `outcomesBytes` where it is made. Throws like `ensureStanding`. */
export const ensureOutcomesStream = (
  jsm: JetStreamManager,
  names: OutcomeNames,
  { replicas, create }: { readonly replicas: number; readonly create: boolean },
): Promise<StreamInfo> =>
  ensureStream(jsm, {
    config: configOf(names, replicas),
    initially: { max_bytes: natsLimits.outcomesBytes },
    noun: 'outcomes',
    create,
  })
