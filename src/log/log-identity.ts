import { frameIdText } from '../events/codec.ts'
import type { EventLog } from './event-log.ts'

interface TablesPosition {
  readonly sequence: number
  /** Null if no frame was applied yet. */
  readonly firstFrame: string | null
}

/** The tables were made from another log, or from more of this one than there is. */
export class ForeignTables extends Error {
  override readonly name = 'ForeignTables'

  constructor(what: string) {
    super(
      `${what}; bring the right log, or drop the schema of the tables and start again: the tables are rebuilt from the log`,
    )
  }
}

const readFirstFrameId = async (log: Pick<EventLog, 'follow'>, signal: AbortSignal): Promise<string> => {
  signal.throwIfAborted()
  const first = Promise.withResolvers<string>()
  const follower = log.follow(1, (frame) => first.resolve(frameIdText(frame)))
  follower.done.then(() => first.reject(new Error('the log was closed while it was read')), first.reject)
  const abort = () => first.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await first.promise
  } finally {
    signal.removeEventListener('abort', abort)
    await follower.stop()
  }
}

/** Throws `ForeignTables` when tables at that position cannot be continued from the log. */
export const assertSameLog = async (
  log: Pick<EventLog, 'follow' | 'lastSequence'>,
  { sequence, firstFrame }: TablesPosition,
  signal: AbortSignal,
): Promise<void> => {
  if (sequence === 0) return
  const last = await log.lastSequence()
  if (last < sequence) throw new ForeignTables(`the tables are at sequence ${sequence}, but the log ends at ${last}`)
  const id = await readFirstFrameId(log, signal)
  if (id !== firstFrame)
    throw new ForeignTables(`the tables were made from a log that begins with frame ${firstFrame}, this one with ${id}`)
}
