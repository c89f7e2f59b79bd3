import { faultText } from '../../../errors/gateway-error.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { ThrottledWarning } from '../../../runtime/throttled-warning.ts'

export class QueueHealth {
  readonly #warning: ThrottledWarning
  readonly #stream: string

  constructor(logger: Logger, stream: string) {
    this.#warning = new ThrottledWarning(logger)
    this.#stream = stream
  }

  reportFailure(error: unknown): void {
    const reason = faultText(error)
    this.#warning.raise('queue.unavailable', { stream: this.#stream, reason })
  }

  reportSuccess(): void {
    this.#warning.clear('queue.available', { stream: this.#stream })
  }
}
