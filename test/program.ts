import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const mainFile = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const outputBytesMax = 64 * 1024 * 1024

/** What the program would find outside a test: the test runner's loader costs each start half a second of CPU. */
export const programEnvironment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => {
  const { NODE_OPTIONS: _ofTheRunner, ...environment } = process.env
  return { ...environment, ...more }
}

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command of the program to its end, on the servers of a data folder. */
export const runProgram = (folder: string, dataFolder: string, ...words: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { cwd: folder, env: programEnvironment({ NO_COLOR: '1' }), maxBuffer: outputBytesMax }
    execFile(process.execPath, [mainFile, ...words, '--data', dataFolder], options, (fault, out, err) =>
      resolve({ code: typeof fault?.code === 'number' ? fault.code : 0, out, err }),
    )
  })
