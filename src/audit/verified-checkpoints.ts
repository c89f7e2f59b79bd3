import type { CheckpointSealed } from '../events/types.ts'
import { decodeStoredEvents, readEvent } from '../log/read-frame.ts'
import type { RawFrame } from './frames.ts'
import type { GrowingTree } from './merkle.ts'
import type { Verifier } from './note.ts'
import { checkSeal, readSeal, type Seal, SealFault } from './seal.ts'

/** Found ten times as fast as with the quotes around it; they are looked for where it is found. */
const checkpointMarker = Buffer.from('CheckpointSealed')

/** Whether a frame may hold a checkpoint. All others need not be looked into. */
export const mayHoldCheckpoint = ({ data }: Pick<RawFrame, 'data'>): boolean =>
  Buffer.from(data.buffer, data.byteOffset, data.length).indexOf(checkpointMarker) >= 0

/** The checkpoints in a frame; nobody has looked at their signatures. Throws where the frame cannot be read. */
export const readCheckpoints = (frame: Pick<RawFrame, 'data'>): readonly CheckpointSealed[] =>
  mayHoldCheckpoint(frame)
    ? decodeStoredEvents(frame.data)
        .filter(({ type }) => type === 'CheckpointSealed')
        .map((stored) => readEvent(stored).data as CheckpointSealed)
    : []

/** Throws where the frame cannot be read. */
export const holdsOnlyCheckpoints = (frame: Pick<RawFrame, 'data'>): boolean =>
  mayHoldCheckpoint(frame) && decodeStoredEvents(frame.data).every(({ type }) => type === 'CheckpointSealed')

/** A checkpoint that one of those asked has signed, and its tree. */
export interface VerifiedSeal extends Seal {
  readonly tree: GrowingTree
}

/** Throws as `checkSeal` does where no verifier believes the checkpoint; what the last of them says. */
export const verifyCheckpoint = (checkpoint: CheckpointSealed, verifiers: readonly Verifier[]): VerifiedSeal => {
  const seal = readSeal(checkpoint)
  let fault: unknown = new SealFault('there is no key to check checkpoints with')
  for (const verifier of verifiers)
    try {
      return { ...seal, tree: checkSeal(seal, verifier) }
    } catch (cause) {
      fault = cause
    }
  throw fault
}
