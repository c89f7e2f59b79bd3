import type { At, Plan } from './plan.ts'
import { runPlan } from './run-plan.ts'

/** Runs of a plan until the smallest one that was found. */
const runsMax = 120

const without = <T>(list: readonly At<T>[], from: number, count: number): readonly At<T>[] => [
  ...list.slice(0, from),
  ...list.slice(from + count),
]

/** Removes actions and faults, in ever smaller parts, as long as what is left still violates something. */
export const shrinkPlan = async (plan: Plan): Promise<Plan> => {
  let smallest = plan
  let runs = 0
  const fails = async (smaller: Plan): Promise<boolean> => {
    runs += 1
    return (await runPlan(smaller)).violations.length > 0
  }
  const shrink = async (member: 'actions' | 'faults'): Promise<void> => {
    for (let count = Math.ceil(smallest[member].length / 2); count >= 1; count = count === 1 ? 0 : Math.ceil(count / 2))
      for (let from = 0; from < smallest[member].length && runs < runsMax; ) {
        const smaller = { ...smallest, [member]: without<unknown>(smallest[member], from, count) }
        if (await fails(smaller)) smallest = smaller
        else from += count
      }
  }
  await shrink('faults')
  await shrink('actions')
  return smallest
}
