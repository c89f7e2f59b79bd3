import { faultText } from '../../../errors.ts'
import type { Logger } from '../../../roles/role.ts'

/** Tells once when a queue's server does not answer, and once when it does again. */
export class QueueHealth {
  readonly #logger: Logger
  readonly #stream: string
  #isFailing = false

  constructor(logger: Logger, stream: string) {
    this.#logger = logger
    this.#stream = stream
  }

  fails(error: unknown): void {
    const reason = faultText(error)
    if (!this.#isFailing) this.#logger.warn({ stream: this.#stream, reason }, 'the work queue does not answer')
    this.#isFailing = true
  }

  works(): void {
    if (this.#isFailing) this.#logger.info({ stream: this.#stream }, 'the work queue answers again')
    this.#isFailing = false
  }
}
