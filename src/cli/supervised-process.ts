import type { ChildProcess } from 'node:child_process'
import { withTimeout } from '../runtime/within.ts'
import { cliLimits } from './command-limits.ts'
import type {
  Configured,
  FileTexts,
  ProcessMessage,
  ProcessObserved,
  ProcessStarted,
  SupervisorMessage,
} from './supervisor-messages.ts'

export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly fault?: unknown
}

type Answer = Exclude<ProcessMessage, ProcessStarted>

export class SupervisedProcess {
  readonly name: string
  /** Rejects where the process ends before. */
  readonly started: Promise<ProcessStarted>
  readonly exited: Promise<ProcessExit>
  writer: string | null = null
  readonly #child: ChildProcess
  readonly #answers = new Map<number, (answer: Answer) => void>()
  #configured: Configured
  #hasEnded = false
  #lastId = 0

  constructor(name: string, child: ChildProcess, configured: Configured) {
    this.name = name
    this.#child = child
    this.#configured = configured
    const started = Promise.withResolvers<ProcessStarted>()
    const exited = Promise.withResolvers<ProcessExit>()
    this.started = started.promise
    this.exited = exited.promise
    this.started.catch(() => undefined) // Its readers may come later.
    const end = (exit: ProcessExit): void => {
      this.#hasEnded = true
      exited.resolve(exit)
      started.reject(new Error(`${name} ended before it had started`))
    }
    child.on('message', (message: ProcessMessage) => {
      if (message.type === 'started') {
        this.writer = message.writer
        started.resolve(message)
      } else this.#answers.get(message.id)?.(message)
    })
    child.on('error', (fault) => {
      if (child.pid === undefined) end({ code: null, signal: null, fault })
    })
    child.on('exit', (code, signal) => end({ code, signal }))
    this.send(configured)
  }

  /** What it was started with, or has changed to. */
  get configured(): Configured {
    return this.#configured
  }

  get isServing(): boolean {
    return this.writer !== null && !this.#hasEnded
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(message: SupervisorMessage): void {
    if (this.#child.connected) this.#child.send(message, () => undefined) // One that has ended needs none.
  }

  /** Metrics and health. Rejects where no answer comes in time. */
  async observe(): Promise<ProcessObserved> {
    return (await this.#ask((id) => ({ type: 'observe', id }))) as ProcessObserved
  }

  async prepareReload(files: FileTexts): Promise<void> {
    const answer = await this.#ask((id) => ({ type: 'reload_prepare', id, files }))
    if (answer.type === 'reload_prepared' && answer.fault !== null) throw new Error(`${this.name}: ${answer.fault}`)
  }

  commitReload(configured: Configured): void {
    this.#configured = configured
    this.send({ type: 'reload_commit' })
  }

  async #ask(createMessage: (id: number) => SupervisorMessage): Promise<Answer> {
    this.#lastId += 1
    const id = this.#lastId
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#answers.set(id, resolve)
    this.send(createMessage(id))
    try {
      return await withTimeout(promise, cliLimits.observeMs, () => new Error(`${this.name} does not answer`))
    } finally {
      this.#answers.delete(id)
    }
  }

  /** Kills it after `withinMs`: a process whose event loop is blocked does not end itself. */
  async stop(withinMs: number): Promise<ProcessExit> {
    // Before it is started, as it stops after that alone: a worker of `node:cluster` drops what comes while nothing listens.
    void this.started.then(
      () => this.send({ type: 'stop' }),
      () => undefined,
    )
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), withinMs)
    try {
      return await this.exited
    } finally {
      clearTimeout(kill)
    }
  }
}
