import type { Logger } from '../runtime/logger.ts'
import { noRestarts, noteEnd, restartDelayMs } from './restart-delay.ts'
import type { ProcessExit, SupervisedProcess } from './supervised-process.ts'
import type { Configured } from './supervisor-messages.ts'

interface PlaceParts {
  readonly name: string
  readonly fork: () => SupervisedProcess
  readonly configured: () => Configured
  readonly stopMs: number
  readonly isStopping: () => boolean
  readonly onStarting: (process: SupervisedProcess) => void
  readonly onStarted: (process: SupervisedProcess) => void
  readonly onEnded: (process: SupervisedProcess) => void
  readonly logger: Logger
}

export class ProcessPlace {
  readonly #parts: PlaceParts
  #current: SupervisedProcess
  #history = noRestarts

  constructor(parts: PlaceParts) {
    this.#parts = parts
    this.#current = this.#start()
  }

  get current(): SupervisedProcess {
    return this.#current
  }

  commitReload(prepared: ReadonlySet<SupervisedProcess>): void {
    if (prepared.has(this.#current)) this.#current.commitReload(this.#parts.configured())
    else if (this.#current.isServing) void this.renew()
  }

  /** The next process serves before the present one stops. False where it cannot start. */
  async renew(): Promise<boolean> {
    const next = await this.#startNext()
    if (next === null) return false
    const before = this.#current
    this.#current = next
    await before.stop(this.#parts.stopMs)
    return true
  }

  #start(): SupervisedProcess {
    const { fork, name, onStarting, onStarted, logger } = this.#parts
    const started = fork()
    const startedMs = performance.now()
    onStarting(started)
    started.started.then(
      () => {
        const ms = Math.round(performance.now() - startedMs)
        logger.log('supervisor.process_started', { process: name, pid: started.pid, ms })
        onStarted(started)
        if (this.#current === started && this.#isOutdated(started)) void this.renew()
      },
      () => undefined,
    )
    void started.exited.then((exit) => this.#onExit(started, exit, performance.now() - startedMs))
    return started
  }

  async #startNext(): Promise<SupervisedProcess | null> {
    const { name, isStopping, stopMs, logger } = this.#parts
    while (!isStopping()) {
      let next: SupervisedProcess | undefined
      try {
        next = this.#start()
        await next.started
      } catch {
        logger.log('supervisor.restart_failed', { process: name, pid: next?.pid })
        return null
      }
      if (!this.#isOutdated(next)) return next
      await next.stop(stopMs)
    }
    return null
  }

  #isOutdated({ configured }: SupervisedProcess): boolean {
    return configured !== this.#parts.configured()
  }

  #onExit(ended: SupervisedProcess, exit: ProcessExit, livedMs: number): void {
    this.#parts.onEnded(ended)
    if (!this.#parts.isStopping() && this.#current === ended) this.#replaceLater(ended.pid, exit, livedMs)
  }

  #replaceLater(pid: number | undefined, { code, signal, fault }: ProcessExit, livedMs: number): void {
    const { name, logger } = this.#parts
    const ended = this.#current
    logger.log('supervisor.process_ended', { process: name, pid, code, signal, fault })
    this.#history = noteEnd(this.#history, livedMs)
    setTimeout(() => this.#replace(ended), restartDelayMs(this.#history)).unref()
  }

  #replace(ended: SupervisedProcess): void {
    if (this.#parts.isStopping() || this.#current !== ended) return
    try {
      this.#current = this.#start()
    } catch (fault) {
      this.#replaceLater(undefined, { code: null, signal: null, fault }, 0)
    }
  }
}
