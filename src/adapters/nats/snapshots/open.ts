import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { auditLimits } from '../../../audit/limits.ts'
import type { SnapshotHead } from '../../../audit/seal.ts'
import { SnapshotMissing, type SnapshotStore } from '../../../audit/snapshots.ts'
import { SnapshotFault } from '../../../domain/ledger/snapshot.ts'
import { isObject, parseJson } from '../../../encoding/json.ts'
import { faultText } from '../../../errors/gateway-error.ts'
import { sharedLimits } from '../../../runtime/limits.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { buildInboxPrefix } from '../connect.ts'
import { ensureStream, retryUntilLed } from '../ensure-stream.ts'
import { Publisher } from '../publisher.ts'
import { buildSnapshotNames, snapshotsStream } from '../streams.ts'

const compress = promisify(gzip)
const decompress = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(gunzip)

export interface SnapshotsOptions {
  readonly connection: NatsConnection
  /** `log.name` of the configuration: the stream is `<name>_SNAPSHOTS`. */
  readonly name: string
  readonly role: string
  readonly replicas: number
  readonly create: boolean
  readonly logger: Logger
}

interface StoredHead extends SnapshotHead {
  readonly pieces: number
}

interface StoredSequences {
  readonly heads: readonly number[]
  readonly firstPieces: readonly number[]
}

const noLeader = 'the stream of snapshots has no leader'

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** Null for what no sealer writes there. */
const parseHead = (sequence: number, data: Uint8Array): StoredHead | null => {
  const head = parseJson(Buffer.from(data).toString())
  if (!isObject(head) || head['sequence'] !== sequence) return null
  const { sha256, format, pieces } = head
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256) || !isCount(format) || !isCount(pieces)) return null
  return { sha256, format, sequence, pieces }
}

const decompressPiece = async (subject: string, data: Uint8Array): Promise<Buffer> => {
  try {
    return await decompress(data, { maxOutputLength: auditLimits.snapshotPieceBytes })
  } catch (cause) {
    throw new SnapshotFault(`${subject} is no piece of a snapshot: ${faultText(cause)}`, { cause })
  }
}

/** The head is stored after its pieces and removed before them: without it they are not a snapshot. */
class NatsSnapshots implements SnapshotStore {
  readonly #jsm: JetStreamManager
  readonly #publisher: Publisher
  readonly #names: ReturnType<typeof buildSnapshotNames>
  readonly #logger: Logger

  constructor(
    jsm: JetStreamManager,
    publisher: Publisher,
    names: ReturnType<typeof buildSnapshotNames>,
    logger: Logger,
  ) {
    this.#jsm = jsm
    this.#publisher = publisher
    this.#names = names
    this.#logger = logger
  }

  async list(): Promise<readonly SnapshotHead[]> {
    const heads: SnapshotHead[] = []
    const sequences = await this.#sequences(`${this.#names.headPrefix}*`)
    for (const sequence of sequences.slice(0, auditLimits.snapshotHeadsReadMax)) {
      const data = await this.#find(`${this.#names.headPrefix}${sequence}`)
      if (data === null) continue // It has made room for a later one meanwhile.
      const stored = parseHead(sequence, data)
      if (stored === null) {
        this.#logger.log('snapshot.unreadable', { sequence })
        continue
      }
      const { pieces, ...head } = stored
      heads.push(head)
    }
    return heads
  }

