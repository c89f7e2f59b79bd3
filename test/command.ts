import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const mainFile = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const outputBytesMax = 64 * 1024 * 1024

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command of the program to its end, on the servers of a data folder. */
export const runCommand = (dataFolder: string, ...words: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { cwd: dataFolder, env: { ...process.env, NO_COLOR: '1' }, maxBuffer: outputBytesMax }
    execFile(process.execPath, [mainFile, ...words, '--data', dataFolder], options, (fault, out, err) =>
      resolve({ code: typeof fault?.code === 'number' ? fault.code : 0, out, err }),
    )
  })
