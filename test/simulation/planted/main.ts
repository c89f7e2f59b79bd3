/**
 * Prints for each planted bug whose name matches PLANTED the first seed that detects it, of PLANTED_SEEDS, and ends with 1 where one
 * is not detected. With `--write` their rows in the documentation are written, too.
 */
import { availableParallelism } from 'node:os'
import { plantedBugs } from './bugs.ts'
import type { Detection } from './detector.ts'
import { Detectors } from './detectors.ts'
import { formatTable, writeTable } from './table.ts'

const seeds = Number(process.env['PLANTED_SEEDS'] || 40)
const workers = Number(process.env['PLANTED_WORKERS'] || availableParallelism())
const actions = 200
const pattern = new RegExp(process.env['PLANTED'] ?? '')

const detectors = new Detectors()
const chosen = plantedBugs.filter(({ name }) => pattern.test(name))
const waiting = [...chosen]
const found = new Map<string, Detection>()

const work = async (): Promise<void> => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const detection = await detectors.detect({ name: next.name, seeds, actions })
    found.set(next.name, detection)
    const { seed, violation } = detection
    const by = seed === 0 ? `kept plan ${next.plan}` : `seed ${seed}`
    console.log(seed === null ? `${next.name}: not detected` : `${next.name}: ${by}, ${violation}`)
  }
}

const began = performance.now()
await Promise.all(Array.from({ length: workers }, work))
detectors.close()
const rows = chosen.map(({ name }) => ({ name, seed: found.get(name)?.seed ?? null }))
const undetected = rows.filter(({ seed }) => seed === null)
console.log(
  `${chosen.length} planted bugs, ${undetected.length} not detected within ${seeds} seeds of ${actions} actions, in ${((performance.now() - began) / 1_000).toFixed(0)} s`,
)
console.log(`\n${formatTable(rows)}`)
for (const { name } of undetected) console.error(`not detected: ${name}`)
if (undetected.length > 0) process.exitCode = 1
else if (process.argv.includes('--write'))
  await writeTable(
    plantedBugs.map(({ name }) => name),
    rows,
  )
