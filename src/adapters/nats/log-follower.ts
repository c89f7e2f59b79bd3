import type { JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { faultText } from '../../errors/gateway-error.ts'
import type { Follower } from '../../log/event-log.ts'
import type { Logger } from '../../runtime/logger.ts'
import { findPermissionViolation } from './connect.ts'
import { FollowSession, LogFault } from './follow-session.ts'
import { natsLimits } from './limits.ts'
import type { Link } from './link.ts'
import type { LogMessage } from './read-frame.ts'
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

/** Delivers every message from a sequence on, in order and one at a time, across server restarts. */
export class LogFollower implements Follower {
  readonly done: Promise<void>
  readonly #parts: LogFollowerParts
  readonly #onMessage: OnMessage
  readonly #ended = Promise.withResolvers<void>()
  readonly #buffer: LogMessage[] = []
  #bufferBytes = 0
  /** Expected size of the next message: that of the largest recent one. */
  #frameBytes = 1
  #received: number
  #session: FollowSession | undefined
  #handling: Promise<void> | null = null
  #isScheduled = false
  #attempt = 0
  #isOver = false
  #endSession: (reason: string) => void = () => {}

  constructor(parts: LogFollowerParts, fromSequence: number, onMessage: OnMessage) {
    this.#parts = parts
    this.#onMessage = onMessage
    this.#received = fromSequence - 1
    this.done = this.#ended.promise
    void this.#run()
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Resolves when the reader has finished its current message; it receives no other. */
  async stop(): Promise<void> {
    this.#isOver = true
    this.#endSession('stopped')
    await this.#session?.close()
    // A reader's failure is reported through `done`.
    await this.#handling?.catch(() => {})
    this.#ended.resolve()
  }

  #fail(error: unknown): void {
    this.#isOver = true
    this.#ended.reject(error)
    this.#endSession('failed')
  }

  async #run(): Promise<void> {
    const { link, logger } = this.#parts
    try {
      while (!this.#isOver && !link.isClosed) {
        const reason = await this.#runSession()
        if (this.#isOver) return
        await link.backOff(Math.min(this.#attempt, natsLimits.followDoublingsMax)).catch(() => {}) // Closed: the loop ends.
        if (this.#attempt === 0 && !link.isClosed)
          logger.log('log.consumer_restarted', { sequence: this.#received, reason })
        this.#attempt += 1
      }
      if (!this.#isOver) await this.stop()
    } catch (error) {
      if (!this.#isOver) this.#fail(error)
    }
  }

  /** Resolves with the reason why another session is needed. Throws a LogFault or a permission violation. */
  async #runSession(): Promise<string> {
    const { link } = this.#parts
    const lost = Promise.withResolvers<string>()
    this.#endSession = lost.resolve
    const session = this.#newSession(lost.resolve)
    this.#session = session
    try {
      await link.runWhileUp(() => session.start(this.#received + 1))
      this.#attempt = 0
      return await link.runWhileUp(() => lost.promise)
    } catch (error) {
      if (error instanceof LogFault || findPermissionViolation(error) !== null) throw error
      return faultText(error)
    } finally {
      void session.close()
    }
  }

  #newSession(onLost: (reason: string) => void): FollowSession {
    const { connection, jsm, link, names, inboxPrefix } = this.#parts
    return new FollowSession({
      connection,
      jsm,
      link,
      stream: names.stream,
      inboxPrefix,
      room: () => this.#findCapacity(),
      onMessage: (message) => this.#receive(message),
      onEnd: onLost,
    })
  }

  #findCapacity(): number {
    const bytes = natsLimits.followBufferBytesMax - this.#bufferBytes
    if (bytes <= 0) return 0
    const frames = Math.max(1, Math.floor(bytes / this.#frameBytes))
    return Math.min(frames, natsLimits.followBufferFramesMax - this.#buffer.length, natsLimits.followPullFramesMax)
  }

  #receive(message: LogMessage): void {
    if (this.#isOver) return
    this.#frameBytes = Math.max(message.data.length, this.#frameBytes * frameBytesKept)
    const expected = this.#received + 1
    this.#received = message.sequence
    if (message.sequence === expected) this.#enqueue(message)
    else this.#failAtGap(expected, message.sequence)
  }

  #failAtGap(expected: number, came: number): void {
    if (this.#handling === null) this.#dispatchNext()
    this.#fail(new LogFault(`sequence ${expected} is missing: ${came} came`, { from: expected, resumesAt: came }))
  }

  #enqueue(message: LogMessage): void {
    this.#buffer.push(message)
    this.#bufferBytes += message.data.length
    if (this.#handling === null && !this.#isScheduled) this.#scheduleDispatch()
  }

  /** Deferred, so that acknowledgements that arrived with the message go first: callers wait for them. */
  #scheduleDispatch(): void {
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#dispatchNext()
    })
  }

  /** A synchronous reader costs no promise. */
  #dispatch(message: LogMessage): void {
    try {
      const result = this.#onMessage(message)
      if (!(result instanceof Promise)) return
      this.#handling = result
      result.then(
        () => this.#dispatchNext(),
        (error) => this.#fail(error),
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  #dispatchNext(): void {
    this.#handling = null
    while (this.#handling === null && !this.#isOver) {
      const message = this.#buffer.shift()
      if (message === undefined) break
      this.#bufferBytes -= message.data.length
      this.#dispatch(message)
    }
    this.#session?.fill()
  }
}
