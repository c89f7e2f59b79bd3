import { creditPayer, type Gateway, type Installation } from './installation.ts'

/** The greeting is there once the gateway answers; the demo workspace is the payer. */
const greeting = /answers at (http:\/\/\S+)\/v1.*Demo key: (sk-\S+)/s

/** Starts `gateway serve` on embedded servers in a folder of their own, with credit for the whole run. */
export const startGateway = async ({ dataFolder, command, start }: Installation): Promise<Gateway> => {
  const { pid, says, stop } = start('serve')
  try {
    const [, url, key] = await says(greeting)
    await creditPayer({ command })
    return { pids: { gateway: pid }, url: url!, key: key!, dataFolder, command, stop }
  } catch (fault) {
    await stop()
    throw fault
  }
}
