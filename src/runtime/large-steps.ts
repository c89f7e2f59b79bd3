import { FairQueue } from './fair-queue.ts'
import { sharedLimits } from './limits.ts'

/**
 * Steps of large bodies have half of the main thread's time, one after another, in turn between workspaces: however many
 * there are, other requests have the other half.
 */
export class LargeSteps {
  readonly #steadyMs: () => number
  readonly #waiting = new FairQueue<() => void>()
  /** When as much time has passed as the steps before took. */
  #evenMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #isPerforming = false

  constructor(steadyMs: () => number = () => performance.now()) {
    this.#steadyMs = steadyMs
  }

  /** `work` runs at once where its turn is; what it awaits is no part of the step. */
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
      this.#performDue()
    })
  }

  #performDue(): void {
    if (this.#timer !== undefined || this.#isPerforming) return
    for (;;) {
      const aheadMs = this.#evenMs - this.#steadyMs() - sharedLimits.largeStepsAheadMs
      if (aheadMs > 0) {
        this.#resumeAfter(aheadMs)
        return
      }
      const perform = this.#waiting.shift()
      if (perform === undefined) return
      this.#measure(perform)
    }
  }

  #measure(perform: () => void): void {
    const startedMs = this.#steadyMs()
    this.#isPerforming = true
    perform()
    this.#isPerforming = false
    this.#evenMs = Math.max(this.#evenMs, startedMs) + 2 * (this.#steadyMs() - startedMs)
  }

  #resumeAfter(ms: number): void {
    if (this.#waiting.isEmpty) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#performDue()
    }, Math.ceil(ms))
  }
}

const ofThisThread = new LargeSteps()

/** At once for a small body. */
export const runWhereLarge = <T>(
  { workspaceId, bytes }: { readonly workspaceId: string; readonly bytes: number },
  work: () => T,
): T | Promise<Awaited<T>> => (bytes > sharedLimits.turnBytes ? ofThisThread.run(workspaceId, work) : work())
