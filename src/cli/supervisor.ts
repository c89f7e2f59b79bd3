import { fork } from 'node:child_process'
import cluster from 'node:cluster'
import type { ServedRole } from '../roles/role.ts'
import { cliLimits } from './command-limits.ts'
import { processFlags } from './process-flags.ts'
import { ProcessPlace } from './process-place.ts'
import type { Runtime } from './runtime.ts'
import { SupervisedProcess } from './supervised-process.ts'
import type { Configured, FileTexts, ProcessStarted } from './supervisor-messages.ts'

export const backgroundName = 'background'

interface SupervisorParts {
  readonly workers: number
  /** The arguments after the program's file with which a process of that role is started. */
  readonly argumentsFor: (role: ServedRole) => readonly string[]
  /** What a process starts with, whatever its files are by then; another object where another one is in force. */
  readonly configured: () => Configured
  readonly onStarted: (process: SupervisedProcess) => void
  readonly stopMs: number
  readonly runtime: Pick<Runtime, 'logger'>
}

const programFile = process.argv[1] as string

/**
 * Keeps workers, which share the listening socket, and one background process running. Each worker accepts by itself:
 * handing connections over costs a message each.
 */
export class Supervisor {
  readonly #parts: SupervisorParts
  readonly #places = new Map<string, ProcessPlace>()
  readonly #running = new Set<SupervisedProcess>()
  readonly #endedWriters = new Set<string>()
  readonly #prepared = new Set<SupervisedProcess>()
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

  /** Rejects where a process that serves cannot change to the configuration of these files. */
  async prepareReload(files: FileTexts): Promise<void> {
    this.#prepared.clear()
    for (const process of this.processes.filter(({ isServing }) => isServing)) {
      await process.prepareReload(files)
      this.#prepared.add(process)
    }
  }

  commitReload(): void {
    for (const place of this.#places.values()) place.commitReload(this.#prepared)
  }

  /** The workers first, so that what they append last is sealed and projected. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const [background = [], workers = []] = [true, false].map((isBackground) =>
      [...this.#running].filter(({ name }) => (name === backgroundName) === isBackground),
    )
    for (const group of [workers, background])
      await Promise.all(group.map((process) => process.stop(this.#parts.stopMs)))
  }

  #open(name: string, fork: () => SupervisedProcess): Promise<ProcessStarted> {
    const { configured, stopMs, runtime } = this.#parts
    const place = new ProcessPlace({
      ...{ name, fork, configured, stopMs, logger: runtime.logger },
      isStopping: () => this.#isStopping,
      onStarting: (process) => this.#running.add(process),
      onStarted: (process) => this.#onStarted(process),
      onEnded: (process) => {
        this.#running.delete(process)
        this.#onEnded(process)
      },
    })
    this.#places.set(name, place)
    return place.current.started
  }

  #forkWorker(name: string): SupervisedProcess {
    const execArgv = processFlags(process.execArgv, this.#parts.workers)
    cluster.setupPrimary({ exec: programFile, execArgv, args: [...this.#parts.argumentsFor('worker')] })
    const worker = cluster.fork()
    worker.on('error', () => undefined) // Reported by its process too; without a listener here it would end the supervisor.
    return new SupervisedProcess(name, worker.process, this.#parts.configured())
  }

  #forkBackground(): SupervisedProcess {
    const execArgv = processFlags(process.execArgv, null)
    const args = [...this.#parts.argumentsFor('background')]
    return new SupervisedProcess(backgroundName, fork(programFile, args, { execArgv }), this.#parts.configured())
  }

  #onStarted(process: SupervisedProcess): void {
    this.#parts.onStarted(process)
    if (process.name !== backgroundName) return
    for (const writer of this.#endedWriters) process.send({ type: 'writer_ended', writer })
  }

  /** The money that a worker held is released at once, not at its deadline. */
  #onEnded({ name, writer }: SupervisedProcess): void {
    if (writer === null || name === backgroundName) return
    this.#endedWriters.add(writer)
    const [oldest] = this.#endedWriters
    if (this.#endedWriters.size > cliLimits.endedWritersMax && oldest !== undefined) this.#endedWriters.delete(oldest)
    this.#places.get(backgroundName)?.current.send({ type: 'writer_ended', writer })
  }

  async #restartEach(): Promise<void> {
    const startedMs = performance.now()
    for (const place of [...this.#places.values()].reverse()) if (!(await place.renew()) || this.#isStopping) return
    this.#parts.runtime.logger.log('supervisor.restarted', { ms: Math.round(performance.now() - startedMs) })
  }
}
