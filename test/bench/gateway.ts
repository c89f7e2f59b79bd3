import { readRecord } from '../../src/embedded/record.ts'
import { creditPayer, type Gateway, type Installation } from './installation.ts'
import { childrenOf } from './procfs.ts'

/** The greeting is there once the gateway answers; the demo workspace is the payer. */
const greeting = /answers at (http:\/\/\S+)\/v1.*Demo key: (sk-\S+)/s

/** The gateway's own process, and those that it has started as its workers. */
const pidsOf = (pid: number, dataFolder: string): Gateway['pids'] => {
  const servers = new Set(readRecord(dataFolder)?.servers.map((server) => server.pid))
  const own = childrenOf(pid).filter((child) => !servers.has(child))
  return Object.fromEntries([['gateway', pid], ...own.map((child, index) => [`process ${index + 1}`, child])])
}

/** Starts `gateway serve` on embedded servers in a folder of their own, with credit for the whole run. */
export const startGateway = async (
  { dataFolder, command, start }: Installation,
  ...words: readonly string[]
): Promise<Gateway> => {
  const { pid, says, stop } = start('serve', ...words)
  try {
    const [, url, key] = await says(greeting)
    await creditPayer({ command })
    return { pids: pidsOf(pid, dataFolder), url: url!, key: key!, dataFolder, command, stop }
  } catch (fault) {
    await stop()
    throw fault
  }
}
