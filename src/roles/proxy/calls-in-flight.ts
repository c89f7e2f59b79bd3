import { type EndableCall, OpenCalls } from '../open-calls.ts'

/** Calls, and the log records that they still owe: a proxy stops when there are none. */
export class CallsInFlight {
  readonly #calls = new OpenCalls()
  #owed = 0
  #waiters: (() => void)[] = []

  enter(call: EndableCall): void {
    this.#calls.enter(call)
  }

  leave(call: EndableCall): void {
    this.#calls.leave(call)
    this.#wake()
  }

  /** Counts until the promise settles; its fault is passed once to `onFault`. */
  track(promise: Promise<unknown>, onFault: (fault: unknown) => void): void {
    this.#owed += 1
    const settled = (): void => {
      this.#owed -= 1
      this.#wake()
    }
    promise.then(settled, (fault: unknown) => {
      settled()
      onFault(fault)
    })
  }

  /** Ends every call, and at once every one that still comes; what that leaves to record is tracked. */
  shutDown(): void {
    this.#calls.shutDown()
  }

  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiters.push(resolve)
    })
  }

  get #isIdle(): boolean {
    return this.#calls.isEmpty && this.#owed === 0
  }

  #wake(): void {
    if (!this.#isIdle) return
    for (const resolve of this.#waiters) resolve()
    this.#waiters = []
  }
}
