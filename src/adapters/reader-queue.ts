const ended = { done: true, value: undefined } as const

/** What has come for one reader and was not read, or the read that waits for it. */
export class ReaderQueue<T> {
  #values: T[] = []
  #waiter: PromiseWithResolvers<IteratorResult<T, undefined>> | null = null
  #isOver = false
  #fault: Error | null = null

  get isOver(): boolean {
    return this.#isOver
  }

  get isAwaited(): boolean {
    return this.#waiter !== null
  }

  get fault(): Error | null {
    return this.#fault
  }

  push(value: T): void {
    if (this.#waiter === null) this.#values.push(value)
    else this.#settle().resolve({ done: false, value })
  }

  /** Values that came before a fault are still read. */
  end(fault: Error | null): void {
    this.#isOver = true
    this.#fault = fault
    if (this.#waiter === null) return
    if (fault === null) this.#settle().resolve(ended)
    else this.#settle().reject(fault)
  }

  shift(): T | undefined {
    return this.#values.shift()
  }

  takeAll(): readonly T[] {
    const values = this.#values
    this.#values = []
    return values
  }

  /** The value that comes next; not while one is there, or another read waits. */
  wait(): Promise<IteratorResult<T, undefined>> {
    if (this.#fault !== null) return Promise.reject(this.#fault)
    if (this.#isOver) return Promise.resolve(ended)
    this.#waiter = Promise.withResolvers()
    return this.#waiter.promise
  }

  #settle(): PromiseWithResolvers<IteratorResult<T, undefined>> {
    const waiter = this.#waiter!
    this.#waiter = null
    return waiter
  }
}
