import type { WalletFact } from '../../domain/wallet/evolve.ts'
import { decodeFrame, decodeFrameId, type FrameId, frameIdText } from '../../events/codec.ts'
import type { Event, EventType } from '../../events/envelope.ts'
import { type StoredEvent, storedSchemaIdOf, upcast } from '../../events/upcast.ts'
import type { Frame } from '../../roles/role.ts'
import { problemsText, validatorOf } from '../../schema-validation.ts'
import type { RecentFrames } from './recent-frames.ts'
import type { LogNames } from './stream.ts'

/** A message of the log's stream as it came from the server. */
export interface LogMessage {
  readonly sequence: number
  readonly subject: string
  /** When the server stored it, in milliseconds since the epoch. */
  readonly storedMs: number
  readonly data: Uint8Array
}

/** What each writer's journal may hold, by the last token of its subject. */
export type Speakers = ReadonlyMap<string, ReadonlySet<EventType>>

const utf8 = new TextDecoder('utf-8', { fatal: true })
const lineFeed = 0x0a

const readEvent = (stored: StoredEvent): Event => {
  const problems = validatorOf(storedSchemaIdOf(stored))(stored.data)
  if (problems.length === 0) return upcast(stored)
  throw new Error(`event ${stored.id} does not follow ${stored.dataschema}: ${problemsText(problems)}`)
}

const walletOf = (subject: string, { walletPrefix }: LogNames): string | null =>
  subject.startsWith(walletPrefix) ? subject.slice(walletPrefix.length) : null

/** The frame's id, from its first line. */
export const frameIdOf = (data: Uint8Array): FrameId => decodeFrameId(headerLineOf(data))

const headerLineOf = (data: Uint8Array): string =>
  Buffer.from(data.buffer, data.byteOffset, Math.max(0, data.indexOf(lineFeed))).toString('latin1')

const decodeChecked = (data: Uint8Array): readonly Event[] => decodeFrame(utf8.decode(data)).events.map(readEvent)

/** What moves a wallet by itself, and so may stand on its subject. */
const walletTypes: { readonly [T in WalletFact['type']]: true } = {
  WalletCredited: true,
  HoldPlaced: true,
  HoldReleased: true,
  AdjustmentPosted: true,
}

const isOnWallet = ({ type, data }: Event, workspaceId: string): boolean =>
  type in walletTypes && 'workspaceId' in data && data.workspaceId === workspaceId

/**
 * The server's permissions hold each writer to its own subject. What it says there is held to here: a proxy that is taken over must not
 * credit a wallet. Throws for an event that does not belong on the frame's subject.
 */
const assertBelongs = (events: readonly Event[], subject: string, names: LogNames, speakers?: Speakers): void => {
  const wallet = walletOf(subject, names)
  const said = speakers?.get(subject.slice(names.journalPrefix.length))
  const isStray = (event: Event): boolean =>
    wallet === null ? speakers !== undefined && !said?.has(event.type) : !isOnWallet(event, wallet)
  const stray = events.find(isStray)
  if (stray !== undefined) throw new Error(`${subject} holds a ${stray.type}, which nobody may say there`)
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
      assertBelongs(events, subject, this.#names, this.#speakers)
      return { sequence, walletSubject: walletOf(subject, this.#names), ...id, events }
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : cause
      throw new Error(`the frame at sequence ${sequence} cannot be read: ${why}`, { cause })
    }
  }

  #eventsOf(id: string, data: Uint8Array): readonly Event[] {
    const known = this.#recent.find(id, data)
    if (known !== undefined) return known
    const events = decodeChecked(data)
    if (this.followers > 1) this.#recent.remember(id, data, events)
    return events
  }
}
