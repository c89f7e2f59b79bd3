import cliProgress from 'cli-progress'

const redrawMs = 100

/** A bar on the terminal with rate and time left; nothing where standard error is no terminal. */
class Progress {
  readonly #bar: cliProgress.SingleBar
  #startedMs = 0
  #startedAt = 0
  #drawnMs = 0

  constructor(what: string) {
    this.#bar = new cliProgress.SingleBar(
      {
        format: `${what} [{bar}] {percentage} % | frame {value} of {total} | {rate} frames/s | {eta_formatted} left`,
        stream: process.stderr,
        clearOnComplete: true,
      },
      cliProgress.Presets.legacy,
    )
  }

  /** May be called for every frame: it is drawn a few times a second. */
  update(sequence: number, lastSequence: number): void {
    const nowMs = performance.now()
    if (nowMs - this.#drawnMs < redrawMs && sequence < lastSequence) return
    if (this.#drawnMs === 0) this.#start(sequence, lastSequence, nowMs)
    this.#drawnMs = nowMs
    const seconds = (nowMs - this.#startedMs) / 1_000
    const rate = seconds === 0 ? 0 : Math.round((sequence - this.#startedAt) / seconds)
    this.#bar.setTotal(lastSequence)
    this.#bar.update(sequence, { rate })
  }

  stop(): void {
    if (this.#drawnMs > 0) this.#bar.stop()
  }

  #start(sequence: number, lastSequence: number, nowMs: number): void {
    this.#startedMs = nowMs
    this.#startedAt = sequence
    this.#bar.start(lastSequence, sequence, { rate: 0 })
  }
}

type OnProgress = (sequence: number, lastSequence: number) => void

/** `end` removes the bar before the work is over. */
export const withProgress = async <T>(
  what: string,
  work: (onProgress: OnProgress, end: () => void) => Promise<T>,
): Promise<T> => {
  const progress = new Progress(what)
  try {
    return await work(
      (sequence, last) => progress.update(sequence, last),
      () => progress.stop(),
    )
  } finally {
    progress.stop()
  }
}
