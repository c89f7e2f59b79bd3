import { isWorkspaceFact } from '../domain/ledger/workspace-draft.ts'
import { getValidator, problemsText } from '../encoding/schema-validation.ts'
import { faultText } from '../errors/gateway-error.ts'
import { decodeFrame, decodeFrameId, type FrameId } from '../events/codec.ts'
import type { Event, EventType } from '../events/envelope.ts'
import { assertReadableFormat } from '../events/log-format.ts'
import { type StoredEvent, storedSchemaIdOf, upcast } from '../events/upcast.ts'

export type AllowedWriters = ReadonlyMap<string, ReadonlySet<EventType>>

export interface SubjectOwner {
  readonly wallet: string | null
  readonly journal: string | null
  readonly subject: string
}

const journalPrefix = 'journal.'
const walletPrefix = 'wallet.'

const after = (prefix: string, subject: string): string | null =>
  subject.startsWith(prefix) ? subject.slice(prefix.length) : null

/** From a subject without the log's name: `journal.edge`, `wallet.acme`. */
export const parseSubject = (subject: string): SubjectOwner => ({
  wallet: after(walletPrefix, subject),
  journal: after(journalPrefix, subject),
  subject,
})

const utf8 = new TextDecoder('utf-8', { fatal: true })
const lineFeed = 0x0a

/** Raised to its current version. Throws where it does not follow its schema. */
export const readEvent = (stored: StoredEvent): Event => {
  const problems = getValidator(storedSchemaIdOf(stored))(stored.data)
  if (problems.length > 0)
    throw new Error(`event ${stored.id} does not follow ${stored.dataschema}: ${problemsText(problems)}`)
  const event = upcast(stored)
  if (event.type === 'LogFormatRaised') assertReadableFormat(event.data.format)
  return event
}

export const headerLineOf = (data: Uint8Array): string =>
  Buffer.from(data.buffer, data.byteOffset, Math.max(0, data.indexOf(lineFeed))).toString('latin1')

/** Read from the frame's first line. Throws where that is no frame's header. */
export const frameIdOf = (data: Uint8Array): FrameId => decodeFrameId(headerLineOf(data))

export const decodeStoredEvents = (data: Uint8Array): readonly StoredEvent[] => decodeFrame(utf8.decode(data)).events

/** Each event is checked and raised to its current version. Throws where one cannot be read. */
export const decodeEvents = (data: Uint8Array): readonly Event[] => decodeStoredEvents(data).map(readEvent)

const isOnWallet = (event: Event, workspaceId: string): boolean =>
  isWorkspaceFact(event) && 'workspaceId' in event.data && event.data.workspaceId === workspaceId

/** The server limits each writer to its subject, this what it may store there: a compromised proxy must not credit. */
export const assertBelongs = (
  events: readonly Event[],
  { wallet, journal, subject }: SubjectOwner,
  permittedTypes?: AllowedWriters,
): void => {
  const permitted = journal === null ? undefined : permittedTypes?.get(journal)
  const isStray = (event: Event): boolean =>
    wallet === null ? permittedTypes !== undefined && !permitted?.has(event.type) : !isOnWallet(event, wallet)
  const stray = events.find(isStray)
  if (stray !== undefined) throw new Error(`${subject} holds a ${stray.type}, which no writer may put there`)
}

export const unreadable = (sequence: number, cause: unknown): Error =>
  new Error(`the frame at sequence ${sequence} cannot be read: ${faultText(cause)}`, { cause })
