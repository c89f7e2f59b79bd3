import { sandboxVideoKey } from '../../../sandbox/server.ts'
import { type Installation, installWith } from '../installation.ts'
import { videoPrices } from './price.ts'

/** A data folder with the sandbox's vendor as the only provider; written anew, with other bounds on what is asked of it, where it stands. */
export const installVideo = (dataFolder: string, vendorUrl: string, callsPerSecond: number): Installation => {
  const vv = { dialect: 'vv-video', base_url: vendorUrl, api_key: sandboxVideoKey, calls_per_second: callsPerSecond }
  return installWith(dataFolder, { providers: { vv } }, videoPrices)
}

const greeting = /answers at (http:\/\/\S+)\/v1/

/** The whole gateway in one process; it stops with the stack. */
export const startWhole = async (installation: Installation, stack: AsyncDisposableStack) => {
  const { pid, says, stop } = stack.adopt(installation.start('serve'), (each) => each.stop())
  const [, url] = await says(greeting)
  return { ...installation, pids: { gateway: pid }, url: url!, key: '', stop }
}
