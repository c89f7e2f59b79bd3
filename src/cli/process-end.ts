import type { Config } from '../config/config.ts'
import { cliLimits } from './command-limits.ts'
import { exitCodes } from './report.ts'
import type { Runtime } from './runtime.ts'

type StopTimes = Pick<Config, 'withdrawMs' | 'drainMs'>

export const stopMsOf = ({ withdrawMs, drainMs }: StopTimes): number => withdrawMs + 3 * drainMs + cliLimits.shutdownMs

export const killMsOf = (times: StopTimes): number => stopMsOf(times) + cliLimits.killLateMs

export const forceExitAfter = (lastMs: number, { logger }: Pick<Runtime, 'logger'>): void => {
  logger.log('process.stopping', {})
  setTimeout(() => {
    logger.log('process.stop_timed_out', { afterMs: lastMs })
    process.exit(exitCodes.failed)
  }, lastMs).unref()
}

export const createFatalExit =
  ({ logger }: Pick<Runtime, 'logger'>) =>
  (fault: Error): never => {
    logger.log('process.fatal', { fault })
    process.exit(exitCodes.failed)
  }
