import type { Signer } from '../../audit/note.ts'
import type { CheckpointSealed } from '../../events/types.ts'
import type { LogOf } from '../../log/event-log.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { SealState } from './seal-state.ts'

export interface CheckpointWriterParts {
  readonly log: Pick<LogOf<'CheckpointSealed'>, 'append'>
  readonly signer: Signer
  readonly clock: Clock
  /** Called when the log begins to refuse checkpoints. */
  readonly onRefused: (fault: unknown) => void
  readonly onFault: (fault: unknown) => void
}

/** Signs checkpoints and appends them, one at a time. */
export class CheckpointWriter {
  readonly #parts: CheckpointWriterParts
  #appending: Promise<void> | null = null
  #isRefused = false

  constructor(parts: CheckpointWriterParts) {
    this.#parts = parts
  }

  /** The log did not store the last one. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  get appending(): Promise<void> | null {
    return this.#appending
  }

  /** Seals what the state has taken; while an append is under way, waits for that one. */
  write(state: SealState): Promise<void> {
    this.#appending ??= this.#append(state)
      .catch(this.#parts.onFault)
      .finally(() => {
        this.#appending = null
      })
    return this.#appending
  }

  async #append(state: SealState): Promise<void> {
    const data = state.sign(this.#parts.signer)
    if (await this.#isStored(data)) state.markStored(data, this.#parts.clock())
  }

  async #isStored(data: CheckpointSealed): Promise<boolean> {
    const { log, onRefused } = this.#parts
    try {
      await log.append([{ type: 'CheckpointSealed', data }])
      this.#isRefused = false
    } catch (fault) {
      if (!this.#isRefused) onRefused(fault)
      this.#isRefused = true
    }
    return !this.#isRefused
  }
}
