export class Semaphore {
  readonly #permits: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(most: number) {
    this.#permits = most
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#permits) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running += 1
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running -= 1
    else next()
  }
}
