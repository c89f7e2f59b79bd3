import { frameIdText } from '../events/codec.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { withTimeout } from '../runtime/within.ts'
import type { EventLog } from './event-log.ts'

interface TablesPosition {
  readonly sequence: number
  /** Null if no frame was applied yet. */
  readonly firstFrame: string | null
  /** One that was applied, the last if that is known. */
  readonly lastFrame: { readonly sequence: number; readonly id: string } | null
}

type IdentifiedLog = Pick<EventLog, 'follow' | 'lastSequence'>

/** The tables were made from another log, or from more of this one than there is. */
export class ForeignTables extends Error {
  override readonly name = 'ForeignTables'

  constructor(what: string) {
    super(`${what}; bring the right log, or drop the schema of the tables: they are rebuilt from the log`)
  }
}

const readFrameId = async (log: Pick<EventLog, 'follow'>, sequence: number, signal: AbortSignal): Promise<string> => {
  signal.throwIfAborted()
  const read = Promise.withResolvers<string>()
  const follower = log.follow(sequence, (frame) => read.resolve(frameIdText(frame)))
  follower.done.then(() => read.reject(new Error('the log was closed while it was read')), read.reject)
  const abort = () => read.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await read.promise
  } finally {
    signal.removeEventListener('abort', abort)
    await follower.stop()
  }
}

const assertFirstFrame = ({ firstFrame }: TablesPosition, id: string): void => {
  if (id !== firstFrame)
    throw new ForeignTables(`the tables were made from a log that begins with frame ${firstFrame}, this one with ${id}`)
}

const assertLastFrame = async (
  log: IdentifiedLog,
  { sequence, lastFrame }: TablesPosition,
  signal: AbortSignal,
): Promise<void> => {
  if (lastFrame === null) return
  if (lastFrame.sequence > sequence || lastFrame.sequence < 1)
    throw new ForeignTables(`the tables are at sequence ${sequence}, but name frame ${lastFrame.sequence} as applied`)
  const id = await readFrameId(log, lastFrame.sequence, signal)
  if (id !== lastFrame.id)
    throw new ForeignTables(`the tables have frame ${lastFrame.id} at ${lastFrame.sequence}, the log has ${id} there`)
}

const assertWithin = (sequence: number, last: number): void => {
  if (last < sequence) throw new ForeignTables(`the tables are at sequence ${sequence}, but the log ends at ${last}`)
}

/** Throws `ForeignTables` when tables at that position cannot be continued from the log. */
export const assertSameLog = async (
  log: IdentifiedLog,
  position: TablesPosition,
  signal: AbortSignal,
): Promise<void> => {
  const { sequence } = position
  if (sequence === 0) return
  assertWithin(sequence, await log.lastSequence())
  assertFirstFrame(position, await readFrameId(log, 1, signal))
  await assertLastFrame(log, position, signal)
}

/**
 * The same for every read of the tables, which asks the log only where the position is not one after those before it.
 * While the log does not answer, positions that are not known to be wrong pass: the tables can be read without NATS.
 */
export const createTablesCheck = (log: IdentifiedLog, known: () => number): ((at: TablesPosition) => Promise<void>) => {
  let passed: TablesPosition | null = null
  let first: string | null = null
  return async (position) => {
    const { sequence } = position
    if (sequence === 0) return
    if (first !== null) assertFirstFrame(position, first)
    if (passed !== null && passed.sequence <= sequence && sequence <= known()) return
    try {
      const signal = AbortSignal.timeout(sharedLimits.logStalledMs)
      assertWithin(sequence, await withTimeout(log.lastSequence(), sharedLimits.logStalledMs, () => new Error('late')))
      first ??= await readFrameId(log, 1, signal)
      assertFirstFrame(position, first)
      await assertLastFrame(log, position, signal)
      passed = position
    } catch (fault) {
      if (fault instanceof ForeignTables) throw fault
    }
  }
}
