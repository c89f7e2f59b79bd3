/** What every bench does around its measuring. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where it works, and the file that it writes what it found to, where it is to. */
export const placeOptions = { folder: { type: 'string', default: tmpdir() }, json: { type: 'string' } } as const

/** Throws on what is not a number above zero. */
export const numberOf = (text: string): number => {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`not a number above zero: ${text}`)
  return value
}

export const progress = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

/** A folder that goes with the stack. */
export const temporaryFolder = async (parent: string, stack: AsyncDisposableStack): Promise<string> =>
  stack.adopt(await mkdtemp(join(parent, 'gateway-bench-')), (folder) => rm(folder, { recursive: true, force: true }))

const interrupted = (): Promise<never> =>
  new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Error(`ended by ${signal}`)))
  })

/** Whatever ends it, all that was started is stopped. */
export const runToEnd = async <Found>(measure: (stack: AsyncDisposableStack) => Promise<Found>): Promise<Found> => {
  await using stack = new AsyncDisposableStack()
  return await Promise.race([measure(stack), interrupted()])
}

export const writeJson = (file: string, report: object): Promise<void> =>
  writeFile(file, `${JSON.stringify(report, null, 2)}\n`)
