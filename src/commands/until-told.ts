/** Resolves at SIGINT or SIGTERM; a second signal ends the process at once. */
export const untilTold = (): Promise<void> =>
  new Promise((resolve) => {
    let signals = 0
    const onSignal = (): void => {
      signals += 1
      if (signals > 1) process.exit(1)
      resolve()
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
