const longestSleepMs = 3_600_000 // A timer above 2^31 ms would fire at once.

/** A sleep that can be ended early, one at a time. */
export class Sleeper {
  #wake: (() => void) | null = null

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#wake = null
        resolve()
      }
      const timer = setTimeout(wake, Math.max(0, Math.min(longestSleepMs, Math.ceil(ms))))
      this.#wake = wake
    })
  }

  wake(): void {
    this.#wake?.()
  }
}
