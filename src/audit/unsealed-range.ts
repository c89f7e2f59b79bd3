import type { FoundLeaf } from './alignment.ts'
import { type FrameSource, FramesFault, hashFrame } from './frames.ts'
import { auditLimits } from './limits.ts'
import { GrowingTree, type Hash } from './merkle.ts'
import type { TreeHead } from './published-checkpoints.ts'

const copyTree = ({ size, peaks }: GrowingTree): GrowingTree => new GrowingTree(size, peaks)

/**
 * Found frames that are kept only as a tree, since they are too many to keep one by one. Checkpoints that seal a part
 * of them are recorded, and compared when the frames are read again.
 */
export class UnsealedRange {
  readonly tree: GrowingTree
  readonly #before: GrowingTree
  /** Where the first of them is found; not where it would be sealed, if frames before it were removed or inserted. */
  readonly #firstSequence: number
  readonly #checkpoints: TreeHead[] = []

  constructor(before: GrowingTree, firstSequence: number) {
    this.#before = copyTree(before)
    this.tree = copyTree(before)
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
    const stretches = new Map<number, number>()
    let from = this.from
    for (const { size, root } of this.#checkpoints)
      if (roots.get(size)?.equals(root) === true) from = size + 1
      else stretches.set(from, size)
    return stretches
  }

  async #recomputeRoots(source: FrameSource): Promise<ReadonlyMap<number, Hash>> {
    const tree = copyTree(this.#before)
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
