import type { Clock } from '../runtime/clock.ts'
import { type Check, checkOf } from '../runtime/health.ts'
import type { Logger } from '../runtime/logger.ts'
import { ThrottledWarning } from '../runtime/throttled-warning.ts'
import { logLimits } from './limits.ts'

/**
 * How far this process's clock is ahead of the server's, in milliseconds; negative: behind. The server read its clock
 * between the question and its answer, so that a slow network or a stalled process widens the range and proves nothing.
 */
interface SkewRange {
  readonly leastMs: number
  readonly mostMs: number
}

const distancesOf = ({ leastMs, mostMs }: SkewRange): { readonly certainMs: number; readonly possibleMs: number } => {
  const [one, other] = [Math.abs(leastMs), Math.abs(mostMs)]
  const spansZero = leastMs <= 0 && mostMs >= 0
  return { certainMs: spansZero ? 0 : Math.min(one, other), possibleMs: Math.max(one, other) }
}

/** Skewed once it is certain, and until it is certain that it is not. */
const nextIsSkewed = (isSkewed: boolean, range: SkewRange): boolean => {
  const { certainMs, possibleMs } = distancesOf(range)
  return isSkewed ? possibleMs > logLimits.clockSkewEndsMs : certainMs > logLimits.clockSkewMaxMs
}

const seconds = (ms: number): number => Math.round(ms / 100) / 10

interface ClockWatchParts {
  readonly clock: Clock
  readonly logger: Logger
}

/** Compares the clock of this process with that of the log's server. */
export class ClockWatch {
  readonly #clock: Clock
  readonly #warning: ThrottledWarning
  #isCompared = false
  #isSkewed = false
  #skewMs = 0

  constructor({ clock, logger }: ClockWatchParts) {
    this.#clock = clock
    this.#warning = new ThrottledWarning(logger)
  }

  /** `ask` resolves with the server's time in milliseconds, or with null where it is not known. */
  async compare(ask: () => Promise<number | null>): Promise<void> {
    const askedMs = this.#clock()
    const serverMs = await ask()
    this.#isCompared = true
    if (serverMs === null) return
    const ends = [askedMs - serverMs, this.#clock() - serverMs] as const
    this.#note({ leastMs: Math.min(...ends), mostMs: Math.max(...ends) })
  }

  get check(): Check {
    const direction = this.#skewMs > 0 ? 'ahead of' : 'behind'
    return checkOf(!this.#isSkewed, `is ${seconds(Math.abs(this.#skewMs))} s ${direction} the log server's`)
  }

  /** Not before the first comparison; from then on unless the clock is known to be wrong. */
  get isTrusted(): boolean {
    return this.#isCompared && !this.#isSkewed
  }

  get skewSeconds(): number {
    return this.#skewMs / 1_000
  }

  #note(range: SkewRange): void {
    this.#skewMs = (range.leastMs + range.mostMs) / 2
    this.#isSkewed = nextIsSkewed(this.#isSkewed, range)
    const fields = { aheadSeconds: seconds(this.#skewMs) }
    if (this.#isSkewed) this.#warning.raise('clock.skewed', fields)
    else this.#warning.clear('clock.corrected', fields)
  }
}
