export class Counts {
  readonly #byKey = new Map<string, number>()
  #all = 0

  get all(): number {
    return this.#all
  }

  get keys(): number {
    return this.#byKey.size
  }

  of(key: string): number {
    return this.#byKey.get(key) ?? 0
  }

  add(key: string, count = 1): void {
    this.#all += count
    this.#byKey.set(key, this.of(key) + count)
  }

  remove(key: string, count = 1): void {
    this.#all -= count
    const left = this.of(key) - count
    if (left > 0) this.#byKey.set(key, left)
    else this.#byKey.delete(key)
  }
}

interface Claim {
  readonly capacity: number
  readonly places: number
  readonly taken: number
  /** Of `taken`, by the one that asks. */
  readonly held: number
  /** What each of the others holds that were refused lately. */
  readonly waiting: readonly number[]
  /** How many hold something, or wait for it, or ask now. */
  readonly sharers: number
}

const headroomDivisor = 16

const shareOf = ({ capacity, sharers }: Pick<Claim, 'capacity' | 'sharers'>): number =>
  Math.max(1, Math.floor(capacity / (sharers + 1)))

/** Beyond its share, which counts one that may still come, none takes what others wait for, nor the last places. */
export const mayTake = ({ capacity, places, taken, held, waiting, sharers }: Claim): boolean => {
  if (taken + places > capacity) return false
  const share = shareOf({ capacity, sharers })
  const headroom = Math.floor(capacity / headroomDivisor)
  return held + places <= share || (capacity - taken - places >= headroom && waiting.every((each) => each >= share))
}

export class FairShares {
  readonly #capacity: number
  readonly #waitMs: number
  readonly #steadyMs: () => number
  readonly #held = new Counts()
  readonly #refusedMs = new Map<string, number>()

  constructor(capacity: number, waitMs: number, steadyMs: () => number = () => performance.now()) {
    this.#capacity = capacity
    this.#waitMs = waitMs
    this.#steadyMs = steadyMs
  }

  get isFull(): boolean {
    return this.#held.all >= this.#capacity
  }

  of(key: string): number {
    return this.#held.of(key)
  }

  /** False where not all are free for the key, for which the next ones are then kept; else they count. */
  take(key: string, places = 1): boolean {
    const isFree = this.isFree(key, places)
    if (isFree) this.add(key, places)
    else this.noteRefused(key)
    return isFree
  }

  isFree(key: string, places = 1): boolean {
    return mayTake(this.#claimOf(key, places))
  }

  shareOf(key: string): number {
    return shareOf(this.#claimOf(key, 1))
  }

  #claimOf(key: string, places: number): Claim {
    const others = this.#refusedMs.size === 0 ? [] : this.#waitingBeside(key)
    const held = this.#held.of(key)
    const holders = this.#held.keys + (held === 0 ? 1 : 0)
    const sharers = holders + others.filter((other) => this.#held.of(other) === 0).length
    const waiting = others.map((other) => this.#held.of(other))
    return { capacity: this.#capacity, places, taken: this.#held.all, held, waiting, sharers }
  }

  /** Whether they are free or not. */
  add(key: string, places: number): void {
    this.#held.add(key, places)
  }

  leave(key: string, places = 1): void {
    this.#held.remove(key, places)
  }

  /** What becomes free is kept for it, up to its share, while it may come back. */
  noteRefused(key: string): void {
    this.#refusedMs.delete(key)
    this.#refusedMs.set(key, this.#steadyMs())
  }

  #waitingBeside(key: string): readonly string[] {
    const sinceMs = this.#steadyMs() - this.#waitMs
    for (const [other, refusedMs] of this.#refusedMs) {
      if (refusedMs > sinceMs) break
      this.#refusedMs.delete(other)
    }
    return [...this.#refusedMs.keys()].filter((other) => other !== key)
  }
}
