import { sharedLimits } from './limits.ts'

interface Made<Value> {
  readonly value: Value
}

/**
 * A value larger than what it is made from: where that is large, the collector may take the value between two reads, and it
 * is made again. A small one is kept: a weak reference costs more.
 */
export class Collectable<Value> {
  readonly #make: () => Value
  readonly #kept: Made<Value> | undefined
  #made: WeakRef<Made<Value>> | undefined

  constructor(make: () => Value, fromBytes: number, value: Value) {
    this.#make = make
    if (fromBytes > sharedLimits.turnBytes) this.#made = new WeakRef({ value })
    else this.#kept = { value }
  }

  get value(): Value {
    const existing = this.#kept ?? this.#made?.deref()
    if (existing !== undefined) return existing.value
    const made = { value: this.#make() }
    this.#made = new WeakRef(made)
    return made.value
  }
}
