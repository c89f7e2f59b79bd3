import type { ChildProcess } from 'node:child_process'
import { withTimeout } from '../runtime/within.ts'
import { cliLimits } from './command-limits.ts'
import type { ProcessMessage, ProcessObserved, ProcessStarted, SupervisorMessage } from './supervisor-messages.ts'

export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export class SupervisedProcess {
  readonly name: string
  /** Rejects where the process ends before. */
  readonly started: Promise<ProcessStarted>
  readonly exited: Promise<ProcessExit>
  writer: string | null = null
  readonly #child: ChildProcess
  readonly #answers = new Map<number, (observed: ProcessObserved) => void>()
  #lastId = 0

  constructor(name: string, child: ChildProcess) {
    this.name = name
    this.#child = child
    const started = Promise.withResolvers<ProcessStarted>()
    const exited = Promise.withResolvers<ProcessExit>()
    this.started = started.promise
    this.exited = exited.promise
    this.started.catch(() => undefined) // Its readers may come later.
    const end = (exit: ProcessExit): void => {
      exited.resolve(exit)
      started.reject(new Error(`${name} ended before it had started`))
    }
    child.on('message', (message: ProcessMessage) => {
      if (message.type === 'started') {
        this.writer = message.writer
        started.resolve(message)
      } else if (message.type === 'observed') this.#answers.get(message.id)?.(message)
    })
    child.on('error', () => {
      if (child.pid === undefined) end({ code: null, signal: null })
    })
    child.on('exit', (code, signal) => end({ code, signal }))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(message: SupervisorMessage): void {
    if (this.#child.connected) this.#child.send(message, () => undefined) // One that has ended needs none.
  }

  /** Metrics and health. Rejects where no answer comes in time. */
  async observe(): Promise<ProcessObserved> {
    this.#lastId += 1
    const id = this.#lastId
    const { promise, resolve } = Promise.withResolvers<ProcessObserved>()
    this.#answers.set(id, resolve)
    this.send({ type: 'observe', id })
    try {
      return await withTimeout(promise, cliLimits.observeMs, () => new Error('no answer'))
    } finally {
      this.#answers.delete(id)
    }
  }

  async stop(): Promise<ProcessExit> {
    this.send({ type: 'stop' })
    return this.exited
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
