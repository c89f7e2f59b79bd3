interface Waiter {
  readonly sequence: number
  readonly resolve: () => void
  readonly reject: (fault: unknown) => void
}

/** How far the log was read or projected, and who waits for it to be further. */
export class Watermark {
  #sequence: number
  #waiters: readonly Waiter[] = []
  #closed: { readonly fault: unknown } | null = null

  constructor(sequence = 0) {
    this.#sequence = sequence
  }

  get sequence(): number {
    return this.#sequence
  }

  /** Resolves once it is at this sequence or after it; rejects when it is closed before. */
  waitFor(sequence: number): Promise<void> {
    if (this.#sequence >= sequence) return Promise.resolve()
    if (this.#closed !== null) return Promise.reject(this.#closed.fault)
    return new Promise((resolve, reject) => {
      this.#waiters = [...this.#waiters, { sequence, resolve, reject }]
    })
  }

  moveTo(sequence: number): void {
    this.#sequence = sequence
    if (!this.#waiters.some((waiter) => waiter.sequence <= sequence)) return
    const reached = this.#waiters.filter((waiter) => waiter.sequence <= sequence)
    this.#waiters = this.#waiters.filter((waiter) => waiter.sequence > sequence)
    for (const { resolve } of reached) resolve()
  }

  /** It moves no further. */
  close(fault: unknown): void {
    this.#closed = { fault }
    for (const { reject } of this.#waiters) reject(fault)
    this.#waiters = []
  }
}
