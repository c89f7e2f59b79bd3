const chunk = 1_024

/** First in, first out; memory of taken items is released. */
export class Queue<T> {
  #items: T[] = []
  #taken = 0

  get length(): number {
    return this.#items.length - this.#taken
  }

  get head(): T | undefined {
    return this.#items[this.#taken]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  peek(count: number = this.length): readonly T[] {
    return this.#items.slice(this.#taken, this.#taken + count)
  }

  take(count: number): readonly T[] {
    const taken = this.peek(count)
    this.#items.fill(undefined as T, this.#taken, this.#taken + taken.length)
    this.#taken += taken.length
    if (this.#taken >= chunk && this.#taken * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#taken)
      this.#taken = 0
    }
    return taken
  }

  shift(): T {
    const [item] = this.take(1)
    if (item === undefined) throw new RangeError('nothing is left in the queue')
    return item
  }
}
