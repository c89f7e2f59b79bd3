import { sharedLimits } from '../runtime/limits.ts'
import { waitUntilSequence } from '../runtime/wait-until-sequence.ts'

interface WrittenTables {
  checkpoint(): Promise<number>
}

/** Resolves once the tables have a frame. They have it within a moment, or they are failing: then it rejects. */
export const waitForTables = async (tables: WrittenTables, sequence: number): Promise<void> => {
  if (sequence === 0) return
  const read = (): Promise<number> => tables.checkpoint()
  const at = await waitUntilSequence(sequence, { read, pausesMs: sharedLimits.logStalledMs })
  if (at < sequence) throw new Error(`the tables do not have frame ${sequence} yet`)
}
