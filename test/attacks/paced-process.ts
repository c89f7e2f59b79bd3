import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { cpuMicros } from '../bench/procfs.ts'
import { programEnvironment } from '../support/program.ts'

const lookMs = 10
/** What it may have used ahead of its share: less than the shortest attack would notice. */
const aheadMs = 20

/** A process that is stopped whenever it has used more than its share of a core, and continued once it has not. */
export class PacedProcess {
  readonly #child: ChildProcess
  readonly #share: number

  private constructor(child: ChildProcess, share: number) {
    this.#child = child
    this.#share = share
  }

  /** What its start takes is not counted. */
  static async start(script: URL, share: number): Promise<PacedProcess> {
    const child = fork(fileURLToPath(script), { execArgv: [], env: programEnvironment() })
    await once(child, 'message')
    return new PacedProcess(child, share)
  }

  /** Sends one question and resolves with its answer. Rejects where the system does not report the CPU time of a process. */
  async ask<Answer>(question: object): Promise<Answer> {
    const answered = once(this.#child, 'message')
    const pacing = this.#pace()
    this.#child.send(question)
    try {
      const [answer] = await Promise.race([answered, once(this.#child, 'exit').then(() => [new Error('it ended')])])
      if (answer instanceof Error) throw answer
      return answer as Answer
    } finally {
      clearInterval(pacing)
      this.#child.kill('SIGCONT')
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  #pace(): NodeJS.Timeout {
    const pid = this.#child.pid!
    const began = { ms: performance.now(), micros: cpuMicros(pid) }
    if (began.micros === null) throw new Error('the CPU time of a process is not known here')
    const { ms, micros } = began
    let isStopped = false
    return setInterval(() => {
      const usedMs = ((cpuMicros(pid) ?? micros) - micros) / 1_000
      const isBeyond = usedMs > this.#share * (performance.now() - ms) + aheadMs
      if (isBeyond === isStopped) return
      isStopped = isBeyond
      this.#child.kill(isStopped ? 'SIGSTOP' : 'SIGCONT')
    }, lookMs)
  }
}
