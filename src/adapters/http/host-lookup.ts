import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { httpClientLimits } from './limits.ts'

/** Rejects where the host has no address. */
export type HostLookup = (host: string) => Promise<readonly LookupAddress[]>

/** Uses the hosts file and search domains, as other programs on this machine do. */
export const lookUpBySystem: HostLookup = (host) => lookup(host, { all: true })

const addressesOf = (found: PromiseSettledResult<readonly string[]>, family: number): readonly LookupAddress[] =>
  found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : []

/** Name servers only: a customer's slow one must not occupy the few threads that system lookups share. */
export const lookUpByDns: HostLookup = async (host) => {
  const resolver = new Resolver({ timeout: httpClientLimits.callbackLookupMs, tries: 2 })
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)]
  if (addresses.length === 0) throw v4.status === 'rejected' ? v4.reason : new Error(`no address of ${host}`)
  return addresses
}
