import { cliLimits } from './command-limits.ts'
import { exitCodes } from './report.ts'

const longMs = 2 ** 31 - 1

/**
 * Call it before anything is started that must be stopped again. The returned function keeps the process alive until
 * the first signal. A second ends the process at once, unless it follows within `signalEchoMs`.
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
