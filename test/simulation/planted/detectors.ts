import { type ChildProcess, fork } from 'node:child_process'
import type { Detection, Order, Running } from './detector.ts'
import { findPlanted } from './plant.ts'

/** A run takes seconds. */
const runMsMax = 180_000
/** Of one process, which keeps in memory what each of them affects. */
const bugsMax = 40
/** Room for garbage; code that runs seldom is compiled the first time. */
const flags = [
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--always-sparkplug',
  '--disable-warning=ExperimentalWarning',
]

interface Detector {
  readonly child: ChildProcess
  readonly bugs: number
}

const start = (): Detector => ({
  child: fork(new URL('detector.ts', import.meta.url), {
    execArgv: flags,
    stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
  }),
  bugs: 0,
})

/** What ends the process, or keeps a run from its end, detects those bugs alone that are said to do so. */
const ask = (child: ChildProcess, order: Order): Promise<Detection> =>
  new Promise((resolve, reject) => {
    let running: number | null = null
    let watch: NodeJS.Timeout | undefined
    const finish = (detection: Detection): void => {
      clearTimeout(watch)
      child.removeAllListeners()
      resolve(detection)
    }
    const onMessage = (message: Running | Detection): void => {
      clearTimeout(watch)
      if (message.type === 'detection') {
        finish(message)
        return
      }
      running = message.seed
      watch = setTimeout(() => child.kill('SIGKILL'), runMsMax)
    }
    child.on('message', (message) => onMessage(message as Running | Detection))
    child.on('exit', (code) => {
      const violation = code === null ? 'the run does not end' : `the process ends with ${code}`
      if (running === null) reject(new Error(`the runs with ${JSON.stringify(order.name)} do not start`))
      else finish({ type: 'detection', seed: findPlanted(order.name).endsRun ? running : null, violation })
    })
    child.send(order)
  })

/** Processes that detect bugs, each one after the other. */
export class Detectors {
  readonly #idle: Detector[] = []

  async detect(order: Order): Promise<Detection> {
    const { child, bugs } = this.#idle.pop() ?? start()
    const detection = await ask(child, order)
    if (child.connected && bugs + 1 < bugsMax) this.#idle.push({ child, bugs: bugs + 1 })
    else if (child.connected) child.disconnect()
    return detection
  }

  close(): void {
    for (const { child } of this.#idle) child.disconnect()
  }
}
