import { setTimeout as delay } from 'node:timers/promises'
import type { EventLog } from '../../log/event-log.ts'
import type { ReadModel } from '../../projections/schema/read-model.ts'
import { findAhead } from '../../projections/versions.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { ProjectionStore } from './ports.ts'

interface StandbyParts {
  readonly log: Pick<EventLog, 'lastSequence'>
  readonly store: Pick<ProjectionStore, 'checkpoint' | 'versions'>
  readonly models: readonly ReadModel[]
  readonly logger: Logger
  readonly signal: AbortSignal
  /** Called with the sequence of the tables whenever it was read. */
  readonly onCheckpoint: (sequence: number) => void
}

/** Only the signal ends it early. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined)

/** Watches the tables while another projector writes them. */
export class Standby {
  readonly #parts: StandbyParts
  #isWatching = false

  constructor(parts: StandbyParts) {
    this.#parts = parts
  }

  get isWatching(): boolean {
    return this.#isWatching
  }

  /** An older program never replaces what a newer one made: the newest version wins. */
  watchNewer(ahead: readonly string[]): Promise<void> {
    const { store, models, logger, signal } = this.#parts
    logger.log('projection.newer_release', { models: ahead })
    return this.#watch(async () => {
      while (!signal.aborted && findAhead(await store.versions(), models).length > 0) {
        await this.#readCheckpoint()
        await pause(sharedLimits.projectionStandbyMs, signal)
      }
    })
  }

  /** Until the checkpoint stops moving while the log grows. */
  watchWriter(): Promise<void> {
    const { log, logger, signal } = this.#parts
    logger.log('projection.standby', {})
    return this.#watch(async () => {
      let [before, after] = [-1, await this.#readCheckpoint()]
      while (after !== before || (await log.lastSequence()) <= after) {
        await pause(sharedLimits.projectionStandbyMs, signal)
        if (signal.aborted) return
        before = after
        after = await this.#readCheckpoint()
      }
    })
  }

  async #watch(watch: () => Promise<void>): Promise<void> {
    this.#isWatching = true
    try {
      await watch()
    } finally {
      this.#isWatching = false
    }
  }

  async #readCheckpoint(): Promise<number> {
    const sequence = await this.#parts.store.checkpoint()
    this.#parts.onCheckpoint(sequence)
    return sequence
  }
}
