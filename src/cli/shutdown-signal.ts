import { cliLimits } from './command-limits.ts'
import { exitCodes } from './report.ts'

const longMs = 2 ** 31 - 1

/** npm exec passes a signal on to its shell alone, which ends of it: here that is the signal. */
const isRunByNpx = (): boolean => process.env['npm_lifecycle_event'] === 'npx'

/**
 * Call it before anything is started that must be stopped again. The returned function keeps the process alive until
 * the first signal. A second ends the process at once, unless it follows within `signalEchoMs`.
 */
export const onShutdownSignal = (
  onFirstSignal = (): void => {},
  nowMs = (): number => performance.now(),
): (() => Promise<void>) => {
  const parent = process.ppid
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
    const watchParent = (): void => {
      if (process.ppid !== parent) onSignal()
    }
    const alive = isRunByNpx() ? setInterval(watchParent, cliLimits.parentPollMs) : setInterval(() => {}, longMs)
    await firstSignal.promise
    clearInterval(alive)
  }
}
