import { type Alignment, type Flaw, type FoundLeaf, hashToKey, type SealedLeaf } from './alignment.ts'
import { KeyHistory } from './key-history.ts'
import { auditLimits } from './limits.ts'
import { GrowingTree } from './merkle.ts'
import type { SealedHistory, SealStep } from './sealed-history.ts'
import type { InspectedFrame, UnknownSeal, VerifiedSeal } from './verified-checkpoints.ts'
import type { VerifyFindings } from './verify-findings.ts'

interface LocatedSeal {
  readonly seal: VerifiedSeal
  readonly at: number
  readonly isKnown: boolean
}

interface CheckpointChainParts {
  readonly history: SealedHistory
  readonly alignment: Alignment
  readonly findings: VerifyFindings
  readonly onMatch: (sealed: SealedLeaf, found: FoundLeaf) => void
}

/** The checkpoints of a log, each of which has to continue those before it. */
export class CheckpointChain {
  readonly keys = new KeyHistory()
  readonly #parts: CheckpointChainParts
  /** Checkpoints that are stored before frames or checkpoints they need. */
  #deferred: readonly LocatedSeal[] = []

  constructor(parts: CheckpointChainParts) {
    this.#parts = parts
  }

  accept(located: LocatedSeal): void {
    if (!this.#tryToAccept(located)) {
      this.#deferred = [...this.#deferred, located].toSorted((one, other) => one.seal.size - other.seal.size)
      if (this.#deferred.length > auditLimits.verifyDeferredSealsMax) this.#acceptFirstDeferred()
      return
    }
    for (const deferred of this.#deferred) {
      if (!this.#tryToAccept(deferred)) return
      this.#deferred = this.#deferred.slice(1)
    }
  }

  /** The flaw of what does not continue what known keys have sealed. */
  takeUnknown({ unknownSeals, unknownCosigned }: InspectedFrame, at: number): Flaw | null {
    const flaws = [
      ...unknownSeals.filter(({ signed }) => !this.acceptUnknown(signed, at)),
      ...unknownCosigned.filter(({ signed }) => !this.keys.hasUnknown(signed)),
    ]
    return flaws[0]?.flaw ?? null
  }

  /** As if it were trusted, so that frames that contradict it are found; it proves nothing. */
  acceptUnknown(seal: UnknownSeal, at: number): boolean {
    if (this.keys.proven === null || !this.#parts.history.continues(seal)) return false
    this.accept({ seal, at, isKnown: false })
    this.keys.addUnknown(seal)
    return true
  }

  #tryToAccept(located: LocatedSeal): boolean {
    const isAccepted = this.#reach(located)
    if (isAccepted && located.isKnown) this.keys.addKnown(located.seal)
    return isAccepted
  }

  /** False for a checkpoint whose beginning no known tree reaches. */
  #reach({ seal, at }: LocatedSeal): boolean {
    const step = this.#parts.history.nextStep(seal, this.#parts.alignment)
    if (step === 'compare') {
      this.#parts.history.compareOld(seal, at)
      return true
    }
    if (!this.#reachBeginning(step, seal)) return false
    for (const leaf of this.#parts.history.extend(seal, at)) this.#parts.alignment.addSealed(leaf)
    this.#parts.alignment.match()
    return true
  }

  #reachBeginning(step: SealStep, seal: VerifiedSeal): boolean {
    if (step === 'extend') return true
    if (step === 'append_found') return this.#appendFound(seal)
    if (step === 'skip_folded') this.#parts.history.skipTo(new GrowingTree(seal.from, seal.peaks))
    return step === 'skip_folded'
  }

  #acceptFirstDeferred(): void {
    const [first, ...others] = this.#deferred
    this.#deferred = others
    if (first === undefined) return
    this.#parts.alignment.settle()
    const step = this.#parts.history.nextStep(first.seal, this.#parts.alignment)
    if (step !== 'compare' && !this.#reachBeginning(step, first.seal)) this.#resumeAt(first.seal)
    this.accept(first)
  }

  /** False if the found frames do not lead to where the checkpoint begins. */
  #appendFound(seal: VerifiedSeal): boolean {
    const count = seal.from - (this.#parts.history.folded ?? this.#parts.history).size
    const hashes = this.#parts.alignment.peek(count).map(({ hash }) => hash)
    const tree = this.#parts.history.reachBy(hashes, seal)
    if (tree === null) return false
    const { folded } = this.#parts.history
    if (folded !== null) this.#parts.history.skipTo(folded)
    for (const [place, leaf] of this.#parts.alignment.takeFound(count).entries())
      this.#parts.onMatch(
        { sequence: seal.from - count + 1 + place, hash: leaf.hash, checkpointSequence: leaf.sequence + 1 },
        leaf,
      )
    this.#parts.history.advance(hashes, tree)
    return true
  }

  /** Gives up on the frames before a checkpoint, and resumes where its own hashes are found. */
  #resumeAt(seal: VerifiedSeal): void {
    const { size } = this.#parts.history
    const sealed = new Set(seal.leaves.map(hashToKey))
    const place = this.#parts.alignment.peek().findIndex(({ hash }) => sealed.has(hashToKey(hash)))
    const count = place < 0 ? Math.min(this.#parts.alignment.foundCount, seal.from - size) : place
    this.#parts.alignment.takeFound(count)
    this.#parts.findings.addUnlocated(size + 1, seal.from, count)
    this.#parts.history.resumeAt(seal)
  }

  settle(): void {
    while (this.#deferred.length > 0) this.#acceptFirstDeferred()
    this.#parts.alignment.settle()
  }
}
