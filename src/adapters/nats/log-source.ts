import type { JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Logger } from '../../runtime/logger.ts'
import { findPermissionViolation } from './connect.ts'
import { FollowSession, LogFault } from './follow-session.ts'
import type { Link } from './link.ts'
import type { LogMessage } from './read-frame.ts'
import { type Session, SessionLoop } from './session-loop.ts'
import type { LogNames } from './streams.ts'

export interface LogSourceParts {
  readonly connection: NatsConnection
  readonly jsm: JetStreamManager
  readonly names: LogNames
  readonly inboxPrefix: string
  readonly link: Link
  readonly logger: Logger
  /** All of one log in this process. */
  readonly sources: Set<LogSource>
}

export interface SourceReader {
  /** Messages that it can still take. */
  readonly room: number
  receive(message: LogMessage): void
  /** Its messages come from that source from now on. */
  moveTo(source: LogSource): void
  /** Takes what it has received, and nothing more. */
  finish(): void
  fail(error: unknown): void
  stop(): Promise<void>
}

/** Since when a source may lack what the log has: null once it has what the log had when the session began. */
class Behind {
  sinceMs: number | null = performance.now()
  #logEnd = Number.POSITIVE_INFINITY

  begin(logEnd: number, received: number): void {
    this.#logEnd = logEnd
    this.reach(received)
  }

  reach(received: number): void {
    if (received >= this.#logEnd) this.sinceMs = null
  }

  end(): void {
    this.#logEnd = Number.POSITIVE_INFINITY
    this.sinceMs ??= performance.now()
  }
}

/**
 * One consumer of the log, across restarts, for all readers of this process that are at the same position: a message
 * comes once, however many read it. A reader that has no room while others have some continues with a source of its own.
 */
export class LogSource {
  readonly #parts: LogSourceParts
  readonly #readers: Set<SourceReader>
  readonly #loop: SessionLoop
  #received: number
  #session: FollowSession | undefined
  readonly #behind = new Behind()

  constructor(parts: LogSourceParts, received: number, reader: SourceReader) {
    this.#parts = parts
    this.#received = received
    this.#readers = new Set([reader])
    this.#loop = new SessionLoop({
      link: parts.link,
      open: (onEnd) => this.#open(onEnd),
      onRestart: (reason) => parts.logger.log('log.consumer_restarted', { sequence: this.#received, reason }),
      onFault: (error) => {
        if (error instanceof LogFault || findPermissionViolation(error) !== null) throw error
      },
    })
    parts.sources.add(this)
    void this.#run()
  }

  get behindSinceMs(): number | null {
    return this.#behind.sinceMs
  }

  fill(): void {
    this.#session?.fill()
  }

  /** Resolves when the consumer of the last reader is gone. */
  async remove(reader: SourceReader): Promise<void> {
    this.#readers.delete(reader)
    if (this.#readers.size === 0) await this.#close()
  }

  async #run(): Promise<void> {
    try {
      await this.#loop.run()
      if (this.#loop.isOver) return
      await Promise.all([...this.#readers].map((reader) => reader.stop()))
    } catch (error) {
      this.#fail(error)
    }
  }

  #open(onEnd: (reason: string) => void): Session {
    const { connection, jsm, link, names, inboxPrefix } = this.#parts
    const session = new FollowSession({
      connection,
      jsm,
      link,
      stream: names.stream,
      inboxPrefix,
      room: () => this.#room,
      onMessage: (message) => this.#receive(message),
      onEnd,
    })
    this.#session = session
    let logEnd = Number.POSITIVE_INFINITY
    return {
      prepare: async () => {
        logEnd = await session.start(this.#received + 1)
      },
      start: () => this.#behind.begin(logEnd, this.#received),
      close: () => {
        this.#behind.end()
        void session.close()
      },
    }
  }

  get #room(): number {
    let room = 0
    for (const reader of this.#readers) room = Math.max(room, reader.room)
    return room
  }

  #receive(message: LogMessage): void {
    if (this.#loop.isOver) return
    if (message.sequence === this.#received + 1) this.#handOn(message)
    else this.#failAtGap(this.#received + 1, message.sequence)
  }

  #handOn(message: LogMessage): void {
    if (this.#readers.size > 1) this.#releaseFullReaders()
    this.#received = message.sequence
    this.#behind.reach(message.sequence)
    for (const reader of this.#readers) reader.receive(message)
    if (this.#parts.sources.size > 1) this.#takeReadersAtSamePosition()
  }

  #releaseFullReaders(): void {
    const full = [...this.#readers].filter(({ room }) => room <= 0)
    if (full.length === this.#readers.size) return // What was requested for one of them comes.
    for (const reader of full) {
      this.#readers.delete(reader)
      reader.moveTo(new LogSource(this.#parts, this.#received, reader))
    }
  }

  #takeReadersAtSamePosition(): void {
    for (const other of this.#parts.sources) {
      if (other === this || other.#received !== this.#received) continue
      for (const reader of other.#readers) {
        this.#readers.add(reader)
        reader.moveTo(this)
      }
      other.#readers.clear()
      void other.#close()
    }
  }

  #failAtGap(expected: number, came: number): void {
    for (const reader of this.#readers) reader.finish()
    this.#fail(new LogFault(`sequence ${expected} is missing: ${came} came`, { from: expected, resumesAt: came }))
  }

  #fail(error: unknown): void {
    for (const reader of [...this.#readers]) reader.fail(error)
  }

  async #close(): Promise<void> {
    this.#parts.sources.delete(this)
    this.#loop.stop()
    await this.#session?.close()
  }
}
