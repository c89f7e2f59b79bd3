import { logUnavailable } from '../../../../errors/gateway-error.ts'
import { admissionLimits } from '../limits.ts'

export interface Waiter {
  readonly units: number
  /** By `performance.now()`: setting the wall clock must not refuse a waiter. */
  readonly sinceMs: number
}

interface Queued<Result> extends Waiter {
  readonly resolve: (result: Result) => void
  readonly reject: (fault: unknown) => void
}

interface WaitQueueParts<Result> {
  /** Takes units that are there; undefined where they are not. */
  readonly tryTake: (units: number) => Result | undefined
  readonly hasMore: () => boolean
  /** Brings units nearer, or answers the first waiter. Its fault rejects all who wait; the next `run` continues. */
  readonly step: (first: Waiter | undefined) => Promise<void>
}

/** Those who wait for units of one limit, in their order, and the steps that serve them: one at a time. */
export class WaitQueue<Result> {
  readonly #parts: WaitQueueParts<Result>
  #queued: Queued<Result>[] = []
  #running: Promise<void> | null = null

  constructor(parts: WaitQueueParts<Result>) {
    this.#parts = parts
  }

  get isRunning(): boolean {
    return this.#running !== null
  }

  get length(): number {
    return this.#queued.length
  }

  get units(): number {
    return this.#queued.reduce((sum, { units }) => sum + units, 0)
  }

  /** At once where the units are there and none waits. Rejects with `log_unavailable` after `rateWaitMs`. */
  take(units: number): Result | Promise<Result> {
    const taken = this.#queued.length === 0 ? this.#parts.tryTake(units) : undefined
    if (taken !== undefined) return taken
    return new Promise((resolve, reject) => {
      this.#queued.push({ units, sinceMs: performance.now(), resolve, reject })
      void this.run()
    })
  }

  /** Answers the first ones whose units are there. False where there was none. */
  serve(): boolean {
    let isServed = false
    for (let [first] = this.#queued; first !== undefined; [first] = this.#queued) {
      const taken = this.#parts.tryTake(first.units)
      if (taken === undefined) break
      this.answerFirst(taken)
      isServed = true
    }
    return isServed
  }

  answerFirst(result: Result): void {
    this.#queued.shift()?.resolve(result)
  }

  run(): Promise<void> {
    if (this.#running === null && this.#hasWork()) this.#running = this.#work()
    return this.#running ?? Promise.resolve()
  }

  #hasWork(): boolean {
    return this.#queued.length > 0 || this.#parts.hasMore()
  }

  async #work(): Promise<void> {
    try {
      while (this.#hasWork()) await this.#step()
    } catch (fault) {
      const failed = this.#queued
      this.#queued = []
      for (const { reject } of failed) reject(fault)
    } finally {
      this.#running = null
    }
  }

  async #step(): Promise<void> {
    if (this.serve()) return
    const [first] = this.#queued
    if (first === undefined || performance.now() - first.sinceMs <= admissionLimits.rateWaitMs)
      return this.#parts.step(first)
    this.#queued.shift()
    first.reject(logUnavailable())
  }
}
