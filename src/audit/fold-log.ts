import { type Applied, applyFrame, type Ledger } from '../domain/ledger/ledger.ts'
import type { AllowedWriters } from '../log/read-frame.ts'
import { frameFromRaw } from '../log/source-log.ts'
import type { FrameSource } from './frames.ts'

/** A log that is read again from its first frame. */
export interface FoldSource {
  readonly frames: Pick<FrameSource, 'read'>
  /** Goes no further than this frame. */
  readonly to: number
  /** Whom to believe what; without it, everybody everything. */
  readonly permittedTypes?: AllowedWriters
  /** Told after every frame. */
  readonly onFrame?: (sequence: number) => void
}

/** Folds a log from where the ledger stands, and tells what each event did. The ledger changes in place. Throws for a frame that cannot be read. */
export async function* foldLog(
  { frames, to, permittedTypes, onFrame }: FoldSource,
  ledger: Ledger,
): AsyncGenerator<readonly Applied[]> {
  for await (const some of frames.read(ledger.sequence + 1, to))
    for (const frame of some) {
      yield applyFrame(ledger, frameFromRaw(frame, permittedTypes))
      onFrame?.(frame.sequence)
    }
}
