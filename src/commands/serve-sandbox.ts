import { startSandbox } from '../sandbox/server.ts'
import type { Runtime } from './runtime.ts'
import { listenForStop } from './until-told.ts'

/** Runs the sandbox provider until SIGINT or SIGTERM. */
export const serveSandbox = async (port: number, runtime: Runtime): Promise<void> => {
  const untilTold = listenForStop()
  const sandbox = await startSandbox({ port, ...runtime })
  console.log(`The sandbox provider answers at ${sandbox.url}`)
  await untilTold()
  await sandbox.stop()
}
