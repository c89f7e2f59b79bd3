export interface SingleFlightParts {
  readonly hasWork: () => boolean
  readonly step: () => Promise<void>
  /** Called with the fault that ended the work; the next `run` continues it. */
  readonly fail: (fault: unknown) => void
}

export class SingleFlight {
  readonly #parts: SingleFlightParts
  #running: Promise<void> | null = null

  constructor(parts: SingleFlightParts) {
    this.#parts = parts
  }

  get isRunning(): boolean {
    return this.#running !== null
  }

  /** Resolves when no work is left, or a step failed. */
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
