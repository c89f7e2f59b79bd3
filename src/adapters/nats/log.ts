import { jetstream, jetstreamManager, type StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { Fact } from '../../events/envelope.ts'
import { logFormat } from '../../events/log-format.ts'
import type { Appended, EventLog, Follower, Frame } from '../../log/event-log.ts'
import type { WatchedLog } from '../../log/log-watch.ts'
import type { RawFrame, RawFrames } from '../../log/raw-frames.ts'
import type { AllowedWriters } from '../../log/read-frame.ts'
import type { Clock, NewId } from '../../runtime/clock.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { noObserver, type Observer } from '../../runtime/observer.ts'
import { buildInboxPrefix } from './connect.ts'
import { checkDurability, checkServer, type Durability } from './durability.ts'
import { ensureStream } from './ensure-stream.ts'
import { FrameStore } from './frame-store.ts'
import { JournalWriter } from './journal-writer.ts'
import { Link } from './link.ts'
import { LogFollower } from './log-follower.ts'
import { FormatGate } from './log-format.ts'
import type { LogSourceParts } from './log-source.ts'
import { assertMayPublish } from './may-publish.ts'
import { type EncodedEvents, PendingFrames, wrapFacts } from './pending-frames.ts'
import { Publisher } from './publisher.ts'
import { readFrameRange, toRawFrame } from './raw-frames.ts'
import { FrameReader, RecentFrames } from './read-frame.ts'
import { createServerErrorReader } from './server-health.ts'
import { buildLogNames, type LogNames, logStream } from './streams.ts'
import { WalletSubjectAppender } from './wallet-subject-appender.ts'

export interface LogOptions {
  /** Closed by the caller, after the log. */
  readonly connection: NatsConnection
  /** `log.name` of the configuration: the stream's name and, in lower case, the first token of its subjects. */
  readonly name: string
  readonly role: string
  /** Skips the check that the server's permissions let this role append. */
  readonly readOnly?: boolean
  /** Creates a missing stream; true by default. */
  readonly create?: boolean
  /** Which events a follower accepts from which writer; all when absent. */
  readonly permittedTypes?: AllowedWriters
  readonly durability: Durability
  readonly replicas: number
  readonly monitoringUrl?: string | undefined
  readonly observer?: Pick<Observer, 'frameStored'> | undefined
  readonly clock: Clock
  readonly newId: NewId
  readonly logger: Logger
  /** The process must end: its frames can be mistaken for those of another. */
  readonly onFatal: (error: Error) => void
}

interface LogFormat {
  /** As of the last look at it. */
  readonly number: number
  /** To what this release writes; recorded by an event, at which readers of an earlier release stop. */
  raise(actor: string): Promise<void>
}

interface LogSize {
  readonly frames: number
  readonly bytes: number
}

export interface OpenLog extends EventLog, RawFrames, WatchedLog {
  readonly refusal: string | null
  readonly format: LogFormat
  size(): Promise<LogSize>
  /** Refuses new facts, waits `withinMs` for pending ones, then rejects them with `log_unavailable`. */
  close(withinMs: number): Promise<void>
}

const tokenPattern = /^[a-z0-9][a-z0-9-]{0,62}$/

const assertToken = (token: string): void => {
  if (!tokenPattern.test(token)) throw new Error(`${JSON.stringify(token)} cannot be a subject's last token`)
}

const closedError = (): GatewayError => new GatewayError('log_unavailable', 'The event log is closed.')

const walletSubjectOf = ({ walletPrefix }: LogNames, workspaceId: string, facts: readonly Fact[]): string => {
  assertToken(workspaceId)
  const stray = facts.find(({ data }) => !('workspaceId' in data) || data.workspaceId !== workspaceId)
  if (stray !== undefined) throw new Error(`a ${stray.type} of another workspace on the wallet of ${workspaceId}`)
  return `${walletPrefix}${workspaceId}`
}

interface Parts extends LogSourceParts {
  readonly envelope: Parameters<typeof wrapFacts>[1]
  readonly writer: string
  readonly pending: PendingFrames
  readonly store: FrameStore
  readonly reader: FrameReader
  readonly journal: JournalWriter
  readonly wallets: WalletSubjectAppender
  readonly formatGate: FormatGate
}

/** Null where one request does not get it: a consumer then awaits the frame, or reports that it is missing. */
const findFrame = async ({ jsm, link, names }: Parts, sequence: number): Promise<RawFrame | null> => {
  try {
    const found = await link.runWhileUp(() => jsm.streams.getMessage(names.stream, { seq: sequence }))
    if (found === null) return null
    return toRawFrame({ sequence, subject: found.subject, storedMs: found.time.getTime(), data: found.data }, names)
  } catch {
    return null
  }
}

const readInfo = async ({ jsm, link, names }: Parts): Promise<StreamInfo> => {
  try {
    return await link.runWhileUp(() => jsm.streams.info(names.stream))
  } catch (cause) {
    throw new GatewayError('log_unavailable', 'The event log does not answer.', { cause })
  }
}

const raiseFormat = async (
  { connection, names, store, pending, envelope, formatGate }: Parts,
  actor: string,
): Promise<void> => {
  const subject = `${names.formatPrefix}${logFormat}`
  await assertMayPublish(jetstream(connection), subject, "the log's format cannot be raised")
  const fact: Fact = { type: 'LogFormatRaised', data: { format: logFormat }, actor }
  await new JournalWriter(envelope.newId(), subject, store, pending).append(wrapFacts([fact], envelope))
  await formatGate.refresh()
}

class NatsLog implements OpenLog {
  readonly #parts: Parts
  readonly #tails = new Set<LogFollower>()
  #isClosing = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get writer(): string {
    return this.#parts.writer
  }

  get refusal(): string | null {
    return this.#parts.store.refusal
  }

  get format(): LogFormat {
    const parts = this.#parts
    return { number: parts.formatGate.number, raise: (actor) => raiseFormat(parts, actor) }
  }

  append(facts: readonly Fact[]): Promise<Appended> {
    return this.#appendBy(facts, (events) => this.#parts.journal.append(events))
  }

  async appendToWallet(
    workspaceId: string,
    facts: readonly Fact[],
    expectedSequence: number,
  ): ReturnType<EventLog['appendToWallet']> {
    const subject = walletSubjectOf(this.#parts.names, workspaceId, facts)
    return this.#appendBy(facts, (events) => this.#parts.wallets.append(subject, events, expectedSequence))
  }

  async postToWallet(workspaceId: string, facts: readonly Fact[]): Promise<Appended> {
    const subject = walletSubjectOf(this.#parts.names, workspaceId, facts)
    return this.#appendBy(facts, (events) => this.#parts.wallets.post(subject, events))
  }

  follow(fromSequence: number, onFrame: (frame: Frame) => void | Promise<void>): Follower {
    const { reader } = this.#parts
    return this.#follow(fromSequence, (message) => onFrame(reader.read(message)))
  }

  followRaw(fromSequence: number, onFrame: (frame: RawFrame) => void | Promise<void>): Follower {
    const { names } = this.#parts
    return this.#follow(fromSequence, (message) => onFrame(toRawFrame(message, names)))
  }

  async *read(from: number, to: number): AsyncIterable<readonly RawFrame[]> {
    const single = from === to ? await findFrame(this.#parts, from) : null
    if (single !== null) yield [single]
    else yield* readFrameRange((first, onFrame) => this.followRaw(first, onFrame), from, to)
  }

  async lastSequence(): Promise<number> {
    return (await this.readEnd()).sequence
  }

  async size(): Promise<LogSize> {
    const { last_seq, bytes } = (await readInfo(this.#parts)).state
    return { frames: last_seq, bytes }
  }

  async readEnd(): ReturnType<WatchedLog['readEnd']> {
    const { state, ts } = await readInfo(this.#parts)
    return { sequence: state.last_seq, serverTimeMs: ts === undefined ? null : Date.parse(ts) }
  }

  oldestUnacknowledgedMs(): number {
    return this.#parts.pending.oldestAgeMs()
  }

  async close(withinMs: number): Promise<void> {
    this.#isClosing = true
    await this.#parts.pending.waitUntilEmpty(withinMs)
    await Promise.all([...this.#tails].map((tail) => tail.stop()))
    this.#parts.link.close()
    await this.#parts.pending.waitUntilEmpty(withinMs)
  }

  #follow(fromSequence: number, onMessage: ConstructorParameters<typeof LogFollower>[2]): LogFollower {
    if (this.#isClosing) throw closedError()
    const tail = new LogFollower(this.#parts, fromSequence, onMessage)
    for (const earlier of this.#tails) if (earlier.isOver) this.#tails.delete(earlier)
    this.#tails.add(tail)
    return tail
  }

  /** Awaits nothing before the frame is filled where everything may be appended. */
  async #appendBy<Result>(facts: readonly Fact[], append: (events: EncodedEvents) => Promise<Result>): Promise<Result> {
    const { formatGate, link, envelope } = this.#parts
    const admitted = formatGate.isCurrent ? facts : await formatGate.admit(facts)
    if (this.#isClosing || link.isClosed) throw closedError()
    return append(wrapFacts(admitted, envelope))
  }
}

const assemble = (
  options: LogOptions,
  names: LogNames,
  { jsm, formatGate }: Pick<Parts, 'jsm' | 'formatGate'>,
): Parts => {
  const { connection, clock, newId, logger, role, permittedTypes, monitoringUrl, observer = noObserver } = options
  const writer = newId()
  const link = new Link(connection, {
    onRefused: ({ message }) => logger.log('log.permission_denied', { reason: message }),
  })
  const pending = new PendingFrames()
  const onFatal = (error: Error): void => {
    link.close()
    options.onFatal(error)
  }
  const recent = new RecentFrames()
  const reader = new FrameReader(names, recent, permittedTypes)
  const inboxPrefix = buildInboxPrefix(role)
  const publisher = new Publisher(connection, names.stream, inboxPrefix)
  const store = new FrameStore({
    publisher,
    link,
    recent,
    observer,
    readServerError: createServerErrorReader(monitoringUrl),
    logger,
    onFatal,
  })
  const journal = new JournalWriter(writer, `${names.journalPrefix}${role}`, store, pending)
  const wallets = new WalletSubjectAppender({ writer: newId(), jsm, stream: names.stream, link, store, pending })
  const seal = { source: `/gateway/${role}/${writer}`, clock, newId }
  return {
    connection,
    jsm,
    names,
    inboxPrefix,
    sources: new Set(),
    reader,
    link,
    logger,
    envelope: seal,
    writer,
    pending,
    store,
    journal,
    wallets,
    formatGate,
  }
}

/** Throws, with every reason, when what is acknowledged is not kept, or this role may not do its work. */
export const openLog = async (options: LogOptions): Promise<OpenLog> => {
  const { connection, name, replicas, role, readOnly = false, create = true } = options
  const names = buildLogNames(name)
  assertToken(role)
  checkServer(connection)
  const jsm = await jetstreamManager(connection, { timeout: sharedLimits.natsRequestMs, checkAPI: false })
  await checkDurability(connection, await ensureStream(jsm, logStream(names), { replicas, create }), options)
  const formatGate = await FormatGate.open(jsm, names)
  if (!readOnly)
    await assertMayPublish(jetstream(connection), `${names.journalPrefix}${role}`, 'the log cannot be appended to')
  return new NatsLog(assemble(options, names, { jsm, formatGate }))
}
