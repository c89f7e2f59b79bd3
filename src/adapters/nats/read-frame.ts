import type { FrameId } from '../../events/codec.ts'
import type { Event } from '../../events/envelope.ts'
import type { Frame } from '../../log/event-log.ts'
import {
  type AllowedWriters,
  assertBelongs,
  decodeEvents,
  frameIdOf,
  headerLineOf,
  parseSubject,
  type SubjectOwner,
  unreadable,
} from '../../log/read-frame.ts'
import { TransientMap } from '../../runtime/transient-map.ts'
import { natsLimits } from './limits.ts'
import type { LogNames } from './streams.ts'

export interface LogMessage {
  readonly sequence: number
  readonly subject: string
  /** In milliseconds since the epoch. */
  readonly storedMs: number
  readonly data: Uint8Array
  /** As the first follower has read it: followers that share a source receive the same message. */
  frame?: Frame
}

interface DecodedFrame extends FrameId {
  readonly events: readonly Event[]
}

interface RecentFrame {
  readonly bytes: Uint8Array
  readonly frame: DecodedFrame
}

/** A view would keep alive all that its connection read at once, 64 KB and more. */
const copyIfView = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

/** The frames that this process has sent and not received: nothing of them needs parsing. */
export class RecentFrames {
  readonly #byHeader = new TransientMap<string, RecentFrame>()
  #bytes = 0

  remember(frame: DecodedFrame, bytes: Uint8Array): void {
    const header = headerLineOf(bytes)
    this.#bytes += bytes.length - (this.#byHeader.get(header)?.bytes.length ?? 0)
    this.#byHeader.set(header, { bytes: copyIfView(bytes), frame })
    for (const [oldest, { bytes: kept }] of this.#byHeader) {
      if (this.#bytes <= natsLimits.recentFramesBytesMax) return
      this.#byHeader.delete(oldest)
      this.#bytes -= kept.length
    }
  }

  /** The frame where the bytes are the same; forgets it. */
  take(bytes: Uint8Array): DecodedFrame | undefined {
    const header = headerLineOf(bytes)
    const recent = this.#byHeader.get(header)
    if (recent === undefined) return undefined
    this.#byHeader.delete(header)
    this.#bytes -= recent.bytes.length
    return Buffer.compare(recent.bytes, bytes) === 0 ? recent.frame : undefined
  }
}

const decode = (data: Uint8Array): DecodedFrame => ({ ...frameIdOf(data), events: decodeEvents(data) })

export class FrameReader {
  readonly #names: LogNames
  readonly #recent: RecentFrames
  readonly #permittedTypes: AllowedWriters | undefined

  constructor(names: LogNames, recent: RecentFrames, permittedTypes?: AllowedWriters) {
    this.#names = names
    this.#recent = recent
    this.#permittedTypes = permittedTypes
  }

  /** Validates and upcasts every event. Throws when the frame cannot be decoded or is not of its subject. */
  read(message: LogMessage): Frame {
    message.frame ??= this.#decode(message)
    return message.frame
  }

  #decode({ sequence, subject, data }: LogMessage): Frame {
    try {
      const { writer, counter, events } = this.#recent.take(data) ?? decode(data)
      const parsedSubject = this.#parseSubject(subject)
      assertBelongs(events, parsedSubject, this.#permittedTypes)
      return { sequence, walletSubject: parsedSubject.wallet, writer, counter, events }
    } catch (cause) {
      throw unreadable(sequence, cause)
    }
  }

  #parseSubject(subject: string): SubjectOwner {
    return { ...parseSubject(subject.slice(this.#names.prefix.length)), subject }
  }
}
