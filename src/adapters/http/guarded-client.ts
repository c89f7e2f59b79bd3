import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent } from 'undici'
import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse } from '../../providers/http.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { Exchange } from './exchange.ts'
import { type HostLookup, lookUpByDns, lookUpBySystem } from './host-lookup.ts'
import { httpClientLimits } from './limits.ts'
import { isPublicAddress } from './public-address.ts'

export interface GuardedClientOptions {
  readonly allowPrivateAddresses: boolean
  readonly lookUp?: HostLookup
}

const refused = (why: string): HttpFault => new HttpFault('refused', new Error(why))

/** One non-public address is enough to refuse: a legitimate name has none. */
const assertPublic = (addresses: readonly LookupAddress[]): void => {
  if (!addresses.every(({ address }) => isPublicAddress(address))) throw refused('an address that is not public')
}

/** Connects to the very addresses that are checked here: a second lookup could return others. */
const guardedLookup =
  (lookUp: HostLookup, check: typeof assertPublic): LookupFunction =>
  (host, { all = false }, callback) => {
    const look = async (): Promise<readonly [LookupAddress, ...LookupAddress[]]> => {
      const [first, ...others] = await lookUp(host)
      if (first === undefined) throw new Error(`no address of ${host}`)
      check([first, ...others])
      return [first, ...others]
    }
    look().then(
      ([first, ...others]) => (all ? callback(null, [first, ...others]) : callback(null, first.address, first.family)),
      (fault: Error) => callback(fault, ''),
    )
  }

const boundedBody = async function* (response: HttpResponse): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of response.body) {
    yield chunk
    bytes += chunk.byteLength
    if (bytes >= httpClientLimits.callbackAnswerBytesMax) return
  }
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

/** For URLs of customers: public addresses only, else HttpFault `refused`; no redirects, no kept connections. */
export class GuardedClient implements HttpClient {
  readonly #agent: Agent
  readonly #check: typeof assertPublic

  constructor({ allowPrivateAddresses, lookUp }: GuardedClientOptions) {
    this.#check = allowPrivateAddresses ? () => undefined : assertPublic
    const lookup = guardedLookup(lookUp ?? (allowPrivateAddresses ? lookUpBySystem : lookUpByDns), this.#check)
    this.#agent = new Agent({
      connections: sharedLimits.callbacksMax,
      pipelining: 0, // A connection for each request.
      allowH2: false,
      connect: { timeout: httpClientLimits.upstreamConnectMs, lookup },
      headersTimeout: 0, // `Exchange` has its own timeouts.
      bodyTimeout: 0,
    })
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    const url = this.#parseAllowed(request.url)
    const exchange = new Exchange(request)
    this.#agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        headers: { ...request.headers, 'accept-encoding': 'identity' },
        body: request.body ?? null,
      },
      exchange,
    )
    const response = await exchange.head
    return { ...response, body: boundedBody(response) }
  }

  async stop(): Promise<void> {
    await this.#agent.destroy()
  }

  /** An IP address as host is not looked up, so it is checked here; the URL parser normalizes all its spellings. */
  #parseAllowed(text: string): URL {
    const url = URL.parse(text)
    if (url === null || !['http:', 'https:'].includes(url.protocol)) throw refused('not an http:// or https:// URL')
    const host = hostOf(url)
    const family = isIP(host)
    if (family !== 0) this.#check([{ address: host, family }])
    return url
  }
}
