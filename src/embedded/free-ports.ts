import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { embeddedLimits } from './limits.ts'

const host = '127.0.0.1'

const listen = async () => {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  return server
}

export const pickPorts = async (count: number): Promise<number[]> => {
  const servers = await Promise.all(Array.from({ length: count }, listen))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

/** Another process bound the port between our choice and the server's bind. */
export class PortTaken extends Error {}

export const withFreshPorts = async <T>(
  attempt: () => Promise<T>,
  attemptsLeft: number = embeddedLimits.embeddedPortsMax,
): Promise<T> => {
  try {
    return await attempt()
  } catch (error) {
    if (!(error instanceof PortTaken) || attemptsLeft <= 1) throw error
    return withFreshPorts(attempt, attemptsLeft - 1)
  }
}
