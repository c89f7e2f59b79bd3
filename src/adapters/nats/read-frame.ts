import { frameIdText } from '../../events/codec.ts'
import type { Event } from '../../events/envelope.ts'
import type { Frame } from '../../log/event-log.ts'
import {
  type AllowedWriters,
  assertBelongs,
  decodeEvents,
  frameIdOf,
  parseSubject,
  type SubjectOwner,
  unreadable,
} from '../../log/read-frame.ts'
import { natsLimits } from './limits.ts'
import type { LogNames } from './streams.ts'

export interface LogMessage {
  readonly sequence: number
  readonly subject: string
  /** In milliseconds since the epoch. */
  readonly storedMs: number
  readonly data: Uint8Array
}

interface RecentFrame {
  readonly bytes: Uint8Array
  readonly events: readonly Event[]
}

/** A view would keep alive all that its connection read at once, 64 KB and more. */
const copyIfView = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

/** The frames that this process has sent and not received: their events need no parsing. */
export class RecentFrames {
  readonly #frames = new Map<string, RecentFrame>()
  #bytes = 0

  remember(id: string, bytes: Uint8Array, events: readonly Event[]): void {
    this.#bytes += bytes.length - (this.#frames.get(id)?.bytes.length ?? 0)
    this.#frames.set(id, { bytes: copyIfView(bytes), events })
    for (const [oldest, frame] of this.#frames) {
      if (this.#bytes <= natsLimits.recentFramesBytesMax) return
      this.#frames.delete(oldest)
      this.#bytes -= frame.bytes.length
    }
  }

  /** The events where the bytes are the same; forgets the frame. */
  take(id: string, bytes: Uint8Array): readonly Event[] | undefined {
    const frame = this.#frames.get(id)
    if (frame === undefined) return undefined
    this.#frames.delete(id)
    this.#bytes -= frame.bytes.length
    return Buffer.compare(frame.bytes, bytes) === 0 ? frame.events : undefined
  }
}

export class FrameReader {
  readonly #names: LogNames
  readonly #recent: RecentFrames
  readonly #permittedTypes: AllowedWriters | undefined
  /** Followers that share a source receive the same message. */
  readonly #read = new WeakMap<LogMessage, Frame>()

  constructor(names: LogNames, recent: RecentFrames, permittedTypes?: AllowedWriters) {
    this.#names = names
    this.#recent = recent
    this.#permittedTypes = permittedTypes
  }

  /** Validates and upcasts every event. Throws when the frame cannot be decoded or is not of its subject. */
  read(message: LogMessage): Frame {
    const known = this.#read.get(message)
    if (known !== undefined) return known
    const frame = this.#decode(message)
    this.#read.set(message, frame)
    return frame
  }

  #decode({ sequence, subject, data }: LogMessage): Frame {
    try {
      const id = frameIdOf(data)
      const events = this.#recent.take(frameIdText(id), data) ?? decodeEvents(data)
      const parsedSubject = this.#parseSubject(subject)
      assertBelongs(events, parsedSubject, this.#permittedTypes)
      return { sequence, walletSubject: parsedSubject.wallet, ...id, events }
    } catch (cause) {
      throw unreadable(sequence, cause)
    }
  }

  #parseSubject(subject: string): SubjectOwner {
    return { ...parseSubject(subject.slice(this.#names.prefix.length)), subject }
  }
}
