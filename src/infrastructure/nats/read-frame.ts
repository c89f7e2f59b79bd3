import { decodeFrame } from '../../events/codec.ts'
import type { Event } from '../../events/envelope.ts'
import { type StoredEvent, storedSchemaIdOf, upcast } from '../../events/upcast.ts'
import type { Frame } from '../../roles/role.ts'
import { problemsText, validatorOf } from '../../schema-validation.ts'
import type { LogNames } from './stream.ts'

/** A message of the log's stream as it came from the server. */
export interface LogMessage {
  readonly sequence: number
  readonly subject: string
  readonly data: Uint8Array
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const readEvent = (stored: StoredEvent): Event => {
  const problems = validatorOf(storedSchemaIdOf(stored))(stored.data)
  if (problems.length === 0) return upcast(stored)
  throw new Error(`event ${stored.id} does not follow ${stored.dataschema}: ${problemsText(problems)}`)
}

const walletOf = (subject: string, { walletPrefix }: LogNames): string | null =>
  subject.startsWith(walletPrefix) ? subject.slice(walletPrefix.length) : null

/** The frame in a message, every event checked and raised to its current version. Throws when it cannot be read. */
export const readFrame = ({ sequence, subject, data }: LogMessage, names: LogNames): Frame => {
  try {
    const { writer, counter, events } = decodeFrame(utf8.decode(data))
    return { sequence, walletSubject: walletOf(subject, names), writer, counter, events: events.map(readEvent) }
  } catch (cause) {
    throw new Error(
      `the frame at sequence ${sequence} cannot be read: ${cause instanceof Error ? cause.message : cause}`,
      {
        cause,
      },
    )
  }
}
