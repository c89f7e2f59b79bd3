import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Agent } from 'undici'
import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse } from '../../providers/http.ts'
import { isCallablePort } from '../../runtime/callback-ports.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { exchange, urlTarget } from './client.ts'
import { httpClientLimits } from './limits.ts'

const v4InV6 = 12

/** Well-known NAT64, by which networks without IPv4 reach it. The prefix for local use leads into private networks. */
const isNat64 = ([first, second, ...rest]: readonly number[]): boolean =>
  first === 0x64 && second === 0xff9b && rest.slice(0, 4).every((part) => part === 0)

/** 2000::/3; all other ranges are special or unassigned. */
const isGlobal = ([first = 0]: readonly number[]): boolean => first >>> 13 === 0b001

/** On every Azure machine it leads to the host below. */
const hostOfAzure = '168.63.129.16'

const isPublicV4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && address.toString() !== hostOfAzure

const isPublicV6 = (address: ipaddr.IPv6): boolean => {
  const { parts } = address
  if (isNat64(parts)) return isPublicV4(new ipaddr.IPv4(address.toByteArray().slice(v4InV6)))
  if (address.isIPv4MappedAddress()) return isPublicV4(address.toIPv4Address())
  return isGlobal(parts) && address.range() === 'unicast'
}

/**
 * True for an address of one host on the public internet: not of this host, a private network, a provider's, a test or
 * documentation, nor an address that embeds one of those. False for text that is no address.
 */
export const isPublicAddress = (text: string): boolean => {
  if (isIP(text) === 0) return false // The library accepts `1.2.3` too.
  const address = ipaddr.parse(text)
  return address instanceof ipaddr.IPv6 ? isPublicV6(address) : isPublicV4(address)
}

/** Rejects where the host has no address. */
type HostLookup = (host: string) => Promise<readonly LookupAddress[]>

/** Uses the hosts file and search domains, as other programs on this machine do. */
const lookUpBySystem: HostLookup = (host) => lookup(host, { all: true })

const addressesOf = (found: PromiseSettledResult<readonly string[]>, family: number): readonly LookupAddress[] =>
  found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : []

/** Name servers only: a customer's slow one must not occupy the few threads that system lookups share. */
const lookUpByDns: HostLookup = async (host) => {
  const resolver = new Resolver({ timeout: httpClientLimits.callbackLookupMs, tries: 2 })
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)]
  if (addresses.length === 0) throw v4.status === 'rejected' ? v4.reason : new Error(`no address of ${host}`)
  return addresses
}

interface GuardedClientOptions {
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

/** For URLs of customers: public addresses and their usual ports only, else HttpFault `refused`; no redirects, no kept connections. */
export class GuardedClient implements HttpClient {
  readonly #agent: Agent
  readonly #check: typeof assertPublic

  constructor({ allowPrivateAddresses, lookUp }: GuardedClientOptions) {
    this.#check = allowPrivateAddresses ? () => undefined : assertPublic
    const guarded = guardedLookup(lookUp ?? (allowPrivateAddresses ? lookUpBySystem : lookUpByDns), this.#check)
    this.#agent = new Agent({
      connections: sharedLimits.callbacksMax,
      pipelining: 0, // A connection for each request.
      allowH2: false,
      connect: { timeout: httpClientLimits.upstreamConnectMs, lookup: guarded },
      headersTimeout: 0, // `Exchange` has its own timeouts.
      bodyTimeout: 0,
    })
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    const url = this.#parseAllowed(request.url)
    const response = await exchange(this.#agent, urlTarget(url), request)
    return { ...response, body: boundedBody(response) }
  }

  async stop(): Promise<void> {
    await this.#agent.destroy()
  }

  /** An IP address as host is not looked up, so it is checked here; the URL parser normalizes all its spellings. */
  #parseAllowed(text: string): URL {
    const url = URL.parse(text)
    if (url === null || !['http:', 'https:'].includes(url.protocol)) throw refused('not an http:// or https:// URL')
    if (!isCallablePort(url)) throw refused('a port below 1024 that is neither 80 nor 443')
    const host = hostOf(url)
    const family = isIP(host)
    if (family !== 0) this.#check([{ address: host, family }])
    return url
  }
}
