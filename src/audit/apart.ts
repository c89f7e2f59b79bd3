import { limits } from '../limits.ts'
import { type Flaw, type FoundLeaf, type Gap, keyOf, type SealedLeaf } from './alignment.ts'
import type { Finding, FindingKind } from './findings.ts'
import type { Hash } from './merkle.ts'

/** Leaves by their hash, of which each is handed out once. */
class Shelf<Leaf extends { readonly hash: Hash }> {
  readonly #leaves = new Map<string, Leaf[]>()

  put(leaf: Leaf): void {
    const key = keyOf(leaf.hash)
    const equals = this.#leaves.get(key)
    if (equals === undefined) this.#leaves.set(key, [leaf])
    else equals.push(leaf)
  }

  /** One with the hash, which is then gone. */
  take(hash: Hash): Leaf | undefined {
    const key = keyOf(hash)
    const equals = this.#leaves.get(key)
    const leaf = equals?.shift()
    if (equals?.length === 0) this.#leaves.delete(key)
    return leaf
  }

  /** Takes this one; false when it is gone already. */
  remove(leaf: Leaf): boolean {
    const key = keyOf(leaf.hash)
    const equals = this.#leaves.get(key) ?? []
    const place = equals.indexOf(leaf)
    if (place >= 0) equals.splice(place, 1)
    if (equals.length === 0) this.#leaves.delete(key)
    return place >= 0
  }
}

const because = (flaw: Flaw | null): string => (flaw === null ? '' : `: it ${flaw.text}`)
const sealedElsewhere = (found: number, sealed: number): string => (found === sealed ? '' : `, as frame ${sealed}`)

const finding = (kind: FindingKind, sequence: number, text: string): Finding => ({
  kind,
  sequence,
  toSequence: sequence,
  text,
})

const changed = (sealed: SealedLeaf, { sequence, flaw }: FoundLeaf): Finding =>
  finding(
    'frame-changed',
    sequence,
    `frame ${sequence} is not the one that was sealed${sealedElsewhere(sequence, sealed.sequence)}${because(flaw)}`,
  )

const moved = (sealed: SealedLeaf, found: FoundLeaf): Finding =>
  finding(
    'frame-moved',
    sealed.sequence,
    `frame ${sealed.sequence} stands elsewhere, at sequence ${found.sequence}${because(found.flaw)}`,
  )

const duplicated = ({ sequence, flaw }: FoundLeaf, original: number): Finding =>
  finding('frame-duplicated', sequence, `frame ${sequence} is a copy of frame ${original}${because(flaw)}`)

const inserted = ({ sequence, flaw }: FoundLeaf): Finding =>
  finding('frame-inserted', sequence, `frame ${sequence} was never sealed, and frames behind it were${because(flaw)}`)

const removed = (first: SealedLeaf, last: SealedLeaf): Finding => ({
  kind: 'frame-removed',
  sequence: first.sequence,
  toSequence: last.sequence,
  text:
    first === last
      ? `frame ${first.sequence} was sealed and is not there`
      : `frames ${first.sequence} to ${last.sequence} were sealed and are not there`,
})

/** Frames of consecutive sequences together. */
const runsOf = (leaves: readonly SealedLeaf[]): readonly (readonly [first: SealedLeaf, last: SealedLeaf])[] => {
  const runs: [SealedLeaf, SealedLeaf][] = []
  for (const leaf of leaves) {
    const run = runs.at(-1)
    if (run !== undefined && run[1].sequence + 1 === leaf.sequence) run[1] = leaf
    else runs.push([leaf, leaf])
  }
  return runs
}

/**
 * Frames that do not stand where they were sealed. Whether one was moved, copied, changed, removed or inserted is told from what is
 * missing and strange elsewhere; it is decided late, and of a bounded number of frames.
 */
export class Apart {
  readonly #tell: (finding: Finding) => void
  readonly #gaps: Gap[] = []
  readonly #missing = new Shelf<SealedLeaf>()
  readonly #strange = new Shelf<FoundLeaf>()
  /** Where frames that stand as they were sealed were sealed: those of late, and those before them. */
  #recent = new Map<string, number>()
  #earlier: ReadonlyMap<string, number> = new Map()
  #leaves = 0

  constructor(tell: (finding: Finding) => void) {
    this.#tell = tell
  }

  /** A frame stands as it was sealed. */
  stands({ sequence, hash }: SealedLeaf): void {
    if (this.#leaves > 0) this.#tellCopy(hash, sequence)
    this.#recent.set(keyOf(hash), sequence)
    if (this.#recent.size < limits.verifyRecentFramesMax / 2) return
    this.#earlier = this.#recent
    this.#recent = new Map()
  }

  add(gap: Gap): void {
    this.#gaps.push(gap)
    this.#leaves += gap.missing.length + gap.strange.length
    for (const leaf of gap.missing) this.#missing.put(leaf)
    for (const leaf of gap.strange) this.#strange.put(leaf)
    while (this.#leaves > limits.verifyApartFramesMax) this.#decideNext()
  }

  /** Decides the rest. What stands behind all that was sealed can still be a sealed frame that was moved there. */
  end(tail: readonly FoundLeaf[]): void {
    for (const found of tail) {
      const sealed = this.#missing.take(found.hash)
      if (sealed !== undefined) this.#tell(moved(sealed, found))
    }
    while (this.#gaps.length > 0) this.#decideNext()
  }

  /** A strange frame met before is a copy of this one. */
  #tellCopy(hash: Hash, original: number): void {
    const copy = this.#strange.take(hash)
    if (copy !== undefined) this.#tell(duplicated(copy, original))
  }

  #decideNext(): void {
    const gap = this.#gaps.shift()!
    this.#leaves -= gap.missing.length + gap.strange.length
    this.#tellMoved(gap)
    const strange = gap.strange.filter((found) => this.#strange.remove(found) && !this.#isCopy(found))
    const missing = gap.missing.filter((sealed) => this.#missing.remove(sealed))
    const both = Math.min(missing.length, strange.length)
    for (let place = 0; place < both; place += 1) this.#tell(changed(missing[place]!, strange[place]!))
    for (const found of strange.slice(both)) if (gap.isLast !== true || found.flaw !== null) this.#tell(inserted(found))
    for (const [first, last] of runsOf(missing.slice(both))) this.#tell(removed(first, last))
  }

  #tellMoved({ missing, strange }: Gap): void {
    for (const { hash } of [...missing, ...strange]) {
      const found = this.#strange.take(hash)
      if (found === undefined) continue
      const sealed = this.#missing.take(hash)
      if (sealed === undefined) this.#strange.put(found)
      else this.#tell(moved(sealed, found))
    }
  }

  #isCopy(found: FoundLeaf): boolean {
    const key = keyOf(found.hash)
    const original = this.#recent.get(key) ?? this.#earlier.get(key)
    if (original !== undefined) this.#tell(duplicated(found, original))
    return original !== undefined
  }
}
