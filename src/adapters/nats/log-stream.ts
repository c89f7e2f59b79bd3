import {
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  StoreCompression,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { ensureStream, nanosecondsInMs } from './ensure-stream.ts'
import { natsLimits } from './limits.ts'

export interface LogNames {
  readonly stream: string
  readonly prefix: string
  readonly journalPrefix: string
  readonly walletPrefix: string
}

export interface StreamOptions {
  readonly replicas: number
  /** Creates a missing stream. Roles must not: with a misspelt name, one would work alone on a log of its own. */
  readonly create: boolean
}

const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** `name` is `log.name` of the configuration. Throws when it cannot be a stream's name. */
export const buildLogNames = (name: string): LogNames => {
  if (!namePattern.test(name)) throw new Error(`log.name ${JSON.stringify(name)} does not match ${namePattern}`)
  const prefix = name.toLowerCase()
  return { stream: name, prefix: `${prefix}.`, journalPrefix: `${prefix}.journal.`, walletPrefix: `${prefix}.wallet.` }
}

const configOf = (names: LogNames, replicas: number) =>
  ({
    name: names.stream,
    subjects: [`${names.journalPrefix}*`, `${names.walletPrefix}*`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msgs: -1,
    max_bytes: -1,
    max_age: 0,
    max_msgs_per_subject: -1,
    max_msg_size: -1,
    deny_delete: true,
    deny_purge: true,
    compression: StoreCompression.None,
    allow_direct: false,
    allow_rollup_hdrs: false,
    duplicate_window: natsLimits.duplicateWindowMs * nanosecondsInMs,
    num_replicas: replicas,
  }) satisfies Partial<StreamConfig>

/** Throws like `ensureStream`. */
export const ensureLogStream = (
  jsm: JetStreamManager,
  names: LogNames,
  { replicas, create }: StreamOptions,
): Promise<StreamInfo> => ensureStream(jsm, { config: configOf(names, replicas), noun: 'the log', create })
