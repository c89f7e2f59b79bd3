import type { Follower } from '../../log/event-log.ts'
import { natsLimits } from './limits.ts'
import { LogSource, type LogSourceParts, type SourceReader } from './log-source.ts'
import type { LogMessage } from './read-frame.ts'

const frameBytesKept = 0.9 // Decay of the size estimate with each smaller message.

type OnMessage = (message: LogMessage) => void | Promise<void>

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
export class LogFollower implements Follower, SourceReader {
  readonly #ended = Promise.withResolvers<void>()
  readonly #queue: MessageQueue
  #source: LogSource
  #isOver = false

  constructor(parts: LogSourceParts, fromSequence: number, onMessage: OnMessage) {
    this.#queue = new MessageQueue({
      onMessage,
      onRoom: () => this.#source.fill(),
      onFault: (error) => this.fail(error),
    })
    this.#source = new LogSource(parts, fromSequence - 1, this)
  }

  get done(): Promise<void> {
    return this.#ended.promise
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get behindSinceMs(): number | null {
    return this.#source.behindSinceMs
  }

  get room(): number {
    return this.#queue.room
  }

  receive(message: LogMessage): void {
    this.#queue.add(message)
  }

  moveTo(source: LogSource): void {
    this.#source = source
  }

  finish(): void {
    this.#queue.finish()
  }

  /** Resolves when the reader has finished its current message; it receives no other. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all([this.#queue.stop(), this.#source.remove(this)])
    this.#ended.resolve()
  }

  fail(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ended.reject(error)
    void this.#queue.stop()
    void this.#source.remove(this)
  }
}
