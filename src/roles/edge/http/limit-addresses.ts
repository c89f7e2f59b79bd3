import type { Server } from 'node:http'

const groupsOfNetwork = 4
const groupsOfAddress = 8

const groupsIn = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))

/** An IPv4 address as is; of an IPv6 address its /64, which is what one caller usually has. */
export const clientAddressOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [front = '', back = ''] = address.split('::')
  const [before, after] = [groupsIn(front), groupsIn(back)]
  const between = Array.from({ length: groupsOfAddress - before.length - after.length }, () => '0')
  return [...before, ...between, ...after].slice(0, groupsOfNetwork).join(':')
}

/** Closes at once the connections of an address beyond its bound. */
export const limitAddresses = (server: Server, connectionsMax: number): void => {
  const open = new Map<string, number>()
  server.prependListener('connection', (socket) => {
    const caller = clientAddressOf(socket.remoteAddress ?? '')
    const count = (open.get(caller) ?? 0) + 1
    open.set(caller, count)
    socket.once('close', () => {
      const left = (open.get(caller) ?? 1) - 1
      if (left === 0) open.delete(caller)
      else open.set(caller, left)
    })
    if (count > connectionsMax) socket.destroy()
  })
}
