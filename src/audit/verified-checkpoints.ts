import { faultText } from '../errors/gateway-error.ts'
import type { CheckpointSealed } from '../events/types.ts'
import type { RawFrame } from '../log/raw-frames.ts'
import { decodeStoredEvents, readEvent } from '../log/read-frame.ts'
import type { Flaw } from './alignment.ts'
import type { GrowingTree } from './merkle.ts'
import type { Verifier } from './note.ts'
import { type Rollback, readRollbacks } from './rollback.ts'
import { checkSeal, readSeal, type Seal, SealFault } from './seal.ts'

/** Searched without quotes, ten times as fast; the quotes are checked at each match. */
const checkpointMarker = Buffer.from('CheckpointSealed')

export const mayHoldCheckpoint = ({ data }: Pick<RawFrame, 'data'>): boolean =>
  Buffer.from(data.buffer, data.byteOffset, data.length).indexOf(checkpointMarker) >= 0

/** The checkpoints in a frame; their signatures are not verified. Throws if the frame cannot be read. */
export const readCheckpoints = (frame: Pick<RawFrame, 'data'>): readonly CheckpointSealed[] =>
  mayHoldCheckpoint(frame)
    ? decodeStoredEvents(frame.data)
        .filter(({ type }) => type === 'CheckpointSealed')
        .map((stored) => readEvent(stored).data as CheckpointSealed)
    : []

export interface VerifiedSeal extends Seal {
  readonly tree: GrowingTree
}

/** If no verifier accepts the checkpoint: throws as `checkSeal` does, the error of the last one. */
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

interface InspectedFrame {
  readonly seals: readonly VerifiedSeal[]
  readonly rollbacks: readonly Rollback[]
  readonly flaw: Flaw | null
}

const verifyCheckpoints = (
  checkpoints: readonly CheckpointSealed[],
  verifiers: readonly Verifier[],
): Omit<InspectedFrame, 'rollbacks'> => {
  const seals: VerifiedSeal[] = []
  let flaw: Flaw | null = null
  for (const checkpoint of checkpoints)
    try {
      seals.push(verifyCheckpoint(checkpoint, verifiers))
    } catch (fault) {
      flaw = { kind: 'checkpoint-forged', text: `holds a checkpoint that is not trusted: ${faultText(fault)}` }
    }
  return { seals, flaw }
}

/** `checkEvents` throws for a frame with invalid events. */
export const inspectFrame = (
  frame: RawFrame,
  verifiers: readonly Verifier[],
  checkEvents?: (frame: RawFrame) => void,
): InspectedFrame => {
  try {
    checkEvents?.(frame)
    return { ...verifyCheckpoints(readCheckpoints(frame), verifiers), rollbacks: readRollbacks(frame) }
  } catch (fault) {
    return { seals: [], rollbacks: [], flaw: { kind: 'frame-unreadable', text: `cannot be read: ${faultText(fault)}` } }
  }
}
