import { Agent } from 'undici'
import type { HttpClient, HttpRequest, HttpResponse } from '../../providers/http.ts'
import { Exchange } from './exchange.ts'
import { httpClientLimits } from './limits.ts'

/** One pool of kept-alive HTTP/1.1 connections per origin. */
export class UndiciClient implements HttpClient {
  readonly #agent = new Agent({
    connections: httpClientLimits.upstreamConnectionsMax,
    pipelining: 1,
    allowH2: false, // With HTTP/2 one broken connection would fail the calls of others.
    connect: { timeout: httpClientLimits.upstreamConnectMs },
    keepAliveTimeout: httpClientLimits.upstreamKeepAliveMs,
    keepAliveMaxTimeout: httpClientLimits.upstreamKeepAliveMs,
    headersTimeout: 0, // `Exchange` has its own timeouts.
    bodyTimeout: 0,
  })

  request(request: HttpRequest): Promise<HttpResponse> {
    const { origin, pathname, search } = new URL(request.url)
    const exchange = new Exchange(request)
    this.#agent.dispatch(
      {
        origin,
        path: pathname + search,
        method: request.method,
        headers: { ...request.headers, 'accept-encoding': 'identity' },
        body: request.body ?? null,
      },
      exchange,
    )
    return exchange.head
  }

  /** Closes every connection; exchanges under way fail with HttpFault `network`. */
  async stop(): Promise<void> {
    await this.#agent.destroy()
  }
}
