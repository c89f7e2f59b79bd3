import { GatewayError } from '../../errors.ts'
import type { Clock } from '../role.ts'

const windowMs = 60_000

interface Window {
  startMs: number
  requests: number
}

/** Requests per minute of a workspace, in windows that start with its first request. */
export class RateLimiter {
  readonly #requestsPerMinute: number
  readonly #clock: Clock
  readonly #windows = new Map<string, Window>()

  constructor(requestsPerMinute: number, clock: Clock) {
    this.#requestsPerMinute = requestsPerMinute
    this.#clock = clock
  }

  /** Throws `rate_limit_exceeded` with the seconds left in the window. */
  take(workspaceId: string): void {
    const nowMs = this.#clock()
    const window = this.#windowOf(workspaceId, nowMs)
    if (window.requests >= this.#requestsPerMinute) {
      const retryAfterSeconds = Math.max(1, Math.ceil((window.startMs + windowMs - nowMs) / 1_000))
      throw new GatewayError(
        'rate_limit_exceeded',
        `The workspace is limited to ${this.#requestsPerMinute} requests a minute.`,
        { retryAfterSeconds },
      )
    }
    window.requests += 1
  }

  #windowOf(workspaceId: string, nowMs: number): Window {
    const standing = this.#windows.get(workspaceId)
    if (standing !== undefined && nowMs - standing.startMs < windowMs) return standing
    const window = { startMs: nowMs, requests: 0 }
    this.#windows.set(workspaceId, window)
    return window
  }
}
