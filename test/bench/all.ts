/**
 * `make bench-all`: every bench, one after another, each with its own baselines in turn; then one list of all targets, and one JSON file of all
 * that they found. Exits with 1 when one of them does.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { placeOptions, progress, runToEnd, temporaryFolder, writeJson } from './run.ts'
import { type Target, targetLine } from './table.ts'

const benches = {
  main: 'main.ts',
  streams: 'streams/main.ts',
  guards: 'guards/main.ts',
  apart: 'apart/main.ts',
  video: 'video/main.ts',
  audit: 'audit/main.ts',
} as const

interface Found {
  readonly targets?: readonly Target[]
}

const { values: options } = parseArgs({
  options: { ...placeOptions, json: { type: 'string', default: 'bench-results.json' } },
})

/** What a bench found; null where it did not come to its end. */
const run = async (script: string, json: string, stack: AsyncDisposableStack): Promise<Found | null> => {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(process.execPath, [path, '--json', json, '--folder', options.folder], { stdio: 'inherit' })
  stack.defer(() => void child.kill())
  const [code] = await once(child, 'exit')
  if (code !== 0) process.exitCode = 1
  return readFile(json, 'utf8').then(JSON.parse, () => null)
}

const all = await runToEnd(async (stack) => {
  const folder = await temporaryFolder(options.folder, stack)
  const found: Record<string, Found | null> = {}
  for (const [name, script] of Object.entries(benches)) {
    progress(`\n${name}`)
    found[name] = await run(script, join(folder, `${name}.json`), stack)
  }
  return found
})
console.log()
for (const [name, found] of Object.entries(all)) {
  if (found === null) console.log(`${name}: came to no end`)
  for (const target of found?.targets ?? []) console.log(targetLine(target))
}
await writeJson(options.json, all)
