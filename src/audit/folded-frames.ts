import { type FrameSource, FramesFault } from '../log/raw-frames.ts'
import type { FoundLeaf } from './alignment.ts'
import { auditLimits } from './limits.ts'
import { type GrowingTree, type Hash, hashFrame } from './merkle.ts'
import type { TreeHead } from './published-checkpoints.ts'
import type { VerifyFindings } from './verify-findings.ts'

/** Found frames, too many to keep singly. Checkpoints over a part are recorded, and compared on a second reading. */
class UnsealedRange {
  readonly tree: GrowingTree
  readonly #before: GrowingTree
  /** Where the first of them is found; not where it would be sealed, if frames before it were removed or inserted. */
  readonly #firstSequence: number
  readonly #checkpoints: TreeHead[] = []

  constructor(before: GrowingTree, firstSequence: number) {
    this.#before = before.copy()
    this.tree = before.copy()
    this.#firstSequence = firstSequence
  }

  get from(): number {
    return this.#before.size + 1
  }

  get hasCheckpoints(): boolean {
    return this.#checkpoints.length > 0
  }

  append({ hash }: FoundLeaf): void {
    this.tree.append(hash)
  }

  /** The checkpoints have reached a size; one that ends before these frames does not cover them. Sizes ascend. */
  addCheckpoint({ size, root }: TreeHead): void {
    if (size < this.from) return
    // The frames of a dropped checkpoint are compared with those of the next.
    if (this.#checkpoints.length === auditLimits.verifyPendingCheckpointsMax) this.#checkpoints.pop()
    this.#checkpoints.push({ size, root })
  }

  async findMismatches(source: FrameSource): Promise<Iterable<readonly [from: number, to: number]>> {
    const roots = await this.#recomputeRoots(source)
    const mismatchedRanges = new Map<number, number>()
    let from = this.from
    for (const { size, root } of this.#checkpoints)
      if (roots.get(size)?.equals(root) === true) from = size + 1
      else mismatchedRanges.set(from, size)
    return mismatchedRanges
  }

  async #recomputeRoots(source: FrameSource): Promise<ReadonlyMap<number, Hash>> {
    const tree = this.#before.copy()
    const sizes = new Set(this.#checkpoints.map(({ size }) => size))
    const last = this.#firstSequence + this.#checkpoints.at(-1)!.size - this.from
    const roots = new Map<number, Hash>()
    try {
      for await (const frames of source.read(this.#firstSequence, last))
        for (const frame of frames) {
          tree.append(hashFrame(frame))
          if (sizes.has(tree.size)) roots.set(tree.size, tree.root)
        }
    } catch (fault) {
      if (!(fault instanceof FramesFault)) throw fault
    }
    return roots
  }
}

/** The found frames that go further than what is sealed and are too many to keep one by one. */
export class FoldedFrames {
  readonly #findings: VerifyFindings
  readonly #publishedSizes: Pick<ReadonlySet<number>, 'has'>
  readonly #toReread: UnsealedRange[] = []
  readonly #publishedRoots = new Map<number, Hash>()
  #range: UnsealedRange | null = null

  constructor(findings: VerifyFindings, publishedSizes: Pick<ReadonlySet<number>, 'has'>) {
    this.#findings = findings
    this.#publishedSizes = publishedSizes
  }

  get tree(): GrowingTree | null {
    return this.#range?.tree ?? null
  }

  /** At sizes of published checkpoints. */
  get publishedRoots(): ReadonlyMap<number, Hash> {
    return this.#publishedRoots
  }

  append(sealed: GrowingTree, leaves: readonly FoundLeaf[]): void {
    const [first] = leaves
    if (first === undefined) return
    this.#range ??= new UnsealedRange(sealed, first.sequence)
    for (const leaf of leaves) {
      this.#range.append(leaf)
      this.#findings.addFlaw(leaf)
      this.#keepRoot(this.#range.tree, this.#publishedRoots)
    }
  }

  addCheckpoint(sealed: GrowingTree): void {
    this.#range?.addCheckpoint(sealed)
  }

  /** What is sealed has reached the end of the folded frames. */
  compare(sealed: GrowingTree): void {
    const range = this.#range
    this.#range = null
    if (range?.tree.root.equals(sealed.root) === false) this.#findings.addRange(range.from, sealed.size)
    else this.#rereadLater(range)
  }

  /** Nothing counts as sealed before it is compared: a checkpoint may end where no folded root was taken. */
  close(sealed: GrowingTree): void {
    const range = this.#range
    this.#range = null
    range?.addCheckpoint(sealed)
    this.#rereadLater(range)
  }

  /** The roots at sizes of published checkpoints, also behind the last folded frame. */
  computePublishedRoots(sealed: GrowingTree, tail: readonly FoundLeaf[]): ReadonlyMap<number, Hash> {
    const tree = (this.tree ?? sealed).copy()
    const roots = new Map(this.#publishedRoots)
    for (const { hash } of tail) {
      tree.append(hash)
      this.#keepRoot(tree, roots)
    }
    return roots
  }

  async reread(source: FrameSource): Promise<void> {
    for (const range of this.#toReread)
      for (const [from, to] of await range.findMismatches(source)) this.#findings.addRange(from, to)
  }

  #keepRoot(tree: GrowingTree, roots: Map<number, Hash>): void {
    if (this.#publishedSizes.has(tree.size)) roots.set(tree.size, tree.root)
  }

  #rereadLater(range: UnsealedRange | null): void {
    if (range?.hasCheckpoints === true) this.#toReread.push(range)
  }
}
