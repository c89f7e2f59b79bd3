import { setTimeout as delay } from 'node:timers/promises'
import type { ReadModel } from '../../projections/schema/read-model.ts'
import { findBehind, type ModelVersions } from '../../projections/versions.ts'
import type { Logger } from '../../runtime/logger.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import { projectorLimits } from './limits.ts'
import { type ProjectionStore, RebuildRunning, type RefillReadModels } from './ports.ts'

interface RefillParts {
  readonly store: Pick<ProjectionStore, 'versions'>
  readonly models: readonly ReadModel[]
  readonly refill: RefillReadModels
  readonly logger: Logger
}

/** Has read models whose version is behind filled anew, in the background, until none is behind. */
export class Refill {
  readonly #parts: RefillParts
  readonly #stopping = new AbortController()
  readonly #warning: ThrottledWarning
  #running: Promise<void> | null = null
  #behind = 0
  #sequence = 0

  constructor(parts: RefillParts) {
    this.#parts = parts
    this.#warning = new ThrottledWarning(parts.logger)
  }

  get behind(): number {
    return this.#behind
  }

  /** Does nothing while it runs already. */
  startIfBehind(versions: ModelVersions): void {
    const behind = findBehind(versions, this.#parts.models)
    if (behind.length === 0 || this.#running !== null) return
    const models = behind.map(({ name, version }) => `${name} ${versions.get(name) ?? 0} -> ${version}`)
    this.#parts.logger.log('projection.refill_started', { models })
    this.#running = this.#run().finally(() => {
      this.#running = null
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the refill was stopped'))
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        const behind = findBehind(await this.#parts.store.versions(), this.#parts.models)
        this.#behind = behind.length
        if (behind.length === 0) return
        await this.#refill(behind)
      } catch (fault) {
        if (this.#stopping.signal.aborted) return
        if (!(fault instanceof RebuildRunning)) this.#warning.raise('projection.refill_failed', { fault })
        await delay(projectorLimits.refillRetryMs, undefined, { signal: this.#stopping.signal }).catch(() => {})
      }
    }
  }

  async #refill(behind: readonly ReadModel[]): Promise<void> {
    const onProgress = (sequence: number): void => {
      this.#sequence = sequence
    }
    await this.#parts.refill(behind, { signal: this.#stopping.signal, onProgress })
    this.#parts.logger.log('projection.refilled', { models: behind.map(({ name }) => name), sequence: this.#sequence })
  }
}
