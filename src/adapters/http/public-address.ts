import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

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
