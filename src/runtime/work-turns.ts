import { FairQueue } from './fair-queue.ts'
import { sharedLimits } from './limits.ts'

interface Step {
  readonly weight: number
  readonly begin: () => void
}

/**
 * So many steps of requests begin in one turn of the event loop; the others wait for the next ones, in turn between
 * workspaces. A burst of one workspace costs another's request a turn, and not the whole burst. A step counts for one and
 * for each `sharedLimits.stepBytes` of its body.
 */
export class WorkTurns {
  readonly #stepsMax: number
  readonly #nextTurn: (begin: () => void) => void
  readonly #waiting = new FairQueue<Step>()
  #begun = 0
  #isScheduled = false

  constructor(stepsMax: number = sharedLimits.stepsPerTurn, nextTurn: (begin: () => void) => void = setImmediate) {
    this.#stepsMax = stepsMax
    this.#nextTurn = nextTurn
  }

  /** What to wait for; undefined where the step may begin at once. */
  take(workspaceId: string, bytes = 0): Promise<void> | undefined {
    this.#schedule()
    const weight = 1 + Math.floor(bytes / sharedLimits.stepBytes)
    if (this.#begun < this.#stepsMax && this.#waiting.isEmpty) {
      this.#begun += weight
      return undefined
    }
    return new Promise((begin) => this.#waiting.push(workspaceId, { weight, begin }))
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#nextTurn(() => this.#begin())
  }

  #begin(): void {
    this.#isScheduled = false
    this.#begun = 0
    while (this.#begun < this.#stepsMax) {
      const step = this.#waiting.shift()
      if (step === undefined) break
      step.begin()
      this.#begun += step.weight
    }
    if (this.#begun > 0) this.#schedule()
  }
}

const ofThisThread = new WorkTurns()

/** See `WorkTurns.take`. */
export const takeTurn = (workspaceId: string, bytes?: number): Promise<void> | undefined =>
  ofThisThread.take(workspaceId, bytes)
