import type { Applied } from '../domain/ledger/ledger.ts'
import { applyFrame, type Ledger } from '../domain/ledger/ledger.ts'
import type { EventLog, Follower } from './event-log.ts'

interface Waiter {
  readonly sequence: number
  readonly resolve: () => void
}

export class LedgerTail {
  readonly ledger: Ledger
  readonly #follower: Follower
  readonly #listeners = new Set<(applied: readonly Applied[]) => void>()
  #waiters: Waiter[] = []

  constructor(ledger: Ledger, log: Pick<EventLog, 'follow'>) {
    this.ledger = ledger
    this.#follower = log.follow(ledger.sequence + 1, (frame) => {
      const applied = applyFrame(this.ledger, frame)
      for (const listener of this.#listeners) listener(applied)
      this.#wake()
    })
  }

  /** Rejects when the log could not be followed any further. */
  get done(): Promise<void> {
    return this.#follower.done
  }

  /** Calls back after every frame with the effects of its events; returns the function that stops it. */
  onApplied(listener: (applied: readonly Applied[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  waitForSequence(sequence: number): Promise<void> {
    if (this.ledger.sequence >= sequence) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiters.push({ sequence, resolve })
    })
  }

  stop(): Promise<void> {
    return this.#follower.stop()
  }

  #wake(): void {
    if (this.#waiters.length === 0) return
    const { sequence } = this.ledger
    const ready = this.#waiters.filter((waiter) => waiter.sequence <= sequence)
    if (ready.length === 0) return
    this.#waiters = this.#waiters.filter((waiter) => waiter.sequence > sequence)
    for (const waiter of ready) waiter.resolve()
  }
}
