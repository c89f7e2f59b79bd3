import { faultText } from '../../errors/gateway-error.ts'
import { natsLimits } from './limits.ts'
import type { Link } from './link.ts'

export interface Session {
  prepare(): Promise<void>
  start(): void
  close(): void
}

interface SessionLoopParts {
  readonly link: Link
  /** `onEnd` is called with the reason why another session is needed. */
  readonly open: (onEnd: (reason: string) => void) => Session
  /** Called once between two sessions that were started. */
  readonly onRestart: (reason: string) => void
  readonly onFault: (error: unknown) => void
}

/** One session after another, across outages, until it is stopped or the connection is closed. */
export class SessionLoop {
  readonly #parts: SessionLoopParts
  #attempt = 0
  #isOver = false
  #endSession: (reason: string) => void = () => {}

  constructor(parts: SessionLoopParts) {
    this.#parts = parts
  }

  get isOver(): boolean {
    return this.#isOver
  }

  stop(): void {
    this.#isOver = true
    this.#endSession('stopped')
  }

  /** Rejects with what `onFault` throws. */
  async run(): Promise<void> {
    const { link, onRestart } = this.#parts
    while (!this.#isOver && !link.isClosed) {
      const reason = await this.#runSession()
      if (this.#isOver) return
      await link.backOff(Math.min(this.#attempt, natsLimits.followDoublingsMax)).catch(() => {}) // Closed: the loop ends.
      if (this.#attempt === 0 && !link.isClosed) onRestart(reason)
      this.#attempt += 1
    }
  }

  async #runSession(): Promise<string> {
    const { link, open, onFault } = this.#parts
    const ended = Promise.withResolvers<string>()
    this.#endSession = ended.resolve
    const session = open(ended.resolve)
    try {
      await link.runWhileUp(() => session.prepare())
      if (this.#isOver) return 'stopped'
      this.#attempt = 0
      session.start()
      return await link.runWhileUp(() => ended.promise)
    } catch (error) {
      onFault(error)
      return faultText(error)
    } finally {
      session.close()
    }
  }
}
