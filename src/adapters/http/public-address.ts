import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

const v4InV6 = 12

/** Well-known NAT64: networks without IPv4 reach it there. The prefix for local use leads into somebody's own network. */
const isNat64 = ([first, second, ...rest]: readonly number[]): boolean =>
  first === 0x64 && second === 0xff9b && rest.slice(0, 4).every((part) => part === 0)

/** All that is given out to the public; what lies beside it is special or not assigned yet. */
const isGlobal = ([first = 0]: readonly number[]): boolean => first >>> 13 === 0b001

/** In every machine of a large cloud it leads to the host below. */
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
 * True for an address of one host on the public internet: not of this host, its networks, a provider's, or of a test or document, and not
 * another address in which such a one is wrapped. False for what is no address.
 */
export const isPublicAddress = (text: string): boolean => {
  if (isIP(text) === 0) return false // The library reads `1.2.3` too.
  const address = ipaddr.parse(text)
  return address instanceof ipaddr.IPv6 ? isPublicV6(address) : isPublicV4(address)
}
