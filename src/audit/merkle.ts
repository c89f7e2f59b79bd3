import { createHash, hash } from 'node:crypto'
import type { RawFrame } from '../log/raw-frames.ts'

/**
 * The Merkle tree of RFC 6962 (section 2.1) over SHA-256. A range that starts at the first leaf is identified by its
 * peaks: the roots of the perfect trees that make it up, the largest first; one for every set bit of its size.
 */
export type Hash = Buffer

const hashBytes = 32
const leafPrefix = Buffer.of(0)
/** Hashing one buffer costs a third of hashing several pieces, as long as copying is cheap. */
const leafBuffer = Buffer.alloc(8 * 1024)
const nodeBuffer = Buffer.concat([Buffer.of(1), Buffer.alloc(2 * hashBytes)])

/** By way of text, so it comes from the pool of small buffers and spares the garbage collector. */
const pooled = (digest: string): Hash => Buffer.from(digest, 'latin1')

const hashLongLeaf = (pieces: readonly Uint8Array[]): Hash => {
  const whole = createHash('sha256').update(leafPrefix)
  for (const piece of pieces) whole.update(piece)
  return pooled(whole.digest('binary'))
}

export const hashLeaf = (...pieces: readonly Uint8Array[]): Hash => {
  const length = pieces.reduce((sum, piece) => sum + piece.length, leafPrefix.length)
  if (length > leafBuffer.length) return hashLongLeaf(pieces)
  let place = leafPrefix.length
  for (const piece of pieces) {
    leafBuffer.set(piece, place)
    place += piece.length
  }
  return pooled(hash('sha256', leafBuffer.subarray(0, length), 'binary'))
}

const lineFeed = Buffer.from('\n')

/** The leaf of a frame in the log's tree; its index there is its sequence less one. */
export const hashFrame = ({ subject, data }: Pick<RawFrame, 'subject' | 'data'>): Hash =>
  hashLeaf(Buffer.from(subject), lineFeed, data)

export const hashNode = (left: Hash, right: Hash): Hash => {
  nodeBuffer.set(left, 1)
  nodeBuffer.set(right, 1 + hashBytes)
  return pooled(hash('sha256', nodeBuffer, 'binary'))
}

export const emptyRoot: Hash = createHash('sha256').digest()

export const computeRootFromPeaks = (peaks: readonly Hash[]): Hash =>
  peaks.length === 0 ? emptyRoot : peaks.slice(0, -1).reduceRight((right, left) => hashNode(left, right), peaks.at(-1)!)

export const countPeaks = (size: number): number => {
  let peaks = 0
  for (let left = size; left > 0; left = Math.floor(left / 2)) peaks += left % 2
  return peaks
}

/** A tree that grows leaf by leaf and keeps only its peaks: constant memory at any size. */
export class GrowingTree {
  readonly #peaks: Hash[]
  #size: number

  /** Throws if the peaks cannot be those of a tree of the size. */
  constructor(size = 0, peaks: readonly Hash[] = []) {
    if (peaks.length !== countPeaks(size))
      throw new RangeError(`a tree of ${size} leaves has not ${peaks.length} peaks`)
    this.#size = size
    this.#peaks = [...peaks]
  }

  get size(): number {
    return this.#size
  }

  get peaks(): readonly Hash[] {
    return this.#peaks
  }

  get root(): Hash {
    return computeRootFromPeaks(this.#peaks)
  }

  copy(): GrowingTree {
    return new GrowingTree(this.#size, this.#peaks)
  }

  append(leaf: Hash): void {
    let node = leaf
    // A carry, as in binary addition: each set bit below is a peak of the same height.
    for (let bits = this.#size; bits % 2 === 1; bits = Math.floor(bits / 2)) node = hashNode(this.#peaks.pop()!, node)
    this.#peaks.push(node)
    this.#size += 1
  }
}

const heightsOf = (size: number): number[] => {
  const heights: number[] = []
  for (let height = 0, left = size; left > 0; height += 1, left = Math.floor(left / 2))
    if (left % 2 === 1) heights.unshift(height)
  return heights
}

interface Subtree {
  readonly height: number
  readonly hash: Hash
  readonly holdsLeaf: boolean
}

const join = (left: Subtree, right: Subtree, path: Hash[]): Subtree => {
  if (left.holdsLeaf) path.push(right.hash)
  else if (right.holdsLeaf) path.push(left.hash)
  return {
    height: left.height + 1,
    hash: hashNode(left.hash, right.hash),
    holdsLeaf: left.holdsLeaf || right.holdsLeaf,
  }
}

/**
 * The audit path (RFC 6962, 2.1.1) of one leaf in the tree that begins with `peaks` over `from` leaves and continues
 * with `leaves`: what is before is not read again. `index` is among `leaves`: at least `from`, below `from +
 * leaves.length`.
 */
export const inclusionPath = (
  from: number,
  peaks: readonly Hash[],
  leaves: readonly Hash[],
  index: number,
): readonly Hash[] => {
  if (index < from || index >= from + leaves.length) throw new RangeError(`leaf ${index} is not among those given`)
  const heights = heightsOf(from)
  const stack: Subtree[] = peaks.map((hash, place) => ({ height: heights[place]!, hash, holdsLeaf: false }))
  const path: Hash[] = []
  for (const [place, hash] of leaves.entries()) {
    let tree: Subtree = { height: 0, hash, holdsLeaf: from + place === index }
    while (stack.at(-1)?.height === tree.height) tree = join(stack.pop()!, tree, path)
    stack.push(tree)
  }
  let tree = stack.pop()!
  while (stack.length > 0) tree = join(stack.pop()!, tree, path)
  return path
}

/** RFC 9162, 2.1.3.2; null if the path is not of the length that index and size need. */
export const computeRootFromPath = (leaf: Hash, index: number, size: number, path: readonly Hash[]): Hash | null => {
  if (index < 0 || index >= size) return null
  let node = leaf
  let place = index
  let last = size - 1
  for (const sibling of path) {
    if (last === 0) return null
    if (place % 2 === 1 || place === last) {
      node = hashNode(sibling, node)
      while (place % 2 === 0 && place !== 0) {
        place = Math.floor(place / 2)
        last = Math.floor(last / 2)
      }
    } else node = hashNode(node, sibling)
    place = Math.floor(place / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 ? node : null
}
