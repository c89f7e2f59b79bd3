import { exitCodes } from './report.ts'

const longMs = 2 ** 31 - 1

/**
 * Listens for SIGINT and SIGTERM from now on: before anything is started that must be stopped again. `onTold` is called at the first of
 * them; what is returned resolves then, and keeps the process alive until then. A second ends the process at once.
 */
export const listenForStop = (onTold = (): void => {}): (() => Promise<void>) => {
  const told = Promise.withResolvers<void>()
  let signals = 0
  const onSignal = (): void => {
    signals += 1
    if (signals > 1) process.exit(exitCodes.endedAtOnce)
    onTold()
    told.resolve()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return async () => {
    const alive = setInterval(() => {}, longMs)
    await told.promise
    clearInterval(alive)
  }
}
