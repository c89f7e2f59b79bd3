import type { JetStreamManager } from '@nats-io/jetstream'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { EndUserKeyStore } from '../../../log/end-users.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import { buildInboxPrefix } from '../connect.ts'
import { ensureStream } from '../ensure-stream.ts'
import { isSequenceConflict } from '../frame-store.ts'
import { Publisher } from '../publisher.ts'
import { buildEndUserNames, endUsersStream, type RecordNames } from '../streams.ts'

export interface EndUsersOptions {
  /** Closed by the caller, afterwards. */
  readonly connection: NatsConnection
  /** `log.name` of the configuration: the stream is `<name>_END_USERS`. */
  readonly name: string
  readonly role: string
  readonly replicas: number
}

const unavailable = (cause: unknown): GatewayError =>
  new GatewayError('log_unavailable', "The keys of end users' ids cannot be read right now. Try again shortly.", {
    cause,
    retryAfterSeconds: 1,
  })

const answered = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (fault) {
    throw unavailable(fault)
  }
}

/** One message per workspace. */
class NatsEndUserKeys implements EndUserKeyStore {
  readonly #jsm: JetStreamManager
  readonly #publisher: Publisher
  readonly #names: RecordNames

  constructor(jsm: JetStreamManager, publisher: Publisher, names: RecordNames) {
    this.#jsm = jsm
    this.#publisher = publisher
    this.#names = names
  }

  async find(workspaceId: string): Promise<string | null> {
    return (await answered(() => this.#read(workspaceId)))?.string() ?? null
  }

  create(workspaceId: string, key: string): Promise<string> {
    const subject = this.#subjectOf(workspaceId)
    return answered(async () => {
      try {
        await this.#publisher.publish({ subject, bytes: Buffer.from(key), expectedSequence: 0 })
        return key
      } catch (error) {
        const first = isSequenceConflict(error) ? await this.#read(workspaceId) : null
        if (first === null) throw error
        return first.string()
      }
    })
  }

  erase(workspaceId: string): Promise<boolean> {
    return answered(async () => {
      const found = await this.#read(workspaceId)
      return found !== null && this.#jsm.streams.deleteMessage(this.#names.stream, found.seq, true)
    })
  }

  #read(workspaceId: string) {
    return this.#jsm.streams.getMessage(this.#names.stream, { last_by_subj: this.#subjectOf(workspaceId) })
  }

  #subjectOf(workspaceId: string): string {
    return `${this.#names.prefix}${workspaceId}`
  }
}

const openManager = (connection: NatsConnection): Promise<JetStreamManager> =>
  jetstreamManager(connection, { timeout: sharedLimits.natsRequestMs, checkAPI: false })

/** Creates the stream if absent. Throws when it exists with other settings, or may not be created. */
export const ensureEndUsers = async ({ connection, name, replicas }: EndUsersOptions): Promise<void> => {
  const jsm = await openManager(connection)
  await ensureStream(jsm, endUsersStream(buildEndUserNames(name)), { replicas, create: true })
}

export const openEndUserKeys = async ({ connection, name, role }: EndUsersOptions): Promise<EndUserKeyStore> => {
  const names = buildEndUserNames(name)
  const publisher = new Publisher(connection, names.stream, buildInboxPrefix(role))
  return new NatsEndUserKeys(await openManager(connection), publisher, names)
}
