import { Queue } from '../runtime/queue.ts'
import { auditLimits } from './limits.ts'
import type { Hash } from './merkle.ts'

export interface SealedLeaf {
  /** The sequence for which it was sealed. */
  readonly sequence: number
  readonly hash: Hash
  /** The sequence of the checkpoint that sealed it: every frame it seals is stored before it. */
  readonly checkpointSequence: number
}

export interface Flaw {
  readonly kind: 'frame-unreadable' | 'checkpoint-forged'
  readonly text: string
}

export interface FoundLeaf {
  readonly sequence: number
  readonly hash: Hash
  readonly flaw: Flaw | null
}

export interface Gap {
  readonly missing: SealedLeaf[]
  readonly unexpected: FoundLeaf[]
  /** Nothing behind it is sealed, so unexpected frames in it may only have been stored late. */
  isLast?: boolean
}

interface AlignmentCallbacks {
  onMatch(sealed: SealedLeaf, found: FoundLeaf): void
  onGap(gap: Gap): void
}

export const hashToKey = (hash: Hash): string => hash.toString('latin1')

type Pair = readonly [sealed: number, found: number]

interface Link {
  readonly pair: Pair
  readonly previous: Link | null
}

/** The index of the first item of a growing list that is not below the value. */
const lowerBound = (value: number, ends: readonly Link[]): number => {
  let [low, high] = [0, ends.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ends[middle]!.pair[0] < value) low = middle + 1
    else high = middle
  }
  return low
}

const indexByHash = (sealed: readonly SealedLeaf[]): ReadonlyMap<string, readonly number[]> => {
  const places = new Map<string, number[]>()
  for (const [place, { hash }] of sealed.entries()) {
    const key = hashToKey(hash)
    const equals = places.get(key)
    if (equals === undefined) places.set(key, [place])
    else equals.push(place)
  }
  return places
}

/** The longest list of pairs in the same order on both sides (Hunt and Szymanski). */
const longestCommonSubsequence = (sealed: readonly SealedLeaf[], found: readonly FoundLeaf[]): readonly Pair[] => {
  const places = indexByHash(sealed)
  const ends: Link[] = []
  // Backwards, so that of equal leaves none is paired twice with one found.
  for (const [place, { hash }] of found.entries())
    for (const other of places.get(hashToKey(hash))?.toReversed() ?? []) {
      const length = lowerBound(other, ends)
      ends[length] = { pair: [other, place], previous: ends[length - 1] ?? null }
    }
  const pairs: Pair[] = []
  for (let link = ends.at(-1) ?? null; link !== null; link = link.previous) pairs.push(link.pair)
  return pairs.reverse()
}

export class Alignment {
  readonly #callbacks: AlignmentCallbacks
  readonly #sealed = new Queue<SealedLeaf>()
  readonly #found = new Queue<FoundLeaf>()
  #gap: Gap = { missing: [], unexpected: [] }
  #lastCheckpointSequence = 0
  /** The distance between where the last match was sealed and where it is found. */
  #offset = 0

  constructor(callbacks: AlignmentCallbacks) {
    this.#callbacks = callbacks
  }

  get sealedCount(): number {
    return this.#sealed.length
  }

  get foundCount(): number {
    return this.#found.length
  }

  addFound(leaf: FoundLeaf): void {
    this.#found.push(leaf)
  }

  addSealed(leaf: SealedLeaf): void {
    this.#sealed.push(leaf)
    this.#lastCheckpointSequence = leaf.checkpointSequence
  }

  peek(count?: number): readonly FoundLeaf[] {
    return this.#found.peek(count)
  }

  takeFound(count: number): readonly FoundLeaf[] {
    return this.#found.take(count)
  }

  /**
   * Matches what can be matched. Around a mismatch, frames that the last checkpoint does not seal cannot be
   * distinguished from inserted ones: the checkpoint's own leaves wait for the next one.
   */
  match(): void {
    this.#matchHeads()
    if (this.#sealed.length > 0) this.#matchInOrder((leaf) => leaf.checkpointSequence < this.#lastCheckpointSequence)
    if (this.#sealed.length > auditLimits.verifyMisplacedFramesMax) this.settle()
  }

  /** No further checkpoint will come: what waits is missing. */
  settle(): void {
    this.#matchHeads()
    if (this.#sealed.length > 0) this.#matchInOrder(() => true)
    const { length } = this.#sealed
    const next = (this.#sealed.head?.sequence ?? 0) + this.#offset
    const isInPlace = ({ sequence }: FoundLeaf, place: number): boolean =>
      sequence === next + place && sequence < this.#lastCheckpointSequence
    this.#extendGap(length, this.#found.peek(length).filter(isInPlace).length)
    // An empty one is not marked: others may follow it.
    if (this.#gap.missing.length + this.#gap.unexpected.length > 0) this.#gap.isLast = true
    this.#closeGap()
  }

  #matchInOrder(isDue: (leaf: SealedLeaf) => boolean): void {
    const waiting = this.#sealed.peek()
    let [sealedPast, foundPast] = [0, 0]
    for (const [sealed, found] of longestCommonSubsequence(waiting, this.#found.peek())) {
      if (!isDue(waiting[sealed]!)) break
      this.#extendGap(sealed - sealedPast, found - foundPast)
      this.#pair()
      sealedPast = sealed + 1
      foundPast = found + 1
    }
    this.#matchHeads()
  }

  #matchHeads(): void {
    for (;;) {
      const [sealed, found] = [this.#sealed.head, this.#found.head]
      if (sealed === undefined || found === undefined || !sealed.hash.equals(found.hash)) return
      this.#pair()
    }
  }

  #pair(): void {
    this.#closeGap()
    const [sealed, found] = [this.#sealed.shift(), this.#found.shift()]
    this.#offset = found.sequence - sealed.sequence
    this.#callbacks.onMatch(sealed, found)
  }

  #extendGap(missing: number, strange: number): void {
    for (const leaf of this.#sealed.take(missing)) this.#gap.missing.push(leaf)
    for (const leaf of this.#found.take(strange)) this.#gap.unexpected.push(leaf)
    if (this.#gap.missing.length + this.#gap.unexpected.length > auditLimits.verifyMisplacedFramesMax) this.#closeGap()
  }

  #closeGap(): void {
    if (this.#gap.missing.length + this.#gap.unexpected.length === 0) return
    this.#callbacks.onGap(this.#gap)
    this.#gap = { missing: [], unexpected: [] }
  }
}
