import { fork } from 'node:child_process'
import cluster from 'node:cluster'
import type { ServedRole } from '../roles/role.ts'
import { cliLimits } from './command-limits.ts'
import { newGenerationMegabytes, processFlags } from './process-flags.ts'
import { noRestarts, noteEnd, restartDelayMs } from './restart-delay.ts'
import type { Runtime } from './runtime.ts'
import { type ProcessExit, SupervisedProcess } from './supervised-process.ts'
import type { ProcessStarted, SupervisorMessage } from './supervisor-messages.ts'

export const backgroundName = 'background'

interface SupervisorParts {
  readonly workers: number
  /** The arguments after the program's file with which a process of that role is started. */
  readonly argumentsFor: (role: ServedRole) => readonly string[]
  /** What a process is sent before it starts, so that files that cannot be used by then keep none from starting. */
  readonly configured: () => SupervisorMessage
  readonly onStarted: (process: SupervisedProcess) => void
  readonly runtime: Pick<Runtime, 'logger'>
}

interface Place {
  readonly name: string
  readonly start: () => SupervisedProcess
  current: SupervisedProcess
  history: typeof noRestarts
}

const programFile = process.argv[1] as string

/**
 * Keeps workers, which share the listening socket, and one background process running. Each worker accepts by itself:
 * handing connections over costs a message each.
 */
export class Supervisor {
  readonly #parts: SupervisorParts
  readonly #places = new Map<string, Place>()
  /** Those that are being replaced too. */
  readonly #running = new Set<SupervisedProcess>()
  readonly #endedWriters = new Set<string>()
  #isStopping = false
  #restarting: Promise<void> | null = null

  constructor(parts: SupervisorParts) {
    this.#parts = parts
    cluster.schedulingPolicy = cluster.SCHED_NONE
  }

  get processes(): readonly SupervisedProcess[] {
    return Array.from(this.#places.values(), ({ current }) => current)
  }

  /** Resolves when every process has started; rejects where one ends before. */
  async start(): Promise<{ readonly background: ProcessStarted; readonly worker: ProcessStarted }> {
    const background = await this.#open(backgroundName, () => this.#forkBackground())
    const names = Array.from({ length: this.#parts.workers }, (_, index) => `worker-${index + 1}`)
    const [worker] = await Promise.all(names.map((name) => this.#open(name, () => this.#forkWorker(name))))
    return { background, worker: worker as ProcessStarted }
  }

  /** Replaces one process after the other; what cannot start leaves its predecessor as it is. */
  restart(): Promise<void> {
    this.#restarting ??= this.#restartEach().finally(() => {
      this.#restarting = null
    })
    return this.#restarting
  }

  /** The workers first, so that what they append last is sealed and projected. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const [background = [], workers = []] = [true, false].map((isBackground) =>
      [...this.#running].filter(({ name }) => (name === backgroundName) === isBackground),
    )
    await Promise.all(workers.map((worker) => worker.stop()))
    await Promise.all(background.map((process) => process.stop()))
  }

  async #open(name: string, start: () => SupervisedProcess): Promise<ProcessStarted> {
    const place: Place = { name, start, current: start(), history: noRestarts }
    this.#places.set(name, place)
    this.#watch(place, place.current)
    return place.current.started
  }

  #forkWorker(name: string): SupervisedProcess {
    const execArgv = processFlags(process.execArgv, newGenerationMegabytes / this.#parts.workers)
    cluster.setupPrimary({ exec: programFile, execArgv, args: [...this.#parts.argumentsFor('worker')] })
    return new SupervisedProcess(name, cluster.fork().process)
  }

  #forkBackground(): SupervisedProcess {
    const execArgv = processFlags(process.execArgv, 0)
    const args = [...this.#parts.argumentsFor('background')]
    return new SupervisedProcess(backgroundName, fork(programFile, args, { execArgv }))
  }

  #watch(place: Place, watched: SupervisedProcess): void {
    const { logger } = this.#parts.runtime
    const { name } = place
    const startedMs = performance.now()
    this.#running.add(watched)
    watched.send(this.#parts.configured())
    watched.started.then(
      () => {
        this.#parts.onStarted(watched)
        const ms = Math.round(performance.now() - startedMs)
        logger.log('supervisor.process_started', { process: name, pid: watched.pid, ms })
        if (name === backgroundName)
          for (const writer of this.#endedWriters) watched.send({ type: 'writer_ended', writer })
      },
      () => undefined,
    )
    void watched.exited.then((exit) => this.#onExit(place, watched, exit, performance.now() - startedMs))
  }

  #onExit(place: Place, ended: SupervisedProcess, exit: ProcessExit, livedMs: number): void {
    this.#running.delete(ended)
    if (ended.writer !== null && place.name !== backgroundName) this.#noteEndedWriter(ended.writer)
    if (this.#isStopping || place.current !== ended) return
    this.#parts.runtime.logger.log('supervisor.process_ended', { process: place.name, pid: ended.pid, ...exit })
    place.history = noteEnd(place.history, livedMs)
    setTimeout(() => this.#replace(place), restartDelayMs(place.history)).unref()
  }

  #replace(place: Place): void {
    if (this.#isStopping) return
    place.current = place.start()
    this.#watch(place, place.current)
  }

  /** The money that it held is released at once, not at its deadline. */
  #noteEndedWriter(writer: string): void {
    this.#endedWriters.add(writer)
    const [oldest] = this.#endedWriters
    if (this.#endedWriters.size > cliLimits.endedWritersMax && oldest !== undefined) this.#endedWriters.delete(oldest)
    this.#places.get(backgroundName)?.current.send({ type: 'writer_ended', writer })
  }

  async #restartEach(): Promise<void> {
    const startedMs = performance.now()
    for (const place of [...this.#places.values()].reverse()) {
      const before = place.current
      const next = place.start()
      this.#watch(place, next)
      try {
        await next.started
      } catch {
        this.#parts.runtime.logger.log('supervisor.restart_failed', { process: place.name, pid: next.pid })
        return
      }
      // It may have ended meanwhile, and have been replaced.
      const superfluous = place.current === before ? before : next
      if (superfluous === before) place.current = next
      await superfluous.stop()
      if (this.#isStopping) return
    }
    this.#parts.runtime.logger.log('supervisor.restarted', { ms: Math.round(performance.now() - startedMs) })
  }
}
