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

/** What a limit allows in each window, divided among those that ask as `FairShares` divides places. */
export class FairRate {
  readonly #windowMs: number
  readonly #steadyMs: () => number
  readonly #shares: FairShares
  /** The oldest first. */
  readonly #slots: Slot[] = []

  constructor({ unitsMax, windowMs, waitMs, steadyMs }: RateParts) {
    this.#windowMs = windowMs
    this.#steadyMs = steadyMs
    this.#shares = new FairShares(unitsMax, waitMs, steadyMs)
  }

  /** False where none is left for the key; else all count, also where fewer are left, since tokens are an estimate. */
  take(key: string, units: number): boolean {
    this.#expire()
    if (!this.#shares.take(key, units)) return false
    this.#count(key, units)
    return true
  }

  /** What was used beyond what was taken, or less where negative. */
  correct(key: string, units: number): void {
    this.#expire()
    if (units > 0) {
      this.#shares.add(key, units)
      this.#count(key, units)
    } else this.#giveBack(key, -units)
  }

  /** Until some of what was taken is free again; 0 where nothing is. */
  get freeAfterMs(): number {
    this.#expire()
    return this.#slots.length === 0 ? 0 : this.#slots[0]!.endMs - this.#steadyMs()
  }

  #count(key: string, units: number): void {
    const { units: counted } = this.#current()
    counted.set(key, (counted.get(key) ?? 0) + units)
  }

  /** What has expired is free already. */
  #giveBack(key: string, units: number): void {
    let left = units
    for (const slot of this.#slots.toReversed()) {
      const counted = slot.units.get(key) ?? 0
      const less = Math.min(counted, left)
      if (less === 0) continue
      slot.units.set(key, counted - less)
      this.#shares.leave(key, less)
      left -= less
    }
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
      for (const [key, units] of this.#slots.shift()!.units) if (units > 0) this.#shares.leave(key, units)
  }
}
