import { forgetPeak, peakMemoryBytes, residentBytes } from './procfs.ts'

/** Resident bytes; null where the system does not tell. */
export interface Memory {
  readonly before: number | null
  readonly peak: number | null
}

const sampleMs = 50

/** The most memory that a process has resident while it is watched. */
export class MemoryWatch {
  readonly #pid: number
  readonly #before: number | null
  readonly #sampling: NodeJS.Timeout | null
  #sampledPeak: number

  constructor(pid: number) {
    this.#pid = pid
    this.#before = residentBytes(pid)
    this.#sampledPeak = this.#before ?? 0
    this.#sampling = forgetPeak(pid) ? null : setInterval(() => this.#sample(), sampleMs)
  }

  stop(): Memory {
    if (this.#sampling === null) return { before: this.#before, peak: peakMemoryBytes(this.#pid) }
    clearInterval(this.#sampling)
    return { before: this.#before, peak: this.#before === null ? null : this.#sampledPeak }
  }

  #sample(): void {
    this.#sampledPeak = Math.max(this.#sampledPeak, residentBytes(this.#pid) ?? 0)
  }
}

/** NaN where the system does not tell. */
export const growthOf = ({ before, peak }: Memory): number =>
  before === null || peak === null ? Number.NaN : Math.max(0, peak - before)
