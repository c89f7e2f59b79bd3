import { frameIdText } from '../../events/codec.ts'
import type { Event } from '../../events/envelope.ts'
import {
  assertBelongs,
  eventsOf,
  frameIdOf,
  type Speakers,
  type Standing,
  standingOf,
  unreadable,
} from '../../roles/read-frame.ts'
import type { Frame } from '../../roles/role.ts'
import type { RecentFrames } from './recent-frames.ts'
import type { LogNames } from './stream.ts'

export type { Speakers }

/** A message of the log's stream as it came from the server. */
export interface LogMessage {
  readonly sequence: number
  readonly subject: string
  /** When the server stored it, in milliseconds since the epoch. */
  readonly storedMs: number
  readonly data: Uint8Array
}

/** Reads the frames of one log. */
export class FrameReader {
  readonly #names: LogNames
  readonly #recent: RecentFrames
  readonly #speakers: Speakers | undefined
  /** Followers of this process: with one alone, what it reads need not be kept for another. */
  followers = 0

  constructor(names: LogNames, recent: RecentFrames, speakers?: Speakers) {
    this.#names = names
    this.#recent = recent
    this.#speakers = speakers
  }

  /** The frame in a message, every event checked and raised to its current version. Throws when it cannot be read or believed. */
  read({ sequence, subject, data }: LogMessage): Frame {
    try {
      const id = frameIdOf(data)
      const events = this.#eventsOf(frameIdText(id), data)
      const standing = this.#standingOf(subject)
      assertBelongs(events, standing, this.#speakers)
      return { sequence, walletSubject: standing.wallet, ...id, events }
    } catch (cause) {
      throw unreadable(sequence, cause)
    }
  }

  #standingOf(subject: string): Standing {
    return { ...standingOf(subject.slice(this.#names.prefix.length)), subject }
  }

  #eventsOf(id: string, data: Uint8Array): readonly Event[] {
    const known = this.#recent.find(id, data)
    if (known !== undefined) return known
    const events = eventsOf(data)
    if (this.followers > 1) this.#recent.remember(id, data, events)
    return events
  }
}
