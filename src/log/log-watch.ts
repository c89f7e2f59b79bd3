import { type Check, checkOf, passing } from '../runtime/health.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { Reading } from '../runtime/observer.ts'
import { Probe } from '../runtime/probe.ts'
import { ClockWatch } from './clock-watch.ts'
import type { EventLog } from './event-log.ts'
import { logLimits } from './limits.ts'

/** The end of the log at an instant of `performance.now()`. */
interface LogEndSample {
  readonly sequence: number
  readonly atMs: number
}

class Lag {
  readonly #position: () => number
  /** Ends of the log that the follower has not reached, the oldest first. */
  readonly #unreached: LogEndSample[] = []

  constructor(position: () => number) {
    this.#position = position
  }

  addSample(sample: LogEndSample): void {
    this.#forgetReached()
    if (sample.sequence > this.#position() && this.#unreached.length < logLimits.lagSamplesMax)
      this.#unreached.push(sample)
  }

  frames(last: number): number {
    return Math.max(0, last - this.#position())
  }

  ms(nowMs: number): number {
    this.#forgetReached()
    const [oldest] = this.#unreached
    return oldest === undefined ? 0 : nowMs - oldest.atMs
  }

  #forgetReached(): void {
    const position = this.#position()
    while (this.#unreached.length > 0 && this.#unreached[0]!.sequence <= position) this.#unreached.shift()
  }
}

export interface WatchedLog extends Pick<EventLog, 'oldestUnacknowledgedMs'> {
  /** With the time of the server's clock in milliseconds since the epoch; null where it is not in the answer. */
  readEnd(): Promise<{ readonly sequence: number; readonly serverTimeMs: number | null }>
  readonly refusal?: string | null
}

/** Whether the log answers this process, whether their clocks agree, and how far its followers here are behind it. */
export class LogWatch {
  readonly #probe: Probe
  readonly #log: WatchedLog
  readonly #clock: ClockWatch
  readonly #lags = new Map<string, Lag>()
  #last = 0

  constructor(
    log: WatchedLog,
    clock: ConstructorParameters<typeof ClockWatch>[0],
    everyMs: number = sharedLimits.probeMs,
  ) {
    this.#log = log
    this.#clock = new ClockWatch(clock)
    this.#probe = new Probe(() => this.#refresh(), everyMs)
  }

  /** `position` returns the sequence of the last frame that the follower has. */
  follow(name: string, position: () => number): void {
    this.#lags.set(name, new Lag(position))
  }

  get check(): Check {
    const { check } = this.#probe
    if (!check.ok) return check
    if (this.#log.oldestUnacknowledgedMs() <= sharedLimits.logStalledMs) return passing
    const { refusal } = this.#log
    const why = refusal === null || refusal === undefined ? '' : `: ${refusal}`
    return { ok: false, reason: `a frame has not been acknowledged for over ${sharedLimits.logStalledMs} ms${why}` }
  }

  get clockCheck(): Check {
    return this.#clock.check
  }

  /** See `ClockWatch`. */
  get isClockTrusted(): boolean {
    return this.#clock.isTrusted
  }

  inStep(name: string, withinMs: number): Check {
    const ms = this.#lags.get(name)?.ms(performance.now()) ?? 0
    return checkOf(ms <= withinMs, `is behind the log for ${Math.round(ms)} ms`)
  }

  readings(): readonly Reading[] {
    const nowMs = performance.now()
    return [
      { name: 'gateway_log_last_sequence', value: this.#last },
      { name: 'gateway_clock_skew_seconds', value: this.#clock.skewSeconds },
      { name: 'gateway_log_unacknowledged_seconds', value: this.#log.oldestUnacknowledgedMs() / 1_000 },
      ...[...this.#lags].flatMap(([follower, lag]): readonly Reading[] => [
        { name: 'gateway_follower_lag_frames', labels: { follower }, value: lag.frames(this.#last) },
        { name: 'gateway_follower_lag_seconds', labels: { follower }, value: lag.ms(nowMs) / 1_000 },
      ]),
    ]
  }

  stop(): Promise<void> {
    return this.#probe.stop()
  }

  async #refresh(): Promise<void> {
    await this.#clock.compare(async () => {
      const { sequence, serverTimeMs } = await this.#log.readEnd()
      this.#noteEnd({ sequence, atMs: performance.now() })
      return serverTimeMs
    })
  }

  #noteEnd(end: LogEndSample): void {
    this.#last = end.sequence
    for (const lag of this.#lags.values()) lag.addSample(end)
  }
}
