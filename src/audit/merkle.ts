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

interface PerfectTree {
  readonly height: number
  readonly hash: Hash
}

interface Subtree extends PerfectTree {
  /** It holds the leaf or the subtree whose path is built. */
  readonly isOnPath: boolean
}

const offPath = ({ height, hash }: PerfectTree): Subtree => ({ height, hash, isOnPath: false })

const join = (left: Subtree, right: Subtree, path: Hash[]): Subtree => {
  if (left.isOnPath) path.push(right.hash)
  else if (right.isOnPath) path.push(left.hash)
  return {
    height: left.height + 1,
    hash: hashNode(left.hash, right.hash),
    isOnPath: left.isOnPath || right.isOnPath,
  }
}

const peakSubtrees = (size: number, peaks: readonly Hash[]): Subtree[] => {
  const heights = heightsOf(size)
  return peaks.map((hash, place) => offPath({ height: heights[place]!, hash }))
}

/** The siblings from the subtree on the path up to the root of the tree that `peaks` and then `more` make up. */
const pathUpwards = (peaks: readonly Subtree[], more: Iterable<Subtree>): readonly Hash[] => {
  const stack = [...peaks]
  const path: Hash[] = []
  for (const next of more) {
    let tree = next
    while (stack.at(-1)?.height === tree.height) tree = join(stack.pop()!, tree, path)
    stack.push(tree)
  }
  let tree = stack.pop()!
  while (stack.length > 0) tree = join(stack.pop()!, tree, path)
  return path
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
  const subtrees = leaves.map((hash, place) => ({ height: 0, hash, isOnPath: from + place === index }))
  return pathUpwards(peakSubtrees(from, peaks), subtrees)
}

/** What was appended to a tree since a size, in memory that grows with the logarithm: it proves that the tree only grew. */
export class TreeGrowth {
  readonly #from: GrowingTree
  readonly #tree: GrowingTree
  /** The largest perfect trees that the appended leaves make up. */
  readonly #appended: PerfectTree[] = []

  constructor(from: GrowingTree) {
    this.#from = from.copy()
    this.#tree = from.copy()
  }

  get from(): number {
    return this.#from.size
  }

  get tree(): GrowingTree {
    return this.#tree
  }

  append(leaf: Hash): void {
    let node: PerfectTree = { height: 0, hash: leaf }
    for (let place = this.#tree.size; place % 2 === 1; place = Math.floor(place / 2)) {
      const left = this.#appended.at(-1)
      if (left?.height !== node.height) break // Its other half is before the first leaf that was appended.
      this.#appended.pop()
      node = { height: node.height + 1, hash: hashNode(left.hash, node.hash) }
    }
    this.#appended.push(node)
    this.#tree.append(leaf)
  }

  /** The consistency proof (RFC 6962, 2.1.2) from the tree at the beginning; empty where that has no leaves. */
  get proof(): readonly Hash[] {
    const { size, peaks } = this.#from
    const last = peaks.at(-1)
    if (last === undefined || this.#appended.length === 0) return []
    const subtrees = peakSubtrees(size, peaks)
    subtrees.push({ ...subtrees.pop()!, isOnPath: true })
    const path = pathUpwards(subtrees, this.#appended.map(offPath))
    return peaks.length === 1 ? path : [last, ...path]
  }
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

const isPowerOfTwo = (size: number): boolean => countPeaks(size) === 1

/** RFC 9162, 2.1.4.2: whether the proof leads from the tree of one size, of at least one leaf, to a tree that extends it. */
export const isConsistent = (
  from: { readonly size: number; readonly root: Hash },
  to: { readonly size: number; readonly root: Hash },
  proof: readonly Hash[],
): boolean => {
  if (from.size === to.size) return proof.length === 0 && from.root.equals(to.root)
  const [first, ...path] = isPowerOfTwo(from.size) ? [from.root, ...proof] : proof
  if (first === undefined || from.size > to.size) return false
  let [place, last] = [from.size - 1, to.size - 1]
  const ascend = (): void => {
    place = Math.floor(place / 2)
    last = Math.floor(last / 2)
  }
  while (place % 2 === 1) ascend()
  let [before, after] = [first, first]
  for (const sibling of path) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      before = hashNode(sibling, before)
      after = hashNode(sibling, after)
      while (place % 2 === 0 && place !== 0) ascend()
    } else after = hashNode(after, sibling)
    ascend()
  }
  return last === 0 && before.equals(from.root) && after.equals(to.root)
}
