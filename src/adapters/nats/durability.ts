import { PersistMode, type StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { faultText } from '../../errors/gateway-error.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { natsLimits } from './limits.ts'
import { isServerTooOld, oldestServer } from './server-health.ts'

export type Durability = 'synced' | 'relaxed'

interface DurabilityOptions {
  readonly durability: Durability
  readonly monitoringUrl?: string | undefined
  readonly logger: Logger
  readonly noun?: string
}

export const checkServer = (connection: NatsConnection): void => {
  const { version = '0', max_payload = 0 } = connection.info ?? {}
  if (isServerTooOld(version)) throw new Error(`nats-server ${version} is older than ${oldestServer}`)
  const bytesNeeded = natsLimits.frameBytesMax + natsLimits.frameHeadersBytesMax
  if (max_payload < bytesNeeded)
    throw new Error(`nats-server takes ${max_payload} bytes a message (max_payload); the log needs ${bytesNeeded}`)
}

interface JetStreamReport {
  readonly server_id?: string
  readonly config?: { readonly sync_always?: boolean }
}

const readReport = async (monitoringUrl: string): Promise<JetStreamReport | string> => {
  try {
    const url = new URL('/jsz?config=true', monitoringUrl)
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(sharedLimits.natsRequestMs) })
    return response.ok ? ((await response.json()) as JetStreamReport) : `${url} answers ${response.status}`
  } catch (error) {
    return `${monitoringUrl} does not answer: ${faultText(error)}`
  }
}

const isOnOtherServer = (connection: NatsConnection, stream: StreamInfo): boolean => {
  const leader = stream.cluster?.leader
  return leader !== undefined && leader !== connection.info?.server_name
}

/** Why the server may acknowledge before a frame is on disk, or null. Only the monitoring port reports that. */
const findDurabilityProblem = async (
  connection: NatsConnection,
  stream: StreamInfo,
  monitoringUrl: string | undefined,
): Promise<string | null> => {
  // From 2.12 on a stream can opt out of the server's setting.
  if (stream.config.persist_mode === PersistMode.Async) return 'the stream has persist_mode async'
  if (stream.config.num_replicas > 1) return null
  if (isOnOtherServer(connection, stream)) return `the stream's only replica is on ${stream.cluster?.leader}`
  if (monitoringUrl === undefined) return 'no monitoring URL of the server is configured'
  const report = await readReport(monitoringUrl)
  if (typeof report === 'string') return report
  if (report.server_id !== connection.info?.server_id) return `${monitoringUrl} belongs to another server`
  return report.config?.sync_always === true ? null : 'the server does not run with `sync_interval: always`'
}

/** Throws when a power loss could lose an acknowledged frame; only warns with `durability: relaxed`. */
export const checkDurability = async (
  connection: NatsConnection,
  stream: StreamInfo,
  options: DurabilityOptions,
): Promise<void> => {
  const reason = await findDurabilityProblem(connection, stream, options.monitoringUrl)
  if (reason === null) return
  if (options.durability === 'synced')
    throw new Error(
      `${options.noun ?? 'the log'} is not known to be durable: ${reason} (\`durability: relaxed\` accepts that)`,
    )
  options.logger.log('log.durability_relaxed', { stream: stream.config.name, reason })
}
