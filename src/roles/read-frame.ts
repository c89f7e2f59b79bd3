import type { WalletFact } from '../domain/wallet/evolve.ts'
import { decodeFrame, decodeFrameId, type FrameId } from '../events/codec.ts'
import type { Event, EventType } from '../events/envelope.ts'
import { type StoredEvent, storedSchemaIdOf, upcast } from '../events/upcast.ts'
import { problemsText, validatorOf } from '../schema-validation.ts'

/** What each writer's journal may hold, by the last token of its subject. */
export type Speakers = ReadonlyMap<string, ReadonlySet<EventType>>

/** Where a frame stands: on the wallet subject of a workspace, or on a writer's journal. */
export interface Standing {
  /** Null on a journal. */
  readonly wallet: string | null
  /** The last token of the journal's subject. */
  readonly journal: string | null
  /** As an error tells it. */
  readonly subject: string
}

const journalPrefix = 'journal.'
const walletPrefix = 'wallet.'

const after = (prefix: string, subject: string): string | null =>
  subject.startsWith(prefix) ? subject.slice(prefix.length) : null

/** From a subject without the log's name: `journal.edge`, `wallet.acme`. */
export const standingOf = (subject: string): Standing => ({
  wallet: after(walletPrefix, subject),
  journal: after(journalPrefix, subject),
  subject,
})

const utf8 = new TextDecoder('utf-8', { fatal: true })
const lineFeed = 0x0a

const readEvent = (stored: StoredEvent): Event => {
  const problems = validatorOf(storedSchemaIdOf(stored))(stored.data)
  if (problems.length === 0) return upcast(stored)
  throw new Error(`event ${stored.id} does not follow ${stored.dataschema}: ${problemsText(problems)}`)
}

const headerLineOf = (data: Uint8Array): string =>
  Buffer.from(data.buffer, data.byteOffset, Math.max(0, data.indexOf(lineFeed))).toString('latin1')

/** The frame's id, from its first line. Throws where that is no frame's header. */
export const frameIdOf = (data: Uint8Array): FrameId => decodeFrameId(headerLineOf(data))

/** The events of a frame, each checked and raised to its current version. Throws where one cannot be read. */
export const eventsOf = (data: Uint8Array): readonly Event[] => decodeFrame(utf8.decode(data)).events.map(readEvent)

/** What moves a wallet by itself, and so may stand on its subject. */
const walletTypes: { readonly [T in WalletFact['type']]: true } = {
  WalletCredited: true,
  CreditExpired: true,
  HoldPlaced: true,
  HoldReleased: true,
  AdjustmentPosted: true,
  PlanSubscribed: true,
  PlanRenewed: true,
  PlanCancelled: true,
  PlanEnded: true,
}

const isOnWallet = ({ type, data }: Event, workspaceId: string): boolean =>
  type in walletTypes && 'workspaceId' in data && data.workspaceId === workspaceId

/**
 * The server's permissions hold each writer to its own subject. What it says there is held to here: a proxy that is taken over must not
 * credit a wallet. Throws for an event that does not belong on the frame's subject.
 */
export const assertBelongs = (
  events: readonly Event[],
  { wallet, journal, subject }: Standing,
  speakers?: Speakers,
): void => {
  const said = journal === null ? undefined : speakers?.get(journal)
  const isStray = (event: Event): boolean =>
    wallet === null ? speakers !== undefined && !said?.has(event.type) : !isOnWallet(event, wallet)
  const stray = events.find(isStray)
  if (stray !== undefined) throw new Error(`${subject} holds a ${stray.type}, which nobody may say there`)
}

/** Why a frame is not handed on. */
export const unreadable = (sequence: number, cause: unknown): Error =>
  new Error(`the frame at sequence ${sequence} cannot be read: ${cause instanceof Error ? cause.message : cause}`, {
    cause,
  })
