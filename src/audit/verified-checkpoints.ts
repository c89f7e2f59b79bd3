import type { LastSeal } from '../domain/ledger/ledger.ts'
import { faultText } from '../errors/gateway-error.ts'
import type { EventOf } from '../events/envelope.ts'
import type { CheckpointCosigned, CheckpointSealed } from '../events/types.ts'
import type { StoredEvent } from '../events/upcast.ts'
import { type FrameSource, type RawFrame, readFrameAt } from '../log/raw-frames.ts'
import { decodeStoredEvents, readEvent } from '../log/read-frame.ts'
import type { Flaw } from './alignment.ts'
import { readCosignatures, type WitnessKey } from './cosignature.ts'
import { GrowingTree } from './merkle.ts'
import { splitNote, type Verifier } from './note.ts'
import { openCheckpointNote, type TreeHead } from './published-checkpoints.ts'
import { type Rollback, readRollbacks } from './rollback.ts'
import { checkSeal, readSeal, type Seal, SealFault } from './seal.ts'

/** Of both types of events, without quotes: ten times as fast as a search with them. */
const checkpointMarker = Buffer.from('Checkpoint')

export const mayHoldCheckpoint = ({ data }: Pick<RawFrame, 'data'>): boolean =>
  Buffer.from(data.buffer, data.byteOffset, data.length).indexOf(checkpointMarker) >= 0

/** Throws if the frame cannot be read. */
const readStoredCheckpoints = (frame: Pick<RawFrame, 'data'>): readonly StoredEvent[] =>
  mayHoldCheckpoint(frame) ? decodeStoredEvents(frame.data) : []

const dataOf = <T extends CheckpointType>(events: readonly StoredEvent[], type: T): readonly EventOf<T>['data'][] =>
  events.filter((stored) => stored.type === type).map((stored) => readEvent(stored).data as EventOf<T>['data'])

/** The checkpoints in a frame; their signatures are not verified. Throws if the frame cannot be read. */
export const readCheckpoints = (frame: Pick<RawFrame, 'data'>): readonly CheckpointSealed[] =>
  dataOf(readStoredCheckpoints(frame), 'CheckpointSealed')

type CheckpointType = 'CheckpointSealed' | 'CheckpointCosigned'
const checkpointTypes: ReadonlySet<string> = new Set<CheckpointType>(['CheckpointSealed', 'CheckpointCosigned'])

/** Such a frame needs no checkpoint to seal it: its signatures prove it. Throws if the frame cannot be read. */
export const holdsOnlyCheckpoints = (frame: Pick<RawFrame, 'data'>): boolean => {
  const events = readStoredCheckpoints(frame)
  return events.length > 0 && events.every(({ type }) => checkpointTypes.has(type))
}

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

/** Throws the cause's text as a SealFault that names the frame. */
export const atFrame = <T>({ sequence }: RawFrame, read: () => T): T => {
  try {
    return read()
  } catch (cause) {
    throw new SealFault(`the checkpoint in frame ${sequence} cannot be built on: ${faultText(cause)}`, { cause })
  }
}

/** The tree at the last checkpoint of the log; an empty one without any. Throws SealFault unless a known key signed it. */
export const readSealedTree = async (
  log: FrameSource,
  sealed: LastSeal | null,
  verifiers: readonly Verifier[],
): Promise<GrowingTree> => {
  if (sealed === null) return new GrowingTree()
  const frame = await readFrameAt(log, sealed.sequence, await log.lastSequence())
  if (frame === null) throw new SealFault(`frame ${sealed.sequence}, which holds the last checkpoint, is missing`)
  return atFrame(frame, () => {
    const checkpoint = readCheckpoints(frame).find(({ size }) => size === sealed.size)
    if (checkpoint === undefined) throw new SealFault(`it is not of size ${sealed.size}`)
    return verifyCheckpoint(checkpoint, verifiers).tree
  })
}

/** A checkpoint of the log, as its key and a witness have signed it. */
export interface CosignedHead extends TreeHead {
  /** Of the known witnesses. */
  readonly witnesses: readonly string[]
}

export interface InspectedFrame {
  readonly seals: readonly VerifiedSeal[]
  readonly cosigned: readonly CosignedHead[]
  readonly rollbacks: readonly Rollback[]
  readonly flaw: Flaw | null
}

const verifyCheckpoints = (
  checkpoints: readonly CheckpointSealed[],
  verifiers: readonly Verifier[],
): Pick<InspectedFrame, 'seals' | 'flaw'> => {
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

const openCosigned = (
  { size, root, note }: CheckpointCosigned,
  verifiers: readonly Verifier[],
  witnesses: readonly WitnessKey[],
): CosignedHead => {
  const signed = openCheckpointNote(note, verifiers)
  if (signed.size !== size || signed.root.toString('base64') !== root)
    throw new SealFault(`the checkpoint of size ${size} was cosigned for another size or root`)
  const cosignatures = readCosignatures(note, splitNote(note).body, witnesses)
  return { size, root: signed.root, witnesses: cosignatures.map(({ witness }) => witness) }
}

const verifyCosigned = (
  cosigned: readonly CheckpointCosigned[],
  { verifiers, witnesses }: InspectionKeys,
): Pick<InspectedFrame, 'cosigned' | 'flaw'> => {
  try {
    return { cosigned: cosigned.map((each) => openCosigned(each, verifiers, witnesses)), flaw: null }
  } catch (fault) {
    const text = `holds a cosigned checkpoint that is not trusted: ${faultText(fault)}`
    return { cosigned: [], flaw: { kind: 'checkpoint-forged', text } }
  }
}

export interface InspectionKeys {
  readonly verifiers: readonly Verifier[]
  readonly witnesses: readonly WitnessKey[]
}

/** `checkEvents` throws for a frame with invalid events. */
export const inspectFrame = (
  frame: RawFrame,
  keys: InspectionKeys,
  checkEvents?: (frame: RawFrame) => void,
): InspectedFrame => {
  try {
    checkEvents?.(frame)
    const events = readStoredCheckpoints(frame)
    const { seals, flaw } = verifyCheckpoints(dataOf(events, 'CheckpointSealed'), keys.verifiers)
    const found = verifyCosigned(dataOf(events, 'CheckpointCosigned'), keys)
    return { seals, cosigned: found.cosigned, rollbacks: readRollbacks(frame), flaw: flaw ?? found.flaw }
  } catch (fault) {
    return {
      seals: [],
      cosigned: [],
      rollbacks: [],
      flaw: { kind: 'frame-unreadable', text: `cannot be read: ${faultText(fault)}` },
    }
  }
}
