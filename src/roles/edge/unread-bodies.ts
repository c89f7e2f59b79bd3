import type { IncomingMessage, Server } from 'node:http'
import { edgeLimits } from './limits.ts'

/**
 * Throws away what still comes of a body once its request is answered: a connection that is closed under a client that sends takes the
 * answer with it. Node would read as fast as it comes, and a few large bodies take all the time of the process; here all of them together
 * get so many pieces a turn, and the rest waits at its sender.
 */
export class UnreadBodies {
  /** Whoever has waited longest for a piece comes first. */
  readonly #waiting = new Set<IncomingMessage>()
  #turns: NodeJS.Timeout | undefined

  constructor(server: Server) {
    server.prependListener('request', (request, response) => {
      response.prependListener('finish', () => {
        if (!request.complete) this.#discard(request)
      })
    })
  }

  /** Ends the connections of those that have not come to their end. */
  close(): void {
    for (const request of this.#waiting) request.destroy()
  }

  #discard(request: IncomingMessage): void {
    const [longest] = this.#waiting
    if (longest !== undefined && this.#waiting.size >= edgeLimits.discardsMax) longest.destroy()
    this.#waiting.add(request)
    request.pause().on('data', () => request.pause())
    request.once('close', () => this.#waiting.delete(request))
    request.read(0) // Node takes over what was never read.
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
