import { faultText } from '../../../errors.ts'
import type { Logger } from '../../../roles/role.ts'
import { Trouble } from '../../../roles/trouble.ts'

/** Tells when a queue's server does not answer, and once when it does again. */
export class QueueHealth {
  readonly #trouble: Trouble
  readonly #stream: string

  constructor(logger: Logger, stream: string) {
    this.#trouble = new Trouble(logger)
    this.#stream = stream
  }

  fails(error: unknown): void {
    const reason = faultText(error)
    this.#trouble.comes({ stream: this.#stream, reason }, 'the work queue does not answer')
  }

  works(): void {
    this.#trouble.ends({ stream: this.#stream }, 'the work queue answers again')
  }
}
