import { setTimeout as delay } from 'node:timers/promises'
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  StoreCompression,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { RequestError, TimeoutError } from '@nats-io/transport-node'
import { limits } from '../../limits.ts'
import { refusalOf } from './connect.ts'

const nameInUse = 10058
const noSuitablePeers = 10005
const unavailable = 503
const nanosecondsInMs = 1_000_000

/** What the log's stream and its subjects are called. */
export interface LogNames {
  readonly stream: string
  /** Before every subject. */
  readonly prefix: string
  readonly journalPrefix: string
  readonly walletPrefix: string
}

export interface StreamOptions {
  readonly replicas: number
  /** Makes the stream where there is none. A role must not: it would work alone on a log whose name is misspelt. */
  readonly create: boolean
}

const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** Names from `log.name` of the configuration. Throws when it cannot be a stream's name. */
export const logNamesOf = (name: string): LogNames => {
  if (!namePattern.test(name)) throw new Error(`log.name ${JSON.stringify(name)} does not match ${namePattern}`)
  const prefix = name.toLowerCase()
  return { stream: name, prefix: `${prefix}.`, journalPrefix: `${prefix}.journal.`, walletPrefix: `${prefix}.wallet.` }
}

/** What a difference in would lose, change or reorder events. Absent means the same as the value in `absentOf`. */
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
    duplicate_window: limits.duplicateWindowMs * nanosecondsInMs,
    num_replicas: replicas,
  }) satisfies Partial<StreamConfig>

/** Settings that must not be there at all, whoever made the stream. */
const forbidden = ['mirror', 'sources', 'subject_transform', 'sealed', 'no_ack', 'allow_msg_ttl'] as const

const absentOf = { compression: StoreCompression.None, allow_direct: false } as const

const show = (value: unknown): string => JSON.stringify(value) ?? 'absent'

/** What stands differently from what was asked for; an older server ignores a setting that it does not know without a word. */
export const streamDifferences = (names: LogNames, replicas: number, found: StreamConfig): readonly string[] => {
  const standing: Partial<StreamConfig> = { ...absentOf, ...found }
  const wanted = Object.entries(configOf(names, replicas)) as [keyof StreamConfig, unknown][]
  return [
    ...wanted
      .filter(([setting, value]) => show(standing[setting]) !== show(value))
      .map(([setting, value]) => `${setting} is ${show(standing[setting])}, not ${show(value)}`),
    ...forbidden
      .filter((setting) => Boolean(found[setting]))
      .map((setting) => `${setting} is ${show(found[setting])}, not absent`),
  ]
}

const isApiError = (error: unknown, code: number): boolean => error instanceof JetStreamApiError && error.code === code

/** What a cluster says, or leaves unsaid, while it or the stream has no leader, or too few of its servers have come up. */
const isPassing = (error: unknown): boolean => {
  if (error instanceof JetStreamApiError) return error.status === unavailable || error.code === noSuitablePeers
  const nobodyAnswers = error instanceof Error && error.cause instanceof RequestError && error.cause.isNoResponders()
  return nobodyAnswers || error instanceof TimeoutError
}

const createStream = async (jsm: JetStreamManager, names: LogNames, replicas: number): Promise<void> => {
  try {
    await jsm.streams.add(configOf(names, replicas))
  } catch (error) {
    // Another process was quicker. Where its settings differ, those that matter are compared and named below.
    if (isApiError(error, nameInUse)) return
    if (refusalOf(error) === null) throw error
    throw new Error(`the log ${names.stream} does not exist, and this user may not make it`, { cause: error })
  }
}

/** Asked first, since most who use the stream may not create it. */
const findOrCreate = async (
  jsm: JetStreamManager,
  names: LogNames,
  { replicas, create }: StreamOptions,
): Promise<StreamInfo> => {
  try {
    return await jsm.streams.info(names.stream)
  } catch (error) {
    if (!isApiError(error, JetStreamApiCodes.StreamNotFound)) throw error
  }
  if (!create)
    throw new Error(
      `the log ${names.stream} does not exist on this server; an operator's command, such as \`gateway prices publish\`, or a whole gateway makes it`,
    )
  await createStream(jsm, names, replicas)
  return jsm.streams.info(names.stream)
}

/** Waits for a leader, for `natsOpenMs` in all. */
const standingStream = async (jsm: JetStreamManager, names: LogNames, options: StreamOptions): Promise<StreamInfo> => {
  const deadline = AbortSignal.timeout(limits.natsOpenMs)
  for (;;) {
    try {
      const info = await findOrCreate(jsm, names, options)
      if (info.cluster === undefined || info.cluster.leader) return info
    } catch (error) {
      if (!isPassing(error) || deadline.aborted) throw error
    }
    if (deadline.aborted) throw new Error(`stream ${names.stream} has no leader`)
    await delay(limits.frameRetryMs)
  }
}

/**
 * The log's stream, which `create` makes where it does not stand. Throws when it stands with other settings, and lists them; when it does
 * not stand, or may not be made; and with the server's last word when no leader answers within `natsOpenMs`.
 */
export const ensureStream = async (
  jsm: JetStreamManager,
  names: LogNames,
  options: StreamOptions,
): Promise<StreamInfo> => {
  const info = await standingStream(jsm, names, options)
  const differences = streamDifferences(names, options.replicas, info.config)
  if (differences.length === 0) return info
  throw new Error(`stream ${names.stream} cannot hold the log: ${differences.join('; ')}`)
}