  async *read({ sequence }: SnapshotHead): AsyncIterable<Uint8Array> {
    const { pieces = 0 } = (await this.#readHead(sequence)) ?? {}
    let next = pieces > 0 ? this.#readPiece(sequence, 1) : null
    for (let piece = 1; next !== null; piece += 1) {
      const current = await next
      next = piece < pieces ? this.#readPiece(sequence, piece + 1) : null // Comes while the reader decodes the other.
      next?.catch(() => {})
      yield current
    }
  }

  async #readPiece(sequence: number, piece: number): Promise<Uint8Array> {
    const subject = `${this.#names.piecePrefix}${sequence}.${piece}`
    return decompressPiece(subject, await this.#get(subject))
  }

  async write(sequence: number, pieces: AsyncGenerator<Uint8Array, SnapshotHead>): Promise<SnapshotHead> {
    let count = 0
    let next = await pieces.next()
    for (; next.done !== true; next = await pieces.next()) {
      count += 1
      const subject = `${this.#names.piecePrefix}${sequence}.${count}`
      await this.#publisher.publish({ subject, bytes: await compress(next.value) })
    }
    const head: StoredHead = { ...next.value, pieces: count }
    const subject = `${this.#names.headPrefix}${sequence}`
    await this.#publisher.publish({ subject, bytes: Buffer.from(JSON.stringify(head)) })
    await this.#removeOld()
    return next.value
  }

  async removeBeyond(readLast: () => Promise<number>): Promise<void> {
    const stored = await this.#findStored()
    const last = await readLast()
    await this.#remove(stored, (sequence) => sequence > last)
  }

  /** Another sealer may be writing one: what is newer than the oldest that is kept stays, with a head or without. */
  async #removeOld(): Promise<void> {
    const stored = await this.#findStored()
    const oldestKept = stored.heads[auditLimits.snapshotsKept - 1] ?? 0
    await this.#remove(stored, (sequence) => sequence < oldestKept)
  }

  async #findStored(): Promise<StoredSequences> {
    const heads = await this.#sequences(`${this.#names.headPrefix}*`)
    return { heads, firstPieces: await this.#sequences(`${this.#names.piecePrefix}*.1`) }
  }

  async #remove({ heads, firstPieces }: StoredSequences, isRemoved: (sequence: number) => boolean): Promise<void> {
    for (const sequence of heads.filter(isRemoved)) await this.#purge(`${this.#names.headPrefix}${sequence}`)
    for (const sequence of firstPieces.filter(isRemoved)) await this.#purge(`${this.#names.piecePrefix}${sequence}.*`)
  }

  async #sequences(filter: string): Promise<readonly number[]> {
    const { state } = await retryUntilLed(
      () => this.#jsm.streams.info(this.#names.stream, { subjects_filter: filter }),
      noLeader,
    )
    const place = filter.split('.').length - (filter.endsWith('.1') ? 2 : 1)
    return Object.keys(state.subjects ?? {})
      .map((subject) => Number(subject.split('.')[place]))
      .filter(isCount)
      .sort((one, other) => other - one)
  }

  async #readHead(sequence: number): Promise<StoredHead | null> {
    return parseHead(sequence, await this.#get(`${this.#names.headPrefix}${sequence}`))
  }

  async #get(subject: string): Promise<Uint8Array> {
    const data = await this.#find(subject)
    if (data === null) throw new SnapshotMissing(`${subject} is not stored`)
    return data
  }

  /** One answer that does not come must not have a process replay its log from the start. */
  async #find(subject: string): Promise<Uint8Array | null> {
    const query = { last_by_subj: subject }
    const { found } = await retryUntilLed(
      async () => ({ found: await this.#jsm.streams.getMessage(this.#names.stream, query) }),
      noLeader,
    )
    return found?.data ?? null
  }

  async #purge(filter: string): Promise<void> {
    await this.#jsm.streams.purge(this.#names.stream, { filter })
  }
}

/** With `create`, creates a missing stream. Where it is missing otherwise, what the store is asked rejects. */
export const openSnapshots = async (options: SnapshotsOptions): Promise<SnapshotStore> => {
  const { connection, name, role, create, logger } = options
  const names = buildSnapshotNames(name)
  const jsm = await jetstreamManager(connection, { timeout: sharedLimits.natsRequestMs, checkAPI: false })
  if (create) await ensureStream(jsm, snapshotsStream(names), options)
  return new NatsSnapshots(jsm, new Publisher(connection, names.stream, buildInboxPrefix(role)), names, logger)
}
