import type { FrameSource } from '../log/raw-frames.ts'
import type { Alignment, FoundLeaf, SealedLeaf } from './alignment.ts'
import { FoldedFrames } from './folded-frames.ts'
import { auditLimits } from './limits.ts'
import { computeRootFromPeaks, GrowingTree, type Hash } from './merkle.ts'
import type { PublishedCheckpoints, TreeHead } from './published-checkpoints.ts'
import { buildTree } from './seal.ts'
import type { VerifiedSeal } from './verified-checkpoints.ts'
import type { VerifyFindings } from './verify-findings.ts'

/** How far the checkpoints and the found frames go, in frames of the tree. */
interface VerifyPosition {
  readonly sealedTo: number
  /** Found frames that are kept only as a tree end there; null if there are none beyond what is sealed. */
  readonly foldedTo: number | null
  /** Found frames after both, which are kept one by one. */
  readonly found: number
  /** Sealed leaves to which no found frame was matched yet. */
  readonly unmatched: number
}

/**
 * `compare`: it ends within what is sealed. `skip_folded`, `append_found`: the folded, or the found frames lead to where
 * it begins; the latter only if their root is the one that it begins with. `defer`: no known tree reaches its beginning.
 */
export type SealStep = 'compare' | 'extend' | 'skip_folded' | 'append_found' | 'defer'

export const nextSealStep = (
  { sealedTo, foldedTo, found, unmatched }: VerifyPosition,
  { from, size }: Pick<VerifiedSeal, 'from' | 'size'>,
): SealStep => {
  if (size <= sealedTo) return 'compare'
  if (from <= sealedTo) return 'extend'
  if (foldedTo !== null && from <= foldedTo) return 'skip_folded'
  return unmatched > 0 || found < from - (foldedTo ?? sealedTo) ? 'defer' : 'append_found'
}

type SealLeaves = Pick<VerifiedSeal, 'from' | 'peaks' | 'leaves'>

const rootAt = ({ from, peaks, leaves }: SealLeaves, size: number): Hash =>
  size === from ? computeRootFromPeaks(peaks) : buildTree({ from, peaks, leaves: leaves.slice(0, size - from) }).root

const findRoot = (seals: readonly VerifiedSeal[], at: number): Hash | null => {
  const seal = seals.find(({ from, size }) => from <= at && at <= size)
  return seal === undefined ? null : rootAt(seal, at)
}

interface HistoryEnd {
  readonly size: number
  /** The last that a checkpoint seals, one of the log or a published one. */
  readonly sealed: TreeHead
}

/** The log as its checkpoints seal it: a tree that each of them extends. */
export class SealedHistory {
  readonly #findings: VerifyFindings
  readonly #published: PublishedCheckpoints
  readonly #folded: FoldedFrames
  #tree = new GrowingTree()
  /** The last checkpoints, for later ones of concurrent sealers. */
  #recent: readonly VerifiedSeal[] = []
  #uncompared = 0

  constructor(findings: VerifyFindings, published: PublishedCheckpoints) {
    this.#findings = findings
    this.#published = published
    this.#folded = new FoldedFrames(findings, published)
  }

  get size(): number {
    return this.#tree.size
  }

  get folded(): GrowingTree | null {
    return this.#folded.tree
  }

  nextStep(seal: VerifiedSeal, { foundCount, sealedCount }: Pick<Alignment, 'foundCount' | 'sealedCount'>): SealStep {
    const position = {
      sealedTo: this.size,
      foldedTo: this.#folded.tree?.size ?? null,
      found: foundCount,
      unmatched: sealedCount,
    }
    return nextSealStep(position, seal)
  }

  get uncompared(): number {
    return this.#uncompared
  }

  /** Whether it has the root that is known of its size, or begins with the tree that is known. */
  continues(seal: VerifiedSeal): boolean {
    if (seal.from > this.size) return false
    if (seal.size > this.size) return rootAt(seal, this.#tree.size).equals(this.#tree.root)
    return findRoot(this.#recent, seal.size)?.equals(seal.root) ?? false
  }

  compareOld(seal: VerifiedSeal, at: number): void {
    const root = findRoot(this.#recent, seal.size)
    if (root === null) this.#uncompared += 1
    else if (!root.equals(seal.root)) this.#findings.addContradiction(seal.size, at)
  }

  /** Returns the leaves that are to be found, without those of folded frames. */
  extend(seal: VerifiedSeal, at: number): readonly SealedLeaf[] {
    const { from, leaves, tree } = seal
    if (!rootAt(seal, this.#tree.size).equals(this.#tree.root)) this.#findings.addContradiction(seal.size, at)
    const fresh = leaves.slice(this.#tree.size - from)
    const first = this.#tree.size + 1
    const foldedTo = this.#folded.tree?.size ?? 0
    this.advance(fresh, tree)
    this.#recent = [seal, ...this.#recent].slice(0, auditLimits.verifyRecentSealsMax)
    return fresh
      .map((hash, place) => ({ sequence: first + place, hash, checkpointSequence: at }))
      .filter(({ sequence }) => sequence > foldedTo)
  }

  /** The tree that the found frames lead to; null if it is not the one that the checkpoint begins with. */
  reachBy(hashes: readonly Hash[], { peaks }: VerifiedSeal): GrowingTree | null {
    const tree = (this.#folded.tree ?? this.#tree).copy()
    for (const hash of hashes) tree.append(hash)
    return tree.root.equals(computeRootFromPeaks(peaks)) ? tree : null
  }

  /**
   * Goes through the leaves one by one only if a root on the way is needed. Published checkpoints are compared with the
   * frames that were folded, since these are not yet compared with the leaves.
   */
  advance(leaves: readonly Hash[], tree: GrowingTree): void {
    const stops = [this.#published.nextSize, this.#folded.tree?.size]
    const growing = this.#tree.copy()
    if (stops.some((size) => size !== undefined && size <= tree.size))
      for (const leaf of leaves) {
        growing.append(leaf)
        const { size } = growing
        if (size === this.#folded.tree?.size) this.#folded.compare(growing)
        if (this.#published.has(size))
          this.#published.compareAt({ size, root: this.#folded.publishedRoots.get(size) ?? growing.root })
      }
    this.#tree = tree.copy()
  }

  /** The folded frames on the way are compared as a whole once the checkpoints have come to their end. */
  skipTo(tree: GrowingTree): void {
    this.#published.skipTo(tree.size, this.#folded.publishedRoots)
    this.#folded.addCheckpoint(this.#tree)
    this.#tree = tree.copy()
    if (tree.size === this.#folded.tree?.size) this.#folded.compare(tree)
  }

  resumeAt({ from, peaks }: VerifiedSeal): void {
    this.#folded.close(this.#tree)
    this.#tree = new GrowingTree(from, peaks)
    this.#published.compareAt(this.#tree)
  }

  fold(leaves: readonly FoundLeaf[]): void {
    this.#folded.append(this.#tree, leaves)
  }

  async finish(tail: readonly FoundLeaf[], source: FrameSource): Promise<HistoryEnd> {
    const size = (this.#folded.tree ?? this.#tree).size + tail.length
    const roots = this.#folded.computePublishedRoots(this.#tree, tail)
    const sealed = this.#published.finishAt(size, this.#tree.size, roots) ?? this.#tree
    this.#folded.close(this.#tree)
    await this.#folded.reread(source)
    return { size, sealed }
  }
}
