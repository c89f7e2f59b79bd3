import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { programEnvironment } from '../support/program.ts'

const script = fileURLToPath(new URL('./gateway-process.ts', import.meta.url))

export interface GatewayProcess {
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
  /** The next line of its standard output, parsed; null when it ended. */
  readonly nextLine: <Line>() => Promise<Line | null>
}

/** In a process group of its own, as a shell starts a job: a signal to the group is what Ctrl-C does. */
export const spawnGateway = (command: 'serve' | 'find', dataFolder: string): GatewayProcess => {
  const child = spawn(process.execPath, [script, command, dataFolder], {
    detached: true,
    env: programEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const nextLine = async <Line>(): Promise<Line | null> => {
    const { done, value } = await lines.next()
    return done ? null : (JSON.parse(value) as Line)
  }
  return { child, exited: once(child, 'exit'), nextLine }
}
