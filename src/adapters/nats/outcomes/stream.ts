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

export interface OutcomeNames {
  readonly stream: string
  /** Followed by a workspace's id and the digest of a key. */
  readonly prefix: string
}

/** `name` is `log.name` of the configuration. Throws when it cannot be a stream's name. */
export const buildOutcomeNames = (name: string): OutcomeNames => {
  const { stream, prefix } = buildLogNames(name)
  return { stream: `${stream}_OUTCOMES`, prefix: `${prefix}outcome.` }
}

/** One message per key. Full, it refuses more: a key forgotten too early would let a request be charged twice. */
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
    allow_direct: false, // A lagging replica would report a used key as free.
    allow_rollup_hdrs: false,
    duplicate_window: natsLimits.outcomeDuplicateWindowMs * nanosecondsInMs,
    num_replicas: replicas,
  }) satisfies Partial<StreamConfig>

/** Created with room for `outcomesBytes`. Throws like `ensureStream`. */
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
