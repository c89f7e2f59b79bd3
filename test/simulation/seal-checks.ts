import { GrowingTree, hashFrame } from '../../src/audit/merkle.ts'
import type { Verifier } from '../../src/audit/note.ts'
import { readCheckpoints, verifyCheckpoint } from '../../src/audit/verified-checkpoints.ts'

type SealedFrame = Parameters<typeof hashFrame>[0] & { readonly sequence: number }

/** A checkpoint seals frames before its own, with their root. */
export class SealChecks {
  readonly #violate: (text: string) => void
  readonly #verifiers: readonly Verifier[]
  /** Of each frame. */
  readonly #leaves: Buffer[] = []
  /** Of the frames that the newest checkpoint seals. */
  #tree = new GrowingTree()

  constructor(violate: (text: string) => void, verifiers: readonly Verifier[]) {
    this.#violate = violate
    this.#verifiers = verifiers
  }

  add(frame: SealedFrame): void {
    this.#leaves.push(hashFrame(frame))
  }

  check(raw: SealedFrame): void {
    const { sequence } = raw
    for (const checkpoint of readCheckpoints(raw)) {
      const { size } = checkpoint
      if (size >= sequence) this.#violate(`the checkpoint in frame ${sequence} seals ${size} frames`)
      const seal = verifyCheckpoint(checkpoint, this.#verifiers)
      if (size > 0 && size < sequence && !seal.root.equals(this.#rootOf(size)))
        this.#violate(`the checkpoint in frame ${sequence} seals other frames`)
    }
  }

  #rootOf(size: number): Buffer {
    if (size < this.#tree.size) this.#tree = new GrowingTree()
    while (this.#tree.size < size) this.#tree.append(this.#leaves[this.#tree.size]!)
    return this.#tree.root
  }
}
