import { setTimeout as delay } from 'node:timers/promises'
import { sharedLimits } from './limits.ts'

interface SequenceWait {
  readonly read: () => Promise<number>
  readonly pausesMs: number
  /** The pauses count anew whenever the sequence has moved. */
  readonly whileMoving?: boolean
}

/** Resolves with the last sequence that was read: at least `sequence`, or less after pauses of `pausesMs` in all. */
export const waitUntilSequence = async (
  sequence: number,
  { read, pausesMs, whileMoving = false }: SequenceWait,
): Promise<number> => {
  let at = await read()
  for (let pausedMs = 0; at < sequence && pausedMs < pausesMs; ) {
    await delay(sharedLimits.tablesPollMs)
    const before = at
    at = await read()
    pausedMs = whileMoving && at > before ? 0 : pausedMs + sharedLimits.tablesPollMs
  }
  return at
}
