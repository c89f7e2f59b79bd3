import { cliLimits } from './command-limits.ts'
import { exitCodes } from './report.ts'

const longMs = 2 ** 31 - 1

/**
 * Listens for SIGINT and SIGTERM from now on: before anything is started that must be stopped again. `onTold` is called at the first of
 * them; what is returned resolves then, and keeps the process alive until then. A second ends the process at once, but for one that
 * follows the first within `signalEchoMs`.
 */
export const onShutdownSignal = (
  onFirstSignal = (): void => {},
  nowMs = (): number => performance.now(),
): (() => Promise<void>) => {
  const firstSignal = Promise.withResolvers<void>()
  let firstSignalMs: number | null = null
  const onSignal = (): void => {
    if (firstSignalMs === null) {
      firstSignalMs = nowMs()
      onFirstSignal()
      firstSignal.resolve()
    } else if (nowMs() - firstSignalMs > cliLimits.signalEchoMs) process.exit(exitCodes.endedAtOnce)
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return async () => {
    const alive = setInterval(() => {}, longMs)
    await firstSignal.promise
    clearInterval(alive)
  }
}
