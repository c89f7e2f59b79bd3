import type { IncomingMessage, Server } from 'node:http'
import { listenerLimits } from './limits.ts'

/**
 * Closing a connection while its client sends would lose the response, so the rest of a body is discarded: for all of
 * them together so many pieces a turn, since a few large bodies would take all the time of the process. A connection
 * that waits is bounded as any other: one that is ended early may carry the client's next request.
 */
export class UnreadBodies {
  /** The one that has waited longest for a piece comes first. */
  readonly #waiting = new Set<IncomingMessage>()
  #turns: NodeJS.Timeout | undefined

  constructor(server: Server) {
    server.prependListener('request', (request, response) => {
      response.prependListener('finish', () => {
        if (!request.complete) this.#discard(request)
      })
    })
  }

  close(): void {
    for (const request of this.#waiting) request.destroy()
  }

  #discard(request: IncomingMessage): void {
    this.#waiting.add(request)
    request.pause().on('data', () => request.pause())
    request.once('close', () => this.#waiting.delete(request))
    request.read(0) // Otherwise Node itself drains a body that was never read.
    this.#turns ??= setInterval(() => this.#takeTurn(), listenerLimits.discardTurnMs).unref()
  }

  #takeTurn(): void {
    // Node destroys no request whose response has finished, so that its `close` never comes where the client has gone.
    for (const request of this.#waiting) if (request.socket.destroyed) this.#waiting.delete(request)
    for (const request of [...this.#waiting].slice(0, listenerLimits.discardPiecesMax)) {
      this.#waiting.delete(request)
      this.#waiting.add(request)
      request.resume()
    }
    if (this.#waiting.size > 0) return
    clearInterval(this.#turns)
    this.#turns = undefined
  }
}
