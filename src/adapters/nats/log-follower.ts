import type { JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Follower } from '../../log/event-log.ts'
import type { Logger } from '../../runtime/logger.ts'
import { findPermissionViolation } from './connect.ts'
import { FollowSession, LogFault } from './follow-session.ts'
import { natsLimits } from './limits.ts'
import type { Link } from './link.ts'
import type { LogMessage } from './read-frame.ts'
import { type Session, SessionLoop } from './session-loop.ts'
import type { LogNames } from './streams.ts'

export interface LogFollowerParts {
  readonly connection: NatsConnection
  readonly jsm: JetStreamManager
  readonly names: LogNames
  readonly inboxPrefix: string
  readonly link: Link
  readonly logger: Logger
}

const frameBytesKept = 0.9 // Decay of the size estimate with each smaller message.

export type OnMessage = (message: LogMessage) => void | Promise<void>

interface MessageQueueParts {
  readonly onMessage: OnMessage
  readonly onRoom: () => void
  readonly onFault: (error: unknown) => void
}

class MessageQueue {
  readonly #parts: MessageQueueParts
  readonly #messages: LogMessage[] = []
  #bytes = 0
  /** Expected size of the next message: that of the largest recent one. */
  #messageBytes = 1
  #handling: Promise<void> | null = null
  #isScheduled = false
  #isOver = false

  constructor(parts: MessageQueueParts) {
    this.#parts = parts
  }

  get room(): number {
    const bytes = natsLimits.followBufferBytesMax - this.#bytes
    if (bytes <= 0) return 0
    const frames = Math.max(1, Math.floor(bytes / this.#messageBytes))
    return Math.min(frames, natsLimits.followBufferFramesMax - this.#messages.length, natsLimits.followPullFramesMax)
  }

  add(message: LogMessage): void {
    this.#messageBytes = Math.max(message.data.length, this.#messageBytes * frameBytesKept)
    this.#messages.push(message)
    this.#bytes += message.data.length
    if (this.#handling === null && !this.#isScheduled) this.#schedule()
  }

  /** Hands over what is there, unless the reader is busy, and then nothing more. */
  finish(): void {
    if (this.#handling === null) this.#handOver()
    this.#isOver = true
  }

  /** Resolves when the reader has finished its current message; it receives no other. */
  async stop(): Promise<void> {
    this.#isOver = true
    await this.#handling?.catch(() => {}) // Reported by `onFault`.
  }

  /** Deferred, so that acknowledgements that arrived with the message go first: callers wait for them. */
  #schedule(): void {
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#handOver()
    })
  }

  #handOver(): void {
    this.#handling = null
    while (this.#handling === null && !this.#isOver) {
      const message = this.#messages.shift()
      if (message === undefined) break
      this.#bytes -= message.data.length
      this.#handle(message)
    }
    this.#parts.onRoom()
  }

  /** A synchronous reader costs no promise. */
  #handle(message: LogMessage): void {
    try {
      const result = this.#parts.onMessage(message)
      if (!(result instanceof Promise)) return
      this.#handling = result
      result.then(
        () => this.#handOver(),
        (error) => this.#fail(error),
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.#isOver = true
    this.#parts.onFault(error)
  }
}

/** Delivers every message from a sequence on, in order and one at a time, across server restarts. */
export class LogFollower implements Follower {
  readonly #parts: LogFollowerParts
  readonly #ended = Promise.withResolvers<void>()
  readonly #queue: MessageQueue
  readonly #loop: SessionLoop
  #received: number
  #session: FollowSession | undefined

  constructor(parts: LogFollowerParts, fromSequence: number, onMessage: OnMessage) {
    this.#parts = parts
    this.#received = fromSequence - 1
    this.#queue = new MessageQueue({
      onMessage,
      onRoom: () => this.#session?.fill(),
      onFault: (error) => this.#fail(error),
    })
    this.#loop = new SessionLoop({
      link: parts.link,
      open: (onEnd) => this.#open(onEnd),
      onRestart: (reason) => parts.logger.log('log.consumer_restarted', { sequence: this.#received, reason }),
      onFault: (error) => {
        if (error instanceof LogFault || findPermissionViolation(error) !== null) throw error
      },
    })
    void this.#run()
  }

  get done(): Promise<void> {
    return this.#ended.promise
  }

  get isOver(): boolean {
    return this.#loop.isOver
  }

  /** Resolves when the reader has finished its current message; it receives no other. */
  async stop(): Promise<void> {
    this.#loop.stop()
    const handled = this.#queue.stop()
    await this.#session?.close()
    await handled
    this.#ended.resolve()
  }

  #fail(error: unknown): void {
    this.#ended.reject(error)
    this.#loop.stop()
    void this.#queue.stop()
  }

  async #run(): Promise<void> {
    try {
      await this.#loop.run()
      if (!this.#loop.isOver) await this.stop()
    } catch (error) {
      if (!this.#loop.isOver) this.#fail(error)
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
      room: () => this.#queue.room,
      onMessage: (message) => this.#receive(message),
      onEnd,
    })
    this.#session = session
    return {
      prepare: () => session.start(this.#received + 1),
      start: () => undefined,
      close: () => void session.close(),
    }
  }

  #failAtGap(expected: number, came: number): void {
    this.#queue.finish()
    this.#fail(new LogFault(`sequence ${expected} is missing: ${came} came`, { from: expected, resumesAt: came }))
  }

  #receive(message: LogMessage): void {
    if (this.#loop.isOver) return
    const expected = this.#received + 1
    this.#received = message.sequence
    if (message.sequence === expected) this.#queue.add(message)
    else this.#failAtGap(expected, message.sequence)
  }
}
