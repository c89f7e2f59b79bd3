import { setTimeout as delay } from 'node:timers/promises'
import { FairQueue } from './fair-queue.ts'
import { Counts } from './fair-shares.ts'
import { withTimeout } from './within.ts'

interface WaitBound {
  readonly ms: number
  readonly late: () => Error
}

class Waiter {
  readonly key: string
  readonly #begun = Promise.withResolvers<void>()
  isLate = false

  constructor(key: string) {
    this.key = key
  }

  get begun(): Promise<void> {
    return this.#begun.promise
  }

  begin(): void {
    this.#begun.resolve()
  }
}

/** At most so many at once, half of them for one key; the rest waits, in the order of arrival, and keys take turns. */
export class Semaphore {
  readonly #permits: number
  readonly #ofOneMax: number
  readonly #waitBound: WaitBound | null
  readonly #held = new Counts()
  readonly #waiting = new FairQueue<Waiter>(({ isLate }) => !isLate)

  constructor(permits: number, waitBound: WaitBound | null = null) {
    this.#permits = permits
    this.#ofOneMax = Math.ceil(permits / 2)
    this.#waitBound = waitBound
  }

  /** The permit is taken for `heldMs` at least. Rejects with `late` where the work did not begin in time. */
  async run<T>(key: string, work: () => Promise<T>, heldMs = 0): Promise<T> {
    if (this.#held.all < this.#permits && this.#isFree(key)) this.#held.add(key)
    else await this.#wait(key)
    const held = heldMs > 0 ? delay(heldMs) : null
    try {
      return await work()
    } finally {
      if (held === null) this.#release(key)
      else void held.then(() => this.#release(key))
    }
  }

  #release(key: string): void {
    this.#held.remove(key)
    this.#beginNext()
  }

  #isFree(key: string): boolean {
    return this.#held.of(key) < this.#ofOneMax
  }

  #wait(key: string): Promise<void> {
    const waiter = new Waiter(key)
    this.#waiting.push(key, waiter)
    if (this.#waitBound === null) return waiter.begun
    const { ms, late } = this.#waitBound
    return withTimeout(waiter.begun, ms, () => {
      waiter.isLate = true
      return late()
    })
  }

  #beginNext(): void {
    const next = this.#waiting.shift((key) => this.#isFree(key))
    if (next === undefined) return
    this.#held.add(next.key)
    next.begin()
  }
}
