/** Stops in reverse order of the start. */
export class ShutdownStack {
  readonly #stops: (() => Promise<void>)[] = []

  push<T extends { stop(): Promise<void> }>(part: T): T {
    this.#stops.push(() => part.stop())
    return part
  }

  /** Stops everything, even where one cannot stop. Rejects with the first fault when all is done. */
  async stop(): Promise<void> {
    const faults: unknown[] = []
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop())
      await stop().catch((fault: unknown) => faults.push(fault))
    if (faults.length > 0) throw faults[0]
  }
}
