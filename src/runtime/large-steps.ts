import { FairQueue } from './fair-queue.ts'
import { sharedLimits } from './limits.ts'

/** Of the main thread's time: one in so many. */
const largeStepsShare = 3

/**
 * Steps of large bodies have a third of the main thread's time, each in a turn of the event loop of its own, in turn
 * between workspaces: however many there are, other requests have the rest. What a step leads to before anything else can
 * run counts with it.
 */
export class LargeSteps {
  readonly #steadyMs: () => number
  readonly #waiting = new FairQueue<() => void>()
  /** When twice as much time has passed as the steps before took. */
  #evenMs = Number.NEGATIVE_INFINITY
  #isScheduled = false

  constructor(steadyMs: () => number = () => performance.now()) {
    this.#steadyMs = steadyMs
  }

  /** What `work` awaits is no part of the step. */
  run<T>(workspaceId: string, work: () => T): Promise<Awaited<T>> {
    return new Promise((resolve, reject) => {
      const perform = (): void => {
        try {
          resolve(work() as Awaited<T>)
        } catch (fault) {
          reject(fault)
        }
      }
      this.#waiting.push(workspaceId, perform)
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.isEmpty) return
    this.#isScheduled = true
    const aheadMs = this.#evenMs - this.#steadyMs() - sharedLimits.largeStepsAheadMs
    if (aheadMs > 0) setTimeout(() => this.#scheduleAgain(), Math.ceil(aheadMs))
    else this.#performNext()
  }

  #scheduleAgain(): void {
    this.#isScheduled = false
    this.#schedule()
  }

  /** The second callback runs in the same turn, once all promises that the first one settled have been followed. */
  #performNext(): void {
    let startedMs = 0
    setImmediate(() => {
      startedMs = this.#steadyMs()
      this.#waiting.shift()?.()
    })
    setImmediate(() => {
      const tookMs = this.#steadyMs() - startedMs
      this.#evenMs = Math.max(this.#evenMs, startedMs) + largeStepsShare * tookMs
      this.#scheduleAgain()
    })
  }
}

const ofThisThread = new LargeSteps()

/** At once for a small body. */
export const runWhereLarge = <T>(
  { workspaceId, bytes }: { readonly workspaceId: string; readonly bytes: number },
  work: () => T,
  turnBytes: number = sharedLimits.turnBytes,
): T | Promise<Awaited<T>> => (bytes > turnBytes ? ofThisThread.run(workspaceId, work) : work())
