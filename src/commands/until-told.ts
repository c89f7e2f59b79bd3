import { exitCodes } from './report.ts'

const longMs = 2 ** 31 - 1

/** Resolves at SIGINT or SIGTERM, and keeps the process alive until then; a second signal ends it at once. */
export const untilTold = (): Promise<void> =>
  new Promise((resolve) => {
    const alive = setInterval(() => {}, longMs)
    let signals = 0
    const onSignal = (): void => {
      signals += 1
      if (signals > 1) process.exit(exitCodes.endedAtOnce)
      clearInterval(alive)
      resolve()
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
