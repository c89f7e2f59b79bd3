/** A map over another, which it leaves unchanged: a draft can change it without copying what it is based on. */
export class OverlayMap<K, V> {
  readonly #below: OverlayOf<K, V>
  readonly #set = new Map<K, V>()
  readonly #deleted = new Set<K>()

  constructor(below: OverlayOf<K, V>) {
    this.#below = below
  }

  get(key: K): V | undefined {
    return this.#set.has(key) ? this.#set.get(key) : this.#deleted.has(key) ? undefined : this.#below.get(key)
  }

  has(key: K): boolean {
    return this.#set.has(key) || (!this.#deleted.has(key) && this.#below.has(key))
  }

  set(key: K, value: V): this {
    this.#set.set(key, value)
    return this
  }

  delete(key: K): boolean {
    const had = this.has(key)
    this.#set.delete(key)
    this.#deleted.add(key)
    return had
  }
}

export interface OverlayOf<K, V> {
  get(key: K): V | undefined
  has(key: K): boolean
  set(key: K, value: V): unknown
  delete(key: K): boolean
}
