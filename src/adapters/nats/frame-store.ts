import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream'
import { faultText } from '../../errors/gateway-error.ts'
import { frameIdText } from '../../events/codec.ts'
import type { Appended } from '../../log/event-log.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Observer } from '../../runtime/observer.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import type { Link } from './link.ts'
import type { PendingFrame } from './pending-frames.ts'
import type { Publisher } from './publisher.ts'
import type { RecentFrames } from './read-frame.ts'

/** The server knew the id before the first send: two processes count under one writer, and bills get lost. */
export class ReusedFrameId extends Error {
  constructor(id: string) {
    super(`frame ${id} was a duplicate when it was first sent`)
    this.name = 'ReusedFrameId'
  }
}

/** `refused`: the expected sequence was not the subject's last. `unknown`: the frame may be stored or not. */
type SendOutcome =
  | { readonly outcome: 'stored'; readonly sequence: number; readonly duplicate: boolean }
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'unknown' }

interface FrameDestination {
  readonly subject: string
  /** The subject's last sequence that is required; absent: any. */
  readonly expectedSequence?: number
}

interface StoreParts {
  readonly publisher: Publisher
  readonly link: Link
  readonly recent: RecentFrames
  readonly observer: Pick<Observer, 'frameStored'>
  readonly readServerError: () => Promise<string | null>
  readonly logger: Logger
  readonly onFatal: (error: Error) => void
}

export const isSequenceConflict = (error: unknown): boolean =>
  error instanceof JetStreamApiError &&
  (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
    error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)

export class FrameStore {
  readonly #parts: StoreParts
  readonly #warning: ThrottledWarning
  #refusal: string | null = null

  constructor(parts: StoreParts) {
    this.#parts = parts
    this.#warning = new ThrottledWarning(parts.logger)
  }

  get refusal(): string | null {
    return this.#refusal
  }

  /** Sends a frame until it is stored. Rejects with `log_unavailable` when the log is closed first. */
  async store(frame: PendingFrame, destination: FrameDestination): Promise<Appended> {
    for (let attempt = 0; ; attempt += 1) {
      const result = await this.send(frame, destination)
      if (result.outcome === 'stored') return { sequence: result.sequence }
      await this.#parts.link.backOff(attempt)
    }
  }

  /** Sends a frame once. Reports a duplicate on its first send as fatal, and rejects then. */
  async send(frame: PendingFrame, destination: FrameDestination): Promise<SendOutcome> {
    const isFirst = frame.sends === 0
    const result = await this.#attempt(frame, destination)
    if (result.outcome === 'stored' && result.duplicate && isFirst) this.#failFatally(frame)
    return result
  }

  async #attempt(frame: PendingFrame, { subject, expectedSequence }: FrameDestination): Promise<SendOutcome> {
    const { publisher, link, recent, observer } = this.#parts
    const id = frameIdText(frame.id)
    let bytesLength = 0
    try {
      const { sequence, duplicate } = await link.runWhileUp(() => {
        frame.sends += 1
        const bytes = frame.encode()
        bytesLength = bytes.length
        recent.remember({ ...frame.id, events: frame.events }, bytes)
        return publisher.publish({ subject, bytes, messageId: id, expectedSequence })
      })
      this.#refusal = null
      this.#warning.clear('log.append_recovered', {})
      observer.frameStored(frame.events.length, bytesLength, (performance.now() - frame.openedMs) / 1_000)
      return { outcome: 'stored', sequence, duplicate }
    } catch (error) {
      if (isSequenceConflict(error)) return { outcome: 'refused' }
      void this.#noteFailure(frame, faultText(error))
      return { outcome: 'unknown' }
    }
  }

  #failFatally(frame: PendingFrame): never {
    const error = new ReusedFrameId(frameIdText(frame.id))
    this.#parts.onFatal(error)
    throw error
  }

  async #noteFailure({ id }: PendingFrame, failure: string): Promise<void> {
    const { link, readServerError } = this.#parts
    if (link.isClosed) return
    this.#refusal = failure
    const reason = (await readServerError()) ?? failure
    if (this.#refusal === null) return // Stored meanwhile.
    this.#refusal = reason
    this.#warning.raise('log.append_unacknowledged', { frame: frameIdText(id), reason })
  }
}
