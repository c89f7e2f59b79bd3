/** A value larger than what it is made from: the collector may take it between two reads, and it is made again. */
export class Collectable<Value> {
  readonly #make: () => Value
  #made: WeakRef<{ readonly value: Value }>

  constructor(make: () => Value, value: Value = make()) {
    this.#make = make
    this.#made = new WeakRef({ value })
  }

  get value(): Value {
    const existing = this.#made.deref()
    if (existing !== undefined) return existing.value
    const made = { value: this.#make() }
    this.#made = new WeakRef(made)
    return made.value
  }
}
