export interface SingleFlightParts {
  readonly hasWork: () => boolean
  readonly step: () => Promise<void>
  /** Called with what ended the work; it goes on with the next `run`. */
  readonly fail: (fault: unknown) => void
}

/** Does work step by step, one step at a time, until there is none. */
export class SingleFlight {
  readonly #parts: SingleFlightParts
  #running: Promise<void> | null = null

  constructor(parts: SingleFlightParts) {
    this.#parts = parts
  }

  get isRunning(): boolean {
    return this.#running !== null
  }

  /** Resolves when nothing is left to do, or it failed. */
  run(): Promise<void> {
    if (this.#running === null && this.#parts.hasWork()) this.#running = this.#work()
    return this.#running ?? Promise.resolve()
  }

  async #work(): Promise<void> {
    const { hasWork, step, fail } = this.#parts
    try {
      while (hasWork()) await step()
    } catch (fault) {
      fail(fault)
    } finally {
      this.#running = null
    }
  }
}
