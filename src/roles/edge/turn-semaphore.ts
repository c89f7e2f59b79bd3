/** The rest waits, in the order of arrival. */
export class TurnSemaphore {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(atOnceMax: number) {
    this.#free = atOnceMax
  }

  /** Settles as the work does, once it had its turn. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    await this.#turn()
    try {
      return await work()
    } finally {
      this.#pass()
    }
  }

  #turn(): Promise<void> | undefined {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#free -= 1
    return undefined
  }

  #pass(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
