import type { NatsConnection } from '@nats-io/transport-node'
import { GatewayError } from '../../errors/gateway-error.ts'
import { findPermissionViolation } from './connect.ts'
import { natsLimits } from './limits.ts'

const wakeAll = (waiting: Set<() => void>): void => {
  const woken = [...waiting]
  waiting.clear()
  for (const wake of woken) wake()
}

interface RetryOptions {
  readonly withinMs: number
  readonly unavailable: (cause: unknown) => Error
  readonly onFailure?: (error: unknown) => void
}

interface LinkListeners {
  readonly onRefused?: (refusal: Error) => void
  readonly onReconnect?: () => void
  readonly onClosed?: () => void
}

export class Link {
  readonly #onLost = new Set<() => void>()
  readonly #onBack = new Set<() => void>()
  #isUp = true
  #isClosed = false

  constructor(connection: NatsConnection, listeners: LinkListeners = {}) {
    void this.#watch(connection, listeners)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** What is published while this is false is lost. */
  get isUp(): boolean {
    return this.#isUp && !this.#isClosed
  }

  /** Settles as the work does, or rejects as soon as the connection is lost, since no answer can come then. */
  runWhileUp<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed || !this.#isUp) return Promise.reject(new Error('no connection to the log'))
    return new Promise<T>((resolve, reject) => {
      const lost = (): void => reject(new Error('the connection to the log was lost'))
      this.#onLost.add(lost)
      work()
        .then(resolve, reject)
        .finally(() => this.#onLost.delete(lost))
    })
  }

  /** Waits longer for each attempt (from 0), or until the connection is back. Throws `log_unavailable` when closed. */
  async backOff(attempt: number): Promise<void> {
    if (!this.#isClosed) await this.#pause(Math.min(natsLimits.frameRetryMs * 2 ** attempt, natsLimits.frameRetryMaxMs))
    if (this.#isClosed) throw new GatewayError('log_unavailable', 'The event log is closed.')
  }

  /** Repeats the work, across outages. Rejects with a permission violation, or after `withinMs` as `unavailable` has it. */
  async retry<T>(work: () => Promise<T>, { withinMs, unavailable, onFailure }: RetryOptions): Promise<T> {
    const giveUpMs = performance.now() + withinMs
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.runWhileUp(work)
      } catch (error) {
        if (findPermissionViolation(error) !== null) throw error
        if (!this.#isClosed) onFailure?.(error)
        if (this.#isClosed || performance.now() >= giveUpMs) throw unavailable(error)
      }
      await this.backOff(attempt)
    }
  }

  close(): void {
    this.#isClosed = true
    wakeAll(this.#onLost)
    wakeAll(this.#onBack)
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#onBack.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#onBack.add(wake)
    })
  }

  async #watch(connection: NatsConnection, { onRefused, onReconnect, onClosed }: LinkListeners): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') this.#onDisconnect()
      if (status.type === 'reconnect') {
        this.#onReconnect()
        onReconnect?.()
      }
      if (status.type === 'error' && findPermissionViolation(status.error) !== null) onRefused?.(status.error)
    }
    this.close()
    onClosed?.()
  }

  #onDisconnect(): void {
    this.#isUp = false
    wakeAll(this.#onLost)
  }

  #onReconnect(): void {
    this.#isUp = true
    wakeAll(this.#onBack)
  }
}
