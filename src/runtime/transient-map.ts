const renewedAfter = 256

/**
 * Of what is in flight. V8 replaces a map's table now and then, and the old one refers to the new: once one is in the old
 * generation, all later ones follow with all in them, until the whole heap is collected. So the map is made anew.
 */
export class TransientMap<K, V> {
  #map = new Map<K, V>()
  #added = 0

  get size(): number {
    return this.#map.size
  }

  get(key: K): V | undefined {
    return this.#map.get(key)
  }

  has(key: K): boolean {
    return this.#map.has(key)
  }

  set(key: K, value: V): void {
    this.#added += 1
    if (this.#added > Math.max(renewedAfter, this.#map.size)) {
      this.#map = new Map(this.#map)
      this.#added = 0
    }
    this.#map.set(key, value)
  }

  delete(key: K): boolean {
    return this.#map.delete(key)
  }

  clear(): void {
    this.#map = new Map()
  }

  values(): MapIterator<V> {
    return this.#map.values() // What is added meanwhile may be missing.
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#map[Symbol.iterator]()
  }
}
