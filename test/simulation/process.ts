import { AsyncLocalStorage } from 'node:async_hooks'

const current = new AsyncLocalStorage<SimProcess>()

/** A simulated operating-system process. What it starts belongs to it, and ends with it at once. */
export class SimProcess {
  readonly name: string
  /** How far its wall clock is off. */
  clockOffsetMs = 0
  /** Runs work as this process. */
  readonly run: <T>(work: () => T) => T = current.run(this, () => AsyncLocalStorage.snapshot())
  #isDead = false
  readonly #onDeath: (() => void)[] = []

  constructor(name: string) {
    this.name = name
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** Called when the process dies, in order. */
  onDeath(listener: () => void): void {
    this.#onDeath.push(listener)
  }

  die(): void {
    if (this.#isDead) return
    this.#isDead = true
    for (const listener of this.#onDeath.splice(0)) listener()
  }
}

/** The process whose code runs now; undefined for the world itself: clients, servers, faults. */
export const currentProcess = (): SimProcess | undefined => current.getStore()

export const runIn = <T>(process: SimProcess | undefined, work: () => T): T =>
  current.getStore() === process ? work() : process === undefined ? current.exit(work) : process.run(work)

/** What a call to a port of a dead process returns: nothing comes back. */
export const noAnswer = <T>(): Promise<T> => new Promise<T>(() => {})
