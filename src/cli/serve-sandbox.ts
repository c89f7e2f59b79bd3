import { startSandbox } from '../../sandbox/server.ts'
import type { Runtime } from './runtime.ts'
import { onShutdownSignal } from './shutdown-signal.ts'

export const serveSandbox = async (port: number, runtime: Runtime): Promise<void> => {
  const untilShutdown = onShutdownSignal()
  const sandbox = await startSandbox({ port, ...runtime })
  console.log(`The sandbox provider answers at ${sandbox.url}`)
  await untilShutdown()
  await sandbox.stop()
}
