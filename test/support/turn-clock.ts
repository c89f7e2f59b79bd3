const tickMs = 10
/** The most of a late tick that counts. */
const countedMsMax = 2 * tickMs

export interface TurnClock {
  /** Milliseconds since it was started in which this process had its turn. */
  elapsedMs(): number
  stop(): void
}

/** For what must happen within a time: on a machine that is busy with others, the time in which they run does not count. */
export const startTurnClock = (): TurnClock => {
  let countedMs = 0
  let lastMs = performance.now()
  const sinceLastMs = (): number => Math.min(performance.now() - lastMs, countedMsMax)
  const timer = setInterval(() => {
    countedMs += sinceLastMs()
    lastMs = performance.now()
  }, tickMs)
  timer.unref()
  return { elapsedMs: () => countedMs + sinceLastMs(), stop: () => clearInterval(timer) }
}

/** How many milliseconds of its turns the process needs for the work. */
export const turnMsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const clock = startTurnClock()
  try {
    await work()
    return clock.elapsedMs()
  } finally {
    clock.stop()
  }
}
