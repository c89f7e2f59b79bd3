const ended = { done: true, value: undefined } as const

/** What has come for one reader and was not read, or the read that waits for it. */
export class ReaderQueue<T> {
  readonly #onRead: ((value: T) => void) | undefined
  #values: T[] = []
  #waiter: PromiseWithResolvers<IteratorResult<T, undefined>> | null = null
  #isOver = false
  #fault: Error | null = null

  constructor(onRead?: (value: T) => void) {
    this.#onRead = onRead
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get isAwaited(): boolean {
    return this.#waiter !== null
  }

  push(value: T): void {
    if (this.#waiter === null) {
      this.#values.push(value)
      return
    }
    this.#onRead?.(value)
    this.#settle().resolve({ done: false, value })
  }

  /** Values that came before a fault are still read. */
  end(fault: Error | null): void {
    this.#isOver = true
    this.#fault = fault
    if (this.#waiter !== null) this.#settle().resolve(this.#conclude())
  }

  shift(): T | undefined {
    const value = this.#values.shift()
    if (value !== undefined) this.#onRead?.(value)
    return value
  }

  takeAll(): readonly T[] {
    const values = this.#values
    this.#values = []
    return values
  }

  /** The value that comes next; not while one is there, or another read waits. */
  wait(): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver) return this.#conclude()
    this.#waiter = Promise.withResolvers()
    return this.#waiter.promise
  }

  /** The fault that no read has been rejected with, once. */
  takeFault(): Error | null {
    const fault = this.#fault
    this.#fault = null
    return fault
  }

  /** As a generator does: rejects with the fault once, and has ended then. */
  #conclude(): Promise<IteratorResult<T, undefined>> {
    const fault = this.takeFault()
    return fault === null ? Promise.resolve(ended) : Promise.reject(fault)
  }

  #settle(): PromiseWithResolvers<IteratorResult<T, undefined>> {
    const waiter = this.#waiter!
    this.#waiter = null
    return waiter
  }
}
