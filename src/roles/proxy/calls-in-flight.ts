/** A call that can be told that its process ends. */
export interface EndableCall {
  /** Ends the call where it stands; what that leaves to record is tracked. */
  shutDown(): void
}

/** Calls, and what is still owed to the log for them: a proxy stops when there are none. */
export class CallsInFlight {
  readonly #calls = new Set<EndableCall>()
  #owed = 0
  #shutDown = false
  #waiters: (() => void)[] = []

  enter(call: EndableCall): void {
    this.#calls.add(call)
    if (this.#shutDown) call.shutDown()
  }

  leave(call: EndableCall): void {
    this.#calls.delete(call)
    this.#wake()
  }

  /** Counts until the promise settles; its fault is told once, to `onFault`. */
  track(promise: Promise<unknown>, onFault: (fault: unknown) => void): void {
    this.#owed += 1
    promise.catch(onFault).finally(() => {
      this.#owed -= 1
      this.#wake()
    })
  }

  /** Ends every call, and at once every one that still comes. */
  shutDown(): void {
    this.#shutDown = true
    for (const call of this.#calls) call.shutDown()
  }

  /** Resolves once nothing is in flight. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiters.push(resolve)
    })
  }

  get #isIdle(): boolean {
    return this.#calls.size === 0 && this.#owed === 0
  }

  #wake(): void {
    if (!this.#isIdle) return
    for (const resolve of this.#waiters) resolve()
    this.#waiters = []
  }
}
