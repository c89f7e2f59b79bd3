import { isDeepStrictEqual } from 'node:util'
import { isObject, parseJson } from '../encoding/json.ts'
import { decodeFrame } from '../events/codec.ts'
import type { StoredEvent } from '../events/upcast.ts'
import type { RawFrame } from '../log/raw-frames.ts'
import { computeRootFromPath, type Hash, hashFrame, inclusionPath } from './merkle.ts'
import type { Checkpoint, Verifier } from './note.ts'
import { openCheckpointNote } from './published-checkpoints.ts'
import type { Seal } from './seal.ts'

const format = 'gateway-proof/1'

/** Proves that one event is in the log; verified with the log's public key alone. */
export interface Proof {
  readonly format: typeof format
  readonly event: StoredEvent
  readonly sequence: number
  readonly index_in_frame: number
  /** Whole, since the log's tree is built of frames. */
  readonly frame: { readonly subject: string; readonly data: string }
  /** From the frame's leaf to the root (RFC 6962, 2.1.1), hex. */
  readonly path: readonly string[]
  readonly checkpoint: string
}

export class ProofFault extends Error {
  override readonly name = 'ProofFault'
}

const hashPattern = /^[0-9a-f]{64}$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const eventsOf = (data: string): readonly StoredEvent[] => {
  try {
    return decodeFrame(data).events
  } catch (cause) {
    throw new ProofFault('the frame cannot be read', { cause })
  }
}

const eventAt = (data: string, index: number): StoredEvent => {
  const event = eventsOf(data)[index]
  if (event === undefined) throw new ProofFault(`the frame has no event ${index}`)
  return event
}

/** Throws ProofFault if the checkpoint does not seal the frame. */
export const makeProof = (frame: RawFrame, indexInFrame: number, seal: Seal): Proof => {
  const index = frame.sequence - 1
  const leaf = seal.leaves[index - seal.from]
  if (leaf?.equals(hashFrame(frame)) !== true)
    throw new ProofFault(`the checkpoint of size ${seal.size} seals no such frame at sequence ${frame.sequence}`)
  const data = utf8.decode(frame.data)
  return {
    format,
    event: eventAt(data, indexInFrame),
    sequence: frame.sequence,
    index_in_frame: indexInFrame,
    frame: { subject: frame.subject, data },
    path: inclusionPath(seal.from, seal.peaks, seal.leaves, index).map((hash) => hash.toString('hex')),
    checkpoint: seal.note,
  }
}

const isIndexFrom = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= least

const isPath = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string' && hashPattern.test(each))

const isProof = (value: unknown): value is Proof => {
  if (!isObject(value) || value['format'] !== format) return false
  const { event, sequence, index_in_frame, frame, path, checkpoint } = value
  const isFrame = isObject(frame) && typeof frame['subject'] === 'string' && typeof frame['data'] === 'string'
  return (
    isObject(event) &&
    isIndexFrom(sequence, 1) &&
    isIndexFrom(index_in_frame, 0) &&
    isFrame &&
    isPath(path) &&
    typeof checkpoint === 'string'
  )
}

/** A lone surrogate is hashed as U+FFFD, so a text with one could pass for another that was sealed. */
const isWellFormed = ({ frame, checkpoint }: Proof): boolean =>
  [frame.subject, frame.data, checkpoint].every((text) => text.isWellFormed())

/** Throws ProofFault for a text that is no proof. */
export const readProof = (text: string): Proof => {
  const value = parseJson(text)
  if (!isProof(value)) throw new ProofFault(`not a proof: expected JSON of the format ${format}`)
  if (!isWellFormed(value)) throw new ProofFault('not a proof: its frame or its checkpoint holds half a character')
  return value
}

const rootOf = ({ sequence, frame, path }: Proof, { size }: Checkpoint): Hash | null => {
  const leaf = hashFrame({ subject: frame.subject, data: Buffer.from(frame.data) })
  const hashes = path.map((hash) => Buffer.from(hash, 'hex'))
  return computeRootFromPath(leaf, sequence - 1, size, hashes)
}

/** The verified checkpoint. Throws ProofFault or NoteFault if the proof fails. */
export const checkProof = (proof: Proof, verifiers: readonly Verifier[]): Checkpoint => {
  const checkpoint = openCheckpointNote(proof.checkpoint, verifiers)
  if (rootOf(proof, checkpoint)?.equals(checkpoint.root) !== true)
    throw new ProofFault(`the frame is not at sequence ${proof.sequence} of the log that the checkpoint is of`)
  if (!isDeepStrictEqual(eventAt(proof.frame.data, proof.index_in_frame), proof.event))
    throw new ProofFault(`the event is not event ${proof.index_in_frame} of the frame`)
  return checkpoint
}
