import { TransientMap } from '../runtime/transient-map.ts'

export interface EndableCall {
  /** Ends the call in its current state, read or not. */
  shutDown(): void
}

export class OpenCalls {
  readonly #calls = new TransientMap<EndableCall, EndableCall>()
  #isShutDown = false

  get isEmpty(): boolean {
    return this.#calls.size === 0
  }

  get isShutDown(): boolean {
    return this.#isShutDown
  }

  enter(call: EndableCall): void {
    this.#calls.set(call, call)
    if (this.#isShutDown) call.shutDown()
  }

  leave(call: EndableCall): void {
    this.#calls.delete(call)
  }

  shutDown(): void {
    this.#isShutDown = true
    for (const call of [...this.#calls.values()]) call.shutDown()
  }
}
