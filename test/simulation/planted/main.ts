/** Prints for each planted bug the first seed that detects it, and ends with 1 where one is not detected. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import { plantedBugs } from './bugs.ts'

const seeds = Number(process.env['PLANTED_SEEDS'] || 40)
const actions = 200
/** A bug that keeps a run from its end is detected too; a run takes seconds. */
const seedMsMax = 300_000

interface Detection {
  readonly seed: number | null
  readonly violation: string | null
}

const detect = async (name: string): Promise<Detection> => {
  const script = new URL('run.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [script, name, String(seeds), String(actions)])
  let last: Detection | null = null
  let watch: NodeJS.Timeout | undefined
  const expectNext = (): void => {
    clearTimeout(watch)
    watch = setTimeout(() => child.kill('SIGKILL'), seedMsMax)
  }
  expectNext()
  child.stderr.resume()
  createInterface(child.stdout).on('line', (line) => {
    last = JSON.parse(line) as Detection
    expectNext()
  })
  const [code] = await once(child, 'close')
  clearTimeout(watch)
  if (last === null) throw new Error(`the runs with ${JSON.stringify(name)} do not start`)
  const { seed, violation }: Detection = last
  if (seed === null || violation !== null) return last
  const next = seed + 1
  return { seed: next, violation: code === null ? 'the run does not end' : `the process ends with ${code}` }
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
