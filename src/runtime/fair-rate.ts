import { FairShares } from './fair-shares.ts'

interface RateParts {
  /** In any window, such as requests or tokens. */
  readonly unitsMax: number
  readonly windowMs: number
  /** How long what one that was refused may have is kept for it. */
  readonly waitMs: number
  readonly steadyMs: () => number
}

const slots = 60

interface Slot {
  readonly endMs: number
  readonly units: Map<string, number>
}

/** Units taken that the pace of a share has not drained yet. */
interface Ahead {
  readonly units: number
  readonly atMs: number
}

/** What a limit allows in each window, divided among those that ask as `FairShares` divides places. */
export class FairRate {
  readonly #windowMs: number
  readonly #steadyMs: () => number
  readonly #shares: FairShares
  /** The oldest first. */
  readonly #slots: Slot[] = []
  /** Of the keys that have units in a slot. */
  readonly #ahead = new Map<string, Ahead>()

  constructor({ unitsMax, windowMs, waitMs, steadyMs }: RateParts) {
    this.#windowMs = windowMs
    this.#steadyMs = steadyMs
    this.#shares = new FairShares(unitsMax, waitMs, steadyMs)
  }

  /** False where none is left for the key. */
  isFree(key: string): boolean {
    this.#expire()
    return this.#shares.isFree(key)
  }

  /** What the key has taken beyond an even pace of its share, at most a share. */
  unitsAhead(key: string): number {
    this.#expire()
    const { units, atMs } = this.#ahead.get(key) ?? { units: 0, atMs: 0 }
    const share = this.#shares.shareOf(key)
    return Math.max(0, Math.min(units, share) - ((this.#steadyMs() - atMs) * share) / this.#windowMs)
  }

  /** See `FairShares`. */
  noteRefused(key: string): void {
    this.#shares.noteRefused(key)
  }

  /** Whether they are free or not, since what a request takes is known at its end. */
  add(key: string, units: number): void {
    this.#ahead.set(key, { units: this.unitsAhead(key) + units, atMs: this.#steadyMs() })
    this.#shares.add(key, units)
    const { units: counted } = this.#current()
    counted.set(key, (counted.get(key) ?? 0) + units)
  }

  /** Until some of what was taken is free again; 0 where nothing is. */
  get freeAfterMs(): number {
    this.#expire()
    return this.#slots.length === 0 ? 0 : this.#slots[0]!.endMs - this.#steadyMs()
  }

  #current(): Slot {
    const slotMs = this.#windowMs / slots
    const endMs = (Math.floor(this.#steadyMs() / slotMs) + 1) * slotMs + this.#windowMs
    const last = this.#slots.at(-1)
    if (last?.endMs === endMs) return last
    const slot: Slot = { endMs, units: new Map() }
    this.#slots.push(slot)
    return slot
  }

  #expire(): void {
    const nowMs = this.#steadyMs()
    while (this.#slots.length > 0 && this.#slots[0]!.endMs <= nowMs)
      for (const [key, units] of this.#slots.shift()!.units) {
        this.#shares.leave(key, units)
        if (this.#shares.of(key) === 0) this.#ahead.delete(key)
      }
  }
}
