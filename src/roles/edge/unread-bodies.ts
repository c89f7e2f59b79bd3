import type { IncomingMessage, Server } from 'node:http'
import { edgeLimits } from './limits.ts'

/**
 * Discards the rest of a body once its request is answered: closing a connection while its client sends would lose the
 * response. Node would read as fast as it comes, and a few large bodies would take all the time of the process; here
 * all of them together get so many pieces a turn, and the rest waits at its sender. A connection that waits is bounded as any
 * other, by the time for a request and the connections of an edge: one that is ended early may carry the client's next request.
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

  /** Ends the connections whose bodies have not ended. */
  close(): void {
    for (const request of this.#waiting) request.destroy()
  }

  #discard(request: IncomingMessage): void {
    this.#waiting.add(request)
    request.pause().on('data', () => request.pause())
    request.once('close', () => this.#waiting.delete(request))
    request.read(0) // Otherwise Node itself drains a body that was never read.
    this.#turns ??= setInterval(() => this.#takeTurn(), edgeLimits.discardTurnMs).unref()
  }

  #takeTurn(): void {
    for (const request of [...this.#waiting].slice(0, edgeLimits.discardPiecesMax)) {
      this.#waiting.delete(request)
      this.#waiting.add(request)
      request.resume()
    }
    if (this.#waiting.size > 0) return
    clearInterval(this.#turns)
    this.#turns = undefined
  }
}
