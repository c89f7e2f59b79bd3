import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { OutcomeStore } from '../../../roles/edge/admission/idempotency/outcome-store.ts'
import type { NewId } from '../../../runtime/clock.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { buildInboxPrefix } from '../connect.ts'
import { checkDurability, checkServer, type Durability } from '../durability.ts'
import { ensureStream } from '../ensure-stream.ts'
import { Link } from '../link.ts'
import { assertMayPublish } from '../may-publish.ts'
import { Publisher } from '../publisher.ts'
import { buildOutcomeNames, outcomesStream } from '../streams.ts'
import { NatsOutcomes } from './outcomes.ts'

export interface OutcomesOptions {
  /** Closed by the caller, afterwards. Not the log's connection: large answers would delay its frames. */
  readonly connection: NatsConnection
  /** `log.name` of the configuration: the stream is `<name>_OUTCOMES`. */
  readonly name: string
  readonly role: string
  readonly replicas: number
  readonly durability: Durability
  readonly monitoringUrl?: string | undefined
  readonly create: boolean
  readonly newId: NewId
  readonly logger: Logger
}

export interface OpenOutcomes extends OutcomeStore {
  close(): Promise<void>
}

/** With `create`, creates a missing stream. Throws, with every reason, when it does not keep what it acknowledges. */
export const ensureOutcomes = async (options: OutcomesOptions): Promise<JetStreamManager> => {
  const { connection, name } = options
  checkServer(connection)
  const jsm = await jetstreamManager(connection, { timeout: sharedLimits.natsRequestMs, checkAPI: false })
  const stream = await ensureStream(jsm, outcomesStream(buildOutcomeNames(name)), options)
  await checkDurability(connection, stream, { ...options, noun: 'the stream of outcomes' })
  return jsm
}

/** Throws like `ensureOutcomes`, and when the server's permissions do not let this role write. */
export const openOutcomes = async (options: OutcomesOptions): Promise<OpenOutcomes> => {
  const { connection, name, role, logger } = options
  const jsm = await ensureOutcomes(options)
  const names = buildOutcomeNames(name)
  await assertMayPublish(jetstream(connection), `${names.prefix}new.new`, 'no outcome can be stored')
  const link = new Link(connection, {
    onRefused: ({ message }) => logger.log('outcomes.permission_denied', { reason: message }),
  })
  const publisher = new Publisher(connection, names.stream, buildInboxPrefix(role))
  return new NatsOutcomes({ ...options, names, jsm, link, publisher })
}
