import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { httpClientLimits } from './limits.ts'

/** All addresses of a host; rejects when it has none. */
export type HostLookup = (host: string) => Promise<readonly LookupAddress[]>

/** As every other program of this machine does: with its hosts file, its search domains. */
export const lookUpBySystem: HostLookup = (host) => lookup(host, { all: true })

const addressesOf = (found: PromiseSettledResult<readonly string[]>, family: number): readonly LookupAddress[] =>
  found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : []

/** By name servers alone. It takes no thread of the few that all lookups share, which a slow name server of a stranger would keep. */
export const lookUpByDns: HostLookup = async (host) => {
  const resolver = new Resolver({ timeout: httpClientLimits.callbackLookupMs, tries: 2 })
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)]
  if (addresses.length === 0) throw v4.status === 'rejected' ? v4.reason : new Error(`no address of ${host}`)
  return addresses
}
