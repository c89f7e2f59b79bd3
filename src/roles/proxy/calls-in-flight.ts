/** Calls, and what is still owed to the log for them: a proxy stops when there are none. */
export class CallsInFlight {
  #count = 0
  #waiters: (() => void)[] = []

  enter(): void {
    this.#count += 1
  }

  leave(): void {
    this.#count -= 1
    if (this.#count > 0) return
    for (const resolve of this.#waiters) resolve()
    this.#waiters = []
  }

  /** Counts until the promise settles; its fault is told once, to `onFault`. */
  track(promise: Promise<unknown>, onFault: (fault: unknown) => void): void {
    this.enter()
    promise.catch(onFault).finally(() => this.leave())
  }

  /** Resolves once nothing is in flight. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiters.push(resolve)
    })
  }
}
