export const waitAtMost = async (work: Promise<unknown>, timeoutMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs)
  })
  try {
    await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Settles as the promise does, or, when that takes longer than `timeoutMs`, rejects with what `late` makes. What waits in
 * a socket is read before: a blocked event loop makes nothing late.
 */
export const withTimeout = <T>(promise: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(late())), timeoutMs)
    const settling =
      <Outcome>(settle: (outcome: Outcome) => void) =>
      (outcome: Outcome): void => {
        clearTimeout(timer)
        settle(outcome)
      }
    promise.then(settling(resolve), settling(reject))
  })
