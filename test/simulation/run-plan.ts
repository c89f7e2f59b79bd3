// Before the program, which takes Node's functions when it is loaded.
import './deterministic-zlib.ts'
import './thread-immediates.ts'

import { randomOf } from '../support/random.ts'
import type { Plan } from './plan.ts'
import type { Report, RunOptions } from './report.ts'
import { simulate } from './simulator.ts'
import { World } from './world.ts'

/** Runs a plan to its end. The same plan gives the same report. */
export const runPlan = async (plan: Plan, options: RunOptions = {}): Promise<Report> => {
  let world: World | undefined
  const random = randomOf(plan.seed)
  return simulate(
    {
      seed: plan.seed,
      latencyMs: plan.latencyMs,
      rule: random() < 0.5 ? 'duplicate_first' : 'sequence_first',
      duplicateWindowMs: random() < 0.5 ? 3_000 : undefined,
      faults: {
        acknowledgement: (subject) => world?.faults.acknowledgement(subject) ?? { isLost: false, delayMs: 0 },
        reach: (process, subject, place) => world?.reach(process, subject, place) ?? true,
        losesMessage: (subject) => world?.faults.losesMessage(subject) ?? false,
        stored: (stream, message) => world?.stored(stream, message),
        removed: (stream, message) => world?.removed(stream, message.subject),
      },
    },
    async (simulator) => {
      world = new World(plan, simulator, options)
      await Promise.race([world.run(), ...(options.endsAtViolation ? [world.violated] : [])])
      const { violations, ports, statuses, events, moves, observer } = world
      const { nowMs: simulatedMs, steps } = simulator.time
      return {
        ...{ violations, simulatedMs, steps, statuses, events, moves },
        frames: observer.frames.length,
        portCalls: ports.calls,
        crashes: ports.crashes,
      }
    },
  )
}
