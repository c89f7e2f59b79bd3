import { FairQueue } from './fair-queue.ts'
import { sharedLimits } from './limits.ts'

/**
 * So many steps of requests begin in one turn of the event loop; the others wait for the next ones, in turn between
 * workspaces. A burst of one workspace costs another's request a turn, and not the whole burst.
 */
export class WorkTurns {
  readonly #stepsMax: number
  readonly #nextTurn: (begin: () => void) => void
  readonly #waiting = new FairQueue<() => void>()
  #begun = 0
  #isScheduled = false

  constructor(stepsMax: number = sharedLimits.stepsPerTurn, nextTurn: (begin: () => void) => void = setImmediate) {
    this.#stepsMax = stepsMax
    this.#nextTurn = nextTurn
  }

  /** What to wait for; undefined where the step may begin at once. */
  take(workspaceId: string): Promise<void> | undefined {
    this.#schedule()
    if (this.#begun < this.#stepsMax && this.#waiting.isEmpty) {
      this.#begun += 1
      return undefined
    }
    return new Promise((resolve) => this.#waiting.push(workspaceId, resolve))
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#nextTurn(() => this.#begin())
  }

  #begin(): void {
    this.#isScheduled = false
    this.#begun = 0
    for (let begin = this.#waiting.shift(); begin !== undefined; begin = this.#waiting.shift()) {
      begin()
      this.#begun += 1
      if (this.#begun === this.#stepsMax) break
    }
    if (this.#begun > 0) this.#schedule()
  }
}

const ofThisThread = new WorkTurns()

/** See `WorkTurns.take`. */
export const takeTurn = (workspaceId: string): Promise<void> | undefined => ofThisThread.take(workspaceId)
