/** Settles as the promise does, or, when that takes longer than `timeoutMs`, rejects with what `late` makes. */
export const within = async <T>(promise: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}
