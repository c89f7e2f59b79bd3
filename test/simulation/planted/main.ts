/** Prints for each planted bug the first seed that detects it, and ends with 1 where one is not detected. */
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { plantedBugs } from './bugs.ts'

const seeds = Number(process.env['PLANTED_SEEDS'] || 40)
const actions = 200
/** A bug that keeps a run from its end is detected too. */
const runMsMax = 240_000

interface Detection {
  readonly seed: number | null
  readonly violation: string | null
}

const detect = async (name: string): Promise<Detection> => {
  const script = new URL('run.ts', import.meta.url).pathname
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [script, name, String(seeds), String(actions)], {
      timeout: runMsMax,
    })
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Detection
  } catch (fault) {
    if (fault instanceof Error && 'killed' in fault && fault.killed === true)
      return { seed: 0, violation: 'a run does not end' }
    throw fault
  }
}

const waiting = [...plantedBugs].filter(({ name }) => name.includes(process.env['PLANTED'] ?? ''))
const undetected: string[] = []

const work = async (): Promise<void> => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { seed, violation } = await detect(next.name)
    if (seed === null) undetected.push(next.name)
    console.log(`| ${next.name} | \`${next.file}\` | ${seed ?? `none of ${seeds}`} | ${violation ?? ''} |`)
  }
}

console.log('| planted bug | file | first seed | what was violated |\n|---|---|---|---|')
await Promise.all(Array.from({ length: Number(process.env['PLANTED_WORKERS'] || availableParallelism()) }, work))
console.log(
  `${plantedBugs.length} planted bugs, ${undetected.length} not detected within ${seeds} seeds of ${actions} actions`,
)
if (undetected.length > 0) process.exitCode = 1
