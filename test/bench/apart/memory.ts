import { forgetPeak, peakMemoryBytes, residentBytes } from '../procfs.ts'

/** Resident bytes; null where the system does not tell. */
export interface Memory {
  readonly before: number | null
  readonly peak: number | null
}

const sampleMs = 50

/** The most memory that a process has resident while it is watched. */
class Watch {
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

/** The processes that every call goes through. */
export const watched = ['edge', 'proxy'] as const
export type Watched = (typeof watched)[number]
export type Memories = { readonly [Role in Watched]: Memory }

/** What the work finds, and the memory of both processes meanwhile. */
export const watchMemory = async <Found>(
  pids: Readonly<Record<string, number>>,
  work: () => Promise<Found>,
): Promise<{ readonly found: Found; readonly memory: Memories }> => {
  const edge = new Watch(pids['edge']!)
  const proxy = new Watch(pids['proxy']!)
  try {
    const found = await work()
    return { found, memory: { edge: edge.stop(), proxy: proxy.stop() } }
  } finally {
    edge.stop()
    proxy.stop()
  }
}
