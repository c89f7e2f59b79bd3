import { type Flaw, type FoundLeaf, type Gap, hashToKey, type SealedLeaf } from './alignment.ts'
import type { IntegrityFinding, IntegrityFindingKind } from './findings.ts'
import { auditLimits } from './limits.ts'
import type { Hash } from './merkle.ts'

/** Leaves by their hash; each is taken once. */
class LeafMultiset<Leaf extends { readonly hash: Hash }> {
  readonly #leaves = new Map<string, Leaf[]>()

  add(leaf: Leaf): void {
    const key = hashToKey(leaf.hash)
    const equals = this.#leaves.get(key)
    if (equals === undefined) this.#leaves.set(key, [leaf])
    else equals.push(leaf)
  }

  take(hash: Hash): Leaf | undefined {
    const key = hashToKey(hash)
    const equals = this.#leaves.get(key)
    const leaf = equals?.shift()
    if (equals?.length === 0) this.#leaves.delete(key)
    return leaf
  }

  remove(leaf: Leaf): boolean {
    const key = hashToKey(leaf.hash)
    const equals = this.#leaves.get(key) ?? []
    const place = equals.indexOf(leaf)
    if (place >= 0) equals.splice(place, 1)
    if (equals.length === 0) this.#leaves.delete(key)
    return place >= 0
  }
}

const describeFlaw = (flaw: Flaw | null): string => (flaw === null ? '' : `: it ${flaw.text}`)
const describeSealedPosition = (found: number, sealed: number): string =>
  found === sealed ? '' : `, as frame ${sealed}`

const createFinding = (kind: IntegrityFindingKind, sequence: number, text: string): IntegrityFinding => ({
  kind,
  sequence,
  toSequence: sequence,
  text,
})

const createChangedFinding = (sealed: SealedLeaf, { sequence, flaw }: FoundLeaf): IntegrityFinding =>
  createFinding(
    'frame-changed',
    sequence,
    `frame ${sequence} is not the one that was sealed${describeSealedPosition(sequence, sealed.sequence)}${describeFlaw(flaw)}`,
  )

const createMovedFinding = (sealed: SealedLeaf, found: FoundLeaf): IntegrityFinding =>
  createFinding(
    'frame-moved',
    sealed.sequence,
    `frame ${sealed.sequence} is misplaced, at sequence ${found.sequence}${describeFlaw(found.flaw)}`,
  )

const createDuplicatedFinding = ({ sequence, flaw }: FoundLeaf, original: number): IntegrityFinding =>
  createFinding('frame-duplicated', sequence, `frame ${sequence} is a copy of frame ${original}${describeFlaw(flaw)}`)

const createInsertedFinding = ({ sequence, flaw }: FoundLeaf): IntegrityFinding =>
  createFinding(
    'frame-inserted',
    sequence,
    `frame ${sequence} was never sealed, and frames behind it were${describeFlaw(flaw)}`,
  )

const createRemovedFinding = (first: SealedLeaf, last: SealedLeaf): IntegrityFinding => ({
  kind: 'frame-removed',
  sequence: first.sequence,
  toSequence: last.sequence,
  text:
    first === last
      ? `frame ${first.sequence} was sealed and is not there`
      : `frames ${first.sequence} to ${last.sequence} were sealed and are not there`,
})

const groupConsecutive = (
  leaves: readonly SealedLeaf[],
): readonly (readonly [first: SealedLeaf, last: SealedLeaf])[] => {
  const runs: [SealedLeaf, SealedLeaf][] = []
  for (const leaf of leaves) {
    const run = runs.at(-1)
    if (run !== undefined && run[1].sequence + 1 === leaf.sequence) run[1] = leaf
    else runs.push([leaf, leaf])
  }
  return runs
}

/** Whether a frame was moved, copied or changed follows from what is missing elsewhere, so it is decided late. */
export class MisplacedFrames {
  readonly #report: (finding: IntegrityFinding) => void
  readonly #gaps: Gap[] = []
  readonly #missing = new LeafMultiset<SealedLeaf>()
  readonly #unexpected = new LeafMultiset<FoundLeaf>()
  /** Sequences of correctly placed frames by hash: the recent ones, and those before them. */
  #recent = new Map<string, number>()
  #earlier: ReadonlyMap<string, number> = new Map()
  #leaves = 0

  constructor(report: (finding: IntegrityFinding) => void) {
    this.#report = report
  }

  recordMatch({ sequence, hash }: SealedLeaf): void {
    if (this.#leaves > 0) this.#reportCopyOf(hash, sequence)
    this.#recent.set(hashToKey(hash), sequence)
    if (this.#recent.size < auditLimits.verifyRecentFramesMax / 2) return
    this.#earlier = this.#recent
    this.#recent = new Map()
  }

  addGap(gap: Gap): void {
    this.#gaps.push(gap)
    this.#leaves += gap.missing.length + gap.unexpected.length
    for (const leaf of gap.missing) this.#missing.add(leaf)
    for (const leaf of gap.unexpected) this.#unexpected.add(leaf)
    while (this.#leaves > auditLimits.verifyMisplacedFramesMax) this.#decideNext()
  }

  /** Decides the rest. A frame after all that was sealed can still be a sealed frame that was moved there. */
  finish(tail: readonly FoundLeaf[]): void {
    for (const found of tail) {
      const sealed = this.#missing.take(found.hash)
      if (sealed !== undefined) this.#report(createMovedFinding(sealed, found))
    }
    while (this.#gaps.length > 0) this.#decideNext()
  }

  #reportCopyOf(hash: Hash, original: number): void {
    const copy = this.#unexpected.take(hash)
    if (copy !== undefined) this.#report(createDuplicatedFinding(copy, original))
  }

  #decideNext(): void {
    const gap = this.#gaps.shift()!
    this.#leaves -= gap.missing.length + gap.unexpected.length
    this.#reportMoved(gap)
    const unexpected = gap.unexpected.filter((found) => this.#unexpected.remove(found) && !this.#reportIfCopy(found))
    const missing = gap.missing.filter((sealed) => this.#missing.remove(sealed))
    const both = Math.min(missing.length, unexpected.length)
    for (let place = 0; place < both; place += 1)
      this.#report(createChangedFinding(missing[place]!, unexpected[place]!))
    for (const found of unexpected.slice(both))
      if (gap.isLast !== true || found.flaw !== null) this.#report(createInsertedFinding(found))
    for (const [first, last] of groupConsecutive(missing.slice(both))) this.#report(createRemovedFinding(first, last))
  }

  #reportMoved({ missing, unexpected }: Gap): void {
    for (const { hash } of [...missing, ...unexpected]) {
      const found = this.#unexpected.take(hash)
      if (found === undefined) continue
      const sealed = this.#missing.take(hash)
      if (sealed === undefined) this.#unexpected.add(found)
      else this.#report(createMovedFinding(sealed, found))
    }
  }

  #reportIfCopy(found: FoundLeaf): boolean {
    const key = hashToKey(found.hash)
    const original = this.#recent.get(key) ?? this.#earlier.get(key)
    if (original !== undefined) this.#report(createDuplicatedFinding(found, original))
    return original !== undefined
  }
}
