import { auditLimits } from './limits.ts'
import type { Hash } from './merkle.ts'
import type { TreeHead, UnknownNote } from './published-checkpoints.ts'

/** How far known keys have sealed the log, and what another key has sealed on top of it. */
export class KeyHistory {
  #proven: TreeHead | null = null
  readonly #unknownRoots = new Map<number, Hash>()
  #lastUnknown: UnknownNote | null = null

  get proven(): TreeHead | null {
    return this.#proven
  }

  addKnown({ size, root }: TreeHead): void {
    if (size > (this.#proven?.size ?? 0)) this.#proven = { size, root }
  }

  addUnknown(head: UnknownNote): void {
    if (head.size > (this.#lastUnknown?.size ?? 0)) this.#lastUnknown = head
    this.#unknownRoots.set(head.size, head.root)
    if (this.#unknownRoots.size > auditLimits.verifyCosignableSealsMax)
      this.#unknownRoots.delete(this.#unknownRoots.keys().next().value!)
  }

  hasUnknown({ size, root }: TreeHead): boolean {
    return this.#unknownRoots.get(size)?.equals(root) ?? false
  }

  /** `published`: kept elsewhere, and by keys that are not known. Null where known keys have sealed as much. */
  findUnproven(published: readonly UnknownNote[]): string | null {
    const provenTo = this.#proven?.size ?? 0
    const beyond = [...published, ...(this.#lastUnknown === null ? [] : [this.#lastUnknown])].find(
      ({ size }) => size > provenTo,
    )
    if (beyond === undefined) return null
    return `known keys have sealed frames 1 to ${provenTo}; the checkpoint of size ${beyond.size} is by ${beyond.key}, a key that is not known here: the signing key was changed, or another key signed. Name the public keys of the log before and after the change`
  }
}
