/**
 * Runs the kept plan of a planted bug as seed 0, and seeds 1 … with it, until one of them detects it. Arguments: the bug's name, how
 * many seeds, actions of each.
 */
import { keptFolder, readPlan } from '../kept-plans.ts'
import type { Plan } from '../plan.ts'
import { plant } from './plant.ts'

const [name = '', seeds, actions] = process.argv.slice(2)
const { plan: kept } = plant(name)

const { makePlan } = await import('../make-plan.ts')
const { runPlan } = await import('../world.ts')

const print = (seed: number | null, violation: string | null): void => console.log(JSON.stringify({ seed, violation }))

const report = (seed: number, violation: string): never => {
  print(seed, violation)
  process.exit(0)
}

const run = async (seed: number, plan: Plan): Promise<void> => {
  process.once('unhandledRejection', (fault) => report(seed, `unhandled rejection: ${String(fault)}`))
  const { violations } = await runPlan(plan).catch((fault: unknown) => ({
    violations: [`the run ended with ${String(fault)}`],
  }))
  if (violations.length > 0) report(seed, violations[0]!)
  print(seed, null)
  process.removeAllListeners('unhandledRejection')
}

print(0, null)
if (kept !== undefined) await run(0, await readPlan(new URL(kept, keptFolder)))
for (let seed = 1; seed <= Number(seeds); seed += 1) await run(seed, makePlan(seed, Number(actions)))
print(null, null)
