export interface EndableCall {
  /** Ends the call in its current state, read or not. */
  shutDown(): void
}

export class OpenCalls {
  readonly #calls = new Set<EndableCall>()
  #isShutDown = false

  get isEmpty(): boolean {
    return this.#calls.size === 0
  }

  get isShutDown(): boolean {
    return this.#isShutDown
  }

  enter(call: EndableCall): void {
    this.#calls.add(call)
    if (this.#isShutDown) call.shutDown()
  }

  leave(call: EndableCall): void {
    this.#calls.delete(call)
  }

  shutDown(): void {
    this.#isShutDown = true
    for (const call of [...this.#calls]) call.shutDown()
  }
}
