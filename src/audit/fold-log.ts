import { type Applied, applyFrame, type Ledger } from '../domain/ledger/ledger.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import type { AllowedWriters } from '../log/read-frame.ts'
import { frameFromRaw } from '../log/source-log.ts'

export interface FoldSource {
  readonly frames: Pick<FrameSource, 'read'>
  readonly to: number
  /** Which writer may publish which types; if absent, every writer may publish every type. */
  readonly permittedTypes?: AllowedWriters
  readonly onFrame?: (sequence: number) => void
}

/** Yields what each event did; the ledger changes in place. Throws for an unreadable frame. */
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
