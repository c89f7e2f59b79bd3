import type { CheckpointSealed } from '../events/types.ts'
import type { RawFrame } from '../log/raw-frames.ts'
import { GrowingTree, type Hash, hashFrame } from './merkle.ts'
import {
  type Checkpoint,
  openCheckpoint,
  parseBody,
  type Signer,
  signCheckpoint,
  splitNote,
  type Verifier,
} from './note.ts'

const hashBytes = 32

export class SealFault extends Error {
  override readonly name = 'SealFault'
}

export interface Seal {
  readonly size: number
  readonly root: Hash
  /** The size of the tree before its leaves. */
  readonly from: number
  readonly peaks: readonly Hash[]
  /** Of the frames after `from`, up to `size`. */
  readonly leaves: readonly Hash[]
  readonly note: string
  readonly snapshot: SnapshotHead | null
}

/** The snapshot of the ledger that a checkpoint confirms. */
export type SnapshotHead = NonNullable<CheckpointSealed['snapshot']>

const snapshotLine = /^snapshot ([1-9][0-9]{0,15}) (0|[1-9][0-9]{0,15}) ([0-9a-f]{64})$/

export const readSnapshotLine = ({ extensions = [] }: Checkpoint): SnapshotHead | null => {
  for (const line of extensions) {
    const [, format, sequence, sha256] = snapshotLine.exec(line) ?? []
    if (sha256 !== undefined) return { sha256, format: Number(format), sequence: Number(sequence) }
  }
  return null
}

const snapshotLines = (snapshot: SnapshotHead | null): readonly string[] =>
  snapshot === null ? [] : [`snapshot ${snapshot.format} ${snapshot.sequence} ${snapshot.sha256}`]

const hashesIn = (bytes: Buffer): readonly Hash[] =>
  Array.from({ length: bytes.length / hashBytes }, (_, place) =>
    bytes.subarray(place * hashBytes, (place + 1) * hashBytes),
  )

/** Throws SealFault for contradictory figures. `checkSeal` verifies the signature. */
export const readSeal = ({ size, root, from, peaks, leaves, note, snapshot }: CheckpointSealed): Seal => {
  const bytes = Buffer.from(leaves, 'base64')
  if (bytes.length !== (size - from) * hashBytes)
    throw new SealFault(`a checkpoint of frames ${from + 1} to ${size} holds ${bytes.length / hashBytes} hashes`)
  return {
    size,
    root: Buffer.from(root, 'base64'),
    from,
    peaks: peaks.map((peak) => Buffer.from(peak, 'base64')),
    leaves: hashesIn(bytes),
    note,
    snapshot: snapshot ?? null,
  }
}

export const buildTree = ({ from, peaks, leaves }: Pick<Seal, 'from' | 'peaks' | 'leaves'>): GrowingTree => {
  const tree = new GrowingTree(from, peaks)
  for (const leaf of leaves) tree.append(leaf)
  return tree
}

const checkSnapshotLine = ({ size, snapshot }: Seal, { extensions = [] }: Checkpoint): void => {
  const signed = extensions.filter((line) => line.startsWith('snapshot '))
  if (signed.join('\n') !== snapshotLines(snapshot).join('\n'))
    throw new SealFault(`the checkpoint of size ${size} was signed for another snapshot`)
  if (snapshot !== null && snapshot.sequence > size)
    throw new SealFault(`the snapshot in the checkpoint of size ${size} contains frames up to ${snapshot.sequence}`)
}

const checkFigures = (seal: Seal, signed: Checkpoint): GrowingTree => {
  if (signed.size !== seal.size || !signed.root.equals(seal.root))
    throw new SealFault(`the checkpoint of size ${seal.size} was signed for another size or root`)
  checkSnapshotLine(seal, signed)
  const tree = buildTree(seal)
  if (!tree.root.equals(seal.root))
    throw new SealFault(`the hashes in the checkpoint of size ${seal.size} do not lead to its root`)
  return tree
}

/** Throws SealFault, NoteFault or RangeError unless signature, figures and hashes agree. */
export const checkSeal = (seal: Seal, verifier: Verifier): GrowingTree =>
  checkFigures(seal, openCheckpoint(seal.note, verifier))

/** As `checkSeal`, of a checkpoint whose key is not known: its signature is not checked. */
export const checkUnknownSeal = (seal: Seal): GrowingTree => checkFigures(seal, parseBody(splitNote(seal.note).body))

export interface UnsignedSeal extends Pick<Seal, 'from' | 'peaks' | 'leaves'> {
  readonly tree: GrowingTree
}

export const signSeal = (
  { from, peaks, leaves, tree }: UnsignedSeal,
  signer: Signer,
  snapshot: SnapshotHead | null = null,
): CheckpointSealed => {
  const { size, root } = tree
  return {
    size,
    root: root.toString('base64'),
    peaks: peaks.map((peak) => peak.toString('base64')),
    from,
    leaves: Buffer.concat(leaves).toString('base64'),
    note: signCheckpoint({ origin: signer.name, size, root, extensions: snapshotLines(snapshot) }, signer),
    ...(snapshot === null ? {} : { snapshot }),
  }
}

export class SealBuilder {
  #sealed: GrowingTree
  #tree: GrowingTree
  #leaves: Hash[] = []

  constructor(sealed: GrowingTree = new GrowingTree()) {
    this.#sealed = sealed
    this.#tree = new GrowingTree(sealed.size, sealed.peaks)
  }

  get size(): number {
    return this.#tree.size
  }

  get sealedSize(): number {
    return this.#sealed.size
  }

  get unsealed(): number {
    return this.#leaves.length
  }

  take(frame: RawFrame): void {
    if (frame.sequence !== this.size + 1)
      throw new SealFault(`frame ${frame.sequence} came where ${this.size + 1} was due`)
    const leaf = hashFrame(frame)
    this.#tree.append(leaf)
    this.#leaves.push(leaf)
  }

  /** What the next checkpoint seals: at most so many of the frames taken. */
  next(leavesMax: number = this.unsealed): UnsignedSeal {
    const leaves = this.#leaves.slice(0, leavesMax)
    return { from: this.#sealed.size, peaks: [...this.#sealed.peaks], leaves, tree: this.#treeWith(leaves) }
  }

  /** Null for a size that is not between what is sealed and what was taken. */
  treeAt(size: number): GrowingTree | null {
    const count = size - this.#sealed.size
    return count < 0 || count > this.unsealed ? null : this.#treeWith(this.#leaves.slice(0, count))
  }

  /** Throws SealFault if the checkpoint, which is in the log, seals other frames than those taken. */
  advanceTo(seal: Pick<Seal, 'size' | 'root'>): void {
    if (seal.size <= this.#sealed.size) return
    const count = seal.size - this.#sealed.size
    if (count > this.#leaves.length)
      throw new SealFault(`a checkpoint of size ${seal.size} precedes frame ${seal.size}`)
    const sealed = this.#treeWith(this.#leaves.slice(0, count))
    if (!sealed.root.equals(seal.root))
      throw new SealFault(`the checkpoint of size ${seal.size} seals other frames than the log has`)
    this.#sealed = sealed
    this.#leaves = this.#leaves.slice(count)
  }

  #treeWith(leaves: readonly Hash[]): GrowingTree {
    if (leaves.length === this.unsealed) return this.#tree.copy()
    return buildTree({ from: this.#sealed.size, peaks: this.#sealed.peaks, leaves })
  }
}
