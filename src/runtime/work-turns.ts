import { FairQueue } from './fair-queue.ts'
import { sharedLimits } from './limits.ts'

interface Step {
  readonly weight: number
  readonly begin: () => void
}

interface Loop {
  readonly nextTurn: (work: () => void) => void
  readonly steadyMs: () => number
}

const ofNode: Loop = { nextTurn: setImmediate, steadyMs: () => performance.now() }

class Askers {
  #last: string | undefined
  #changedMs = Number.NEGATIVE_INFINITY

  note(workspaceId: string, nowMs: () => number): void {
    if (workspaceId === this.#last) return
    this.#last = workspaceId
    this.#changedMs = nowMs()
  }

  areSeveral(nowMs: number): boolean {
    return nowMs - this.#changedMs < sharedLimits.stepsSharedMs
  }
}

const workspaces = new Askers()

/**
 * So many steps of requests begin in one turn of the event loop; the others wait for the next ones, in turn between
 * workspaces. A request takes some ten turns, so while several workspaces ask no step begins once those before have taken
 * `sharedLimits.stepsTurnMs`; fewer and longer turns cost less. A step counts for one and for each `sharedLimits.stepBytes`
 * of its body.
 */
export class WorkTurns {
  readonly #stepsMax: number
  readonly #loop: Loop
  readonly #askers: Askers
  readonly #waiting = new FairQueue<Step>()
  #begun = 0
  #beganMs = 0
  #callbacksDue = 0

  constructor(stepsMax: number, loop: Loop = ofNode, askers = new Askers()) {
    this.#stepsMax = stepsMax
    this.#loop = loop
    this.#askers = askers
  }

  /** Where several workspaces ask for turns of one kind, they are several for the others. */
  static ofWorkspaces(stepsMax: number): WorkTurns {
    return new WorkTurns(stepsMax, ofNode, workspaces)
  }

  /** What to wait for; undefined where the step may begin at once. */
  take(workspaceId: string, bytes = 0): Promise<void> | undefined {
    this.#askers.note(workspaceId, this.#loop.steadyMs)
    const weight = 1 + Math.floor(bytes / sharedLimits.stepBytes)
    if (this.#waiting.isEmpty && !this.#isFull) {
      this.#count(weight)
      return undefined
    }
    return new Promise((begin) => {
      this.#waiting.push(workspaceId, { weight, begin })
      this.#schedule()
    })
  }

  get #isFull(): boolean {
    if (this.#begun === 0) return false
    if (this.#begun >= this.#stepsMax) return true
    const nowMs = this.#loop.steadyMs()
    return nowMs - this.#beganMs >= sharedLimits.stepsTurnMs && this.#askers.areSeveral(nowMs)
  }

  #count(weight: number): void {
    if (this.#begun === 0) this.#beganMs = this.#loop.steadyMs()
    this.#begun += weight
    if (this.#callbacksDue === 0) this.#schedule()
  }

  /** A callback for each step: between two of them runs all that the first one leads to at once. */
  #schedule(): void {
    if (this.#callbacksDue === this.#stepsMax) return
    this.#callbacksDue += 1
    const isFirst = this.#callbacksDue === 1
    this.#loop.nextTurn(() => {
      if (isFirst) this.#begun = this.#callbacksDue = 0
      this.#beginNext()
    })
  }

  #beginNext(): void {
    if (!this.#isFull) {
      const step = this.#waiting.shift()
      if (step === undefined) return
      this.#count(step.weight)
      step.begin()
    }
    if (!this.#waiting.isEmpty) this.#schedule()
  }
}

const ofThisThread = WorkTurns.ofWorkspaces(sharedLimits.stepsPerTurn)

/** See `WorkTurns.take`. */
export const takeTurn = (workspaceId: string, bytes?: number): Promise<void> | undefined =>
  ofThisThread.take(workspaceId, bytes)
