import type { Applied } from '../domain/ledger/ledger.ts'
import { applyFrame, type Ledger } from '../domain/ledger/ledger.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { Watermark } from '../runtime/watermark.ts'
import { withTimeout } from '../runtime/within.ts'
import type { EventLog, Follower } from './event-log.ts'

export class LedgerTail {
  readonly ledger: Ledger
  readonly #follower: Follower
  readonly #listeners = new Set<(applied: readonly Applied[]) => void>()
  readonly #applied: Watermark

  constructor(ledger: Ledger, log: Pick<EventLog, 'follow'>) {
    this.ledger = ledger
    this.#applied = new Watermark(ledger.sequence)
    this.#follower = log.follow(ledger.sequence + 1, (frame) => {
      const applied = applyFrame(ledger, frame)
      for (const listener of this.#listeners) listener(applied)
      this.#applied.moveTo(ledger.sequence)
    })
  }

  /** Rejects when the log could not be followed any further. */
  get done(): Promise<void> {
    return this.#follower.done
  }

  get behindSinceMs(): number | null {
    return this.#follower.behindSinceMs
  }

  /** Calls back after every frame with the effects of its events; returns the function that stops it. */
  onApplied(listener: (applied: readonly Applied[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  waitForSequence(sequence: number): Promise<void> {
    return this.#applied.waitFor(sequence)
  }

  stop(): Promise<void> {
    return this.#follower.stop()
  }
}

interface LogEnd {
  readonly log: Pick<EventLog, 'lastSequence'>
  readonly tail: Pick<LedgerTail, 'waitForSequence'>
}

/** Resolves with the last sequence once the ledger has it; where that takes too long, rejects with what `late` makes. */
export const waitForLogEnd = ({ log, tail }: LogEnd, late: () => Error): Promise<number> =>
  withTimeout(
    log.lastSequence().then(async (sequence) => {
      await tail.waitForSequence(sequence)
      return sequence
    }),
    sharedLimits.logStalledMs,
    late,
  )
