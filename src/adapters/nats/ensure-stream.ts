import { setTimeout as delay } from 'node:timers/promises'
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  StoreCompression,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { RequestError, TimeoutError } from '@nats-io/transport-node'
import { findPermissionViolation } from './connect.ts'
import { natsLimits } from './limits.ts'

const nameInUse = 10058
const noSuitablePeers = 10005
const unavailable = 503
export const nanosecondsInMs = 1_000_000

export interface StreamSpec {
  /** Settings whose difference would lose, change or reorder messages. Absent means as in `defaultSettings`. */
  readonly config: Partial<StreamConfig> & { readonly name: string }
  /** Only at creation: an operator may change them. */
  readonly initially?: Partial<StreamConfig>
  readonly noun: string
}

interface StreamOptions {
  readonly replicas: number
  /** Creates a missing stream. Roles must not: with a misspelt name, one would work alone on its own. */
  readonly create: boolean
}

const forbidden = ['mirror', 'sources', 'subject_transform', 'sealed', 'no_ack', 'allow_msg_ttl'] as const

const defaultSettings = {
  compression: StoreCompression.None,
  allow_direct: false,
  deny_delete: false,
  deny_purge: false,
  discard_new_per_subject: false,
} as const

const formatSetting = (value: unknown): string => JSON.stringify(value) ?? 'absent'

/** Settings that are not as requested: an older server silently ignores those it does not know. */
export const findDifferences = <Settings extends object>(
  wanted: Partial<Settings>,
  found: Partial<Settings>,
  forbidden: readonly (keyof Settings)[],
): readonly string[] => [
  ...(Object.entries(wanted) as [keyof Settings & string, unknown][])
    .filter(([setting, value]) => formatSetting(found[setting]) !== formatSetting(value))
    .map(([setting, value]) => `${setting} is ${formatSetting(found[setting])}, not ${formatSetting(value)}`),
  ...forbidden
    .filter((setting) => Boolean(found[setting]))
    .map((setting) => `${String(setting)} is ${formatSetting(found[setting])}, not absent`),
]

export const isApiError = (error: unknown, code: number): boolean =>
  error instanceof JetStreamApiError && error.code === code

/** Whether the error means that the cluster or stream has no leader, or too few of its servers are up. */
const isTransient = (error: unknown): boolean => {
  if (error instanceof JetStreamApiError) return error.status === unavailable || error.code === noSuitablePeers
  const hasNoResponders = error instanceof Error && error.cause instanceof RequestError && error.cause.isNoResponders()
  return hasNoResponders || error instanceof TimeoutError
}

const createStream = async (jsm: JetStreamManager, { config, initially, noun }: StreamSpec): Promise<void> => {
  try {
    await jsm.streams.add({ ...config, ...initially })
  } catch (error) {
    // Another process created it first; `ensureStream` compares its settings.
    if (isApiError(error, nameInUse)) return
    if (findPermissionViolation(error) === null) throw error
    throw new Error(`${noun} ${config.name} does not exist, and this user may not make it`, { cause: error })
  }
}

/** Reads it first, since most roles may not create it. */
const findOrCreate = async (jsm: JetStreamManager, wanted: StreamSpec, create: boolean): Promise<StreamInfo> => {
  const { config, noun } = wanted
  try {
    return await jsm.streams.info(config.name)
  } catch (error) {
    if (!isApiError(error, JetStreamApiCodes.StreamNotFound)) throw error
  }
  if (!create)
    throw new Error(
      `${noun} ${config.name} does not exist on this server; an operator's command, such as \`gateway prices publish\`, or a whole gateway makes it`,
    )
  await createStream(jsm, wanted)
  return jsm.streams.info(config.name)
}

/** Retries work that needs a leader; rejects with the server's last error after `natsOpenMs`. */
export const retryUntilLed = async <T>(work: () => Promise<T | null>, noLeader: string): Promise<T> => {
  const deadline = AbortSignal.timeout(natsLimits.natsOpenMs)
  for (;;) {
    try {
      const done = await work()
      if (done !== null) return done
    } catch (error) {
      if (!isTransient(error) || deadline.aborted) throw error
    }
    if (deadline.aborted) throw new Error(noLeader)
    await delay(natsLimits.frameRetryMs)
  }
}

/** Throws with the differing settings, or with the server's last error when no leader answers within `natsOpenMs`. */
export const ensureStream = async (
  jsm: JetStreamManager,
  spec: StreamSpec,
  { replicas, create }: StreamOptions,
): Promise<StreamInfo> => {
  const wanted = { ...spec, config: { ...spec.config, num_replicas: replicas } }
  const { config, noun } = wanted
  const info = await retryUntilLed(async () => {
    const found = await findOrCreate(jsm, wanted, create)
    return found.cluster === undefined || found.cluster.leader ? found : null
  }, `stream ${config.name} has no leader`)
  const differences = findDifferences<StreamConfig>(config, { ...defaultSettings, ...info.config }, forbidden)
  if (differences.length === 0) return info
  throw new Error(`stream ${config.name} cannot hold ${noun}: ${differences.join('; ')}`)
}
