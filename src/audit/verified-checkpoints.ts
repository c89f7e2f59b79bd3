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
import { findUnknownKey, splitNote, type Verifier } from './note.ts'
import { openCheckpointNote, openUnknownNote, type TreeHead } from './published-checkpoints.ts'
import { type Rollback, readRollbacks } from './rollback.ts'
import { checkSeal, checkUnknownSeal, readSeal, type Seal, SealFault } from './seal.ts'

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

/** Of a key that is not known: its hashes lead to its root, and its signature proves nothing. */
export interface UnknownSeal extends VerifiedSeal {
  readonly key: string
}

/** Null where the checkpoint names a known key, or contradicts itself. */
export const readUnknownSeal = (checkpoint: CheckpointSealed, verifiers: readonly Verifier[]): UnknownSeal | null => {
  try {
    const seal = readSeal(checkpoint)
    const key = findUnknownKey(seal.note, verifiers)
    return key === null ? null : { ...seal, tree: checkUnknownSeal(seal), key }
  } catch {
    return null
  }
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

/** What an unknown key has signed, and the flaw that it is where it does not continue what a known key has sealed. */
interface OfUnknownKey<T> {
  readonly signed: T
  readonly flaw: Flaw
}

export interface InspectedFrame {
  readonly seals: readonly VerifiedSeal[]
  readonly unknownSeals: readonly OfUnknownKey<UnknownSeal>[]
  readonly unknownCosigned: readonly OfUnknownKey<TreeHead>[]
  readonly cosigned: readonly CosignedHead[]
  readonly rollbacks: readonly Rollback[]
  readonly flaw: Flaw | null
}

interface OpenedNotes<Known, Unknown> {
  readonly known: readonly Known[]
  readonly unknown: readonly OfUnknownKey<Unknown>[]
  readonly flaw: Flaw | null
}

interface NoteReader<Note, Known, Unknown> {
  readonly name: string
  /** Throws for what is not trusted. */
  open(note: Note): Known
  /** Null where no unknown key has signed it either. */
  openUnknown(note: Note): Unknown | null
}

const openNotes = <Note, Known, Unknown>(
  notes: readonly Note[],
  { name, open, openUnknown }: NoteReader<Note, Known, Unknown>,
): OpenedNotes<Known, Unknown> => {
  const known: Known[] = []
  const unknown: OfUnknownKey<Unknown>[] = []
  let flaw: Flaw | null = null
  for (const note of notes)
    try {
      known.push(open(note))
    } catch (fault) {
      const forged: Flaw = {
        kind: 'checkpoint-forged',
        text: `holds a ${name} that is not trusted: ${faultText(fault)}`,
      }
      const signed = openUnknown(note)
      if (signed === null) flaw = forged
      else unknown.push({ signed, flaw: forged })
    }
  return { known, unknown, flaw }
}

const openCosigned = (
  { size, root, note }: CheckpointCosigned,
  { verifiers, witnesses }: InspectionKeys,
): CosignedHead => {
  const signed = openCheckpointNote(note, verifiers)
  if (signed.size !== size || signed.root.toString('base64') !== root)
    throw new SealFault(`the checkpoint of size ${size} was cosigned for another size or root`)
  const cosignatures = readCosignatures(note, splitNote(note).body, witnesses)
  return { size, root: signed.root, witnesses: cosignatures.map(({ witness }) => witness) }
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
    const sealed = openNotes(dataOf(events, 'CheckpointSealed'), {
      name: 'checkpoint',
      open: (checkpoint) => verifyCheckpoint(checkpoint, keys.verifiers),
      openUnknown: (checkpoint) => readUnknownSeal(checkpoint, keys.verifiers),
    })
    const cosigned = openNotes(dataOf(events, 'CheckpointCosigned'), {
      name: 'cosigned checkpoint',
      open: (each) => openCosigned(each, keys),
      openUnknown: ({ note }) => openUnknownNote(note, keys.verifiers),
    })
    return {
      seals: sealed.known,
      unknownSeals: sealed.unknown,
      cosigned: cosigned.known,
      unknownCosigned: cosigned.unknown,
      rollbacks: readRollbacks(frame),
      flaw: sealed.flaw ?? cosigned.flaw,
    }
  } catch (fault) {
    return {
      seals: [],
      unknownSeals: [],
      cosigned: [],
      unknownCosigned: [],
      rollbacks: [],
      flaw: { kind: 'frame-unreadable', text: `cannot be read: ${faultText(fault)}` },
    }
  }
}
