import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that the system gives to connections: while a server is stopped, none of these takes its port. */
const portMin = 10_000
const portMax = 32_000

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  await once(server.close(), 'close')
  return true
}

/** Ports of the loopback interface, for servers that are stopped and started again on them. */
export const pickServerPorts = async (count: number): Promise<readonly number[]> => {
  const picked = new Set<number>()
  while (picked.size < count) {
    const port = randomInt(portMin, portMax)
    if (await isFree(port)) picked.add(port)
  }
  return [...picked]
}
