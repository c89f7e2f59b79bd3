/** Runs seeds 1 … with one planted bug until one of them detects it. Arguments: the bug's name, how many seeds, actions of each. */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { plantedBugs } from './bugs.ts'

const [name, seeds, actions] = process.argv.slice(2)
const planted = plantedBugs.find((each) => each.name === name)
if (planted === undefined) throw new Error(`there is no planted bug ${JSON.stringify(name)}`)

const { file, find, replace } = planted
const url = new URL(`../../../src/${file}`, import.meta.url).href
const source = readFileSync(new URL(url), 'utf8')
if (source.split(find).length !== 2) throw new Error(`${file} has not exactly one place for: ${name}`)

registerHooks({
  load: (loaded, context, next) =>
    loaded === url
      ? { format: 'module-typescript', shortCircuit: true, source: source.replace(find, () => replace) }
      : next(loaded, context),
})

const { makePlan } = await import('../plan.ts')
const { runPlan } = await import('../world.ts')

const report = (seed: number, violation: string): never => {
  console.log(JSON.stringify({ seed, violation }))
  process.exit(0)
}

for (let seed = 1; seed <= Number(seeds); seed += 1) {
  process.once('unhandledRejection', (fault) => report(seed, `unhandled rejection: ${String(fault)}`))
  const { violations } = await runPlan(makePlan(seed, Number(actions))).catch((fault: unknown) => ({
    violations: [`the run ended with ${String(fault)}`],
  }))
  if (violations.length > 0) report(seed, violations[0]!)
  process.removeAllListeners('unhandledRejection')
}
console.log(JSON.stringify({ seed: null, violation: null }))
