/**
 * For each planted bug that its parent sends: runs its kept plan as seed 0, and seeds 1 … with it, until one of them detects it.
 * It sends which seed it runs, and at the end what it found.
 */
import { setImmediate } from 'node:timers/promises'
import { keptFolder, readPlan } from '../kept-plans.ts'
import { makePlan } from '../make-plan.ts'
import type { Plan } from '../plan.ts'
import { findPlanted, loadPlantedWorld } from './plant.ts'

export interface Order {
  readonly name: string
  /** After that of its kept plan. */
  readonly seeds: number
  /** Of each seed. */
  readonly actions: number
}

export interface Running {
  readonly type: 'running'
  readonly seed: number
}

export interface Detection {
  readonly type: 'detection'
  /** Null where none of them detected it. */
  readonly seed: number | null
  readonly violation: string | null
}

const send = (message: Running | Detection): void => void process.send?.(message)

/** What is left of a run that ended early must not be seen in the next. */
const turns = 5

interface RunEnd {
  readonly violation: string | null
  /** The run threw, or a promise was rejected that nothing awaits. */
  readonly fault: string | null
}

const runUntilViolation = async (run: () => Promise<readonly string[]>): Promise<RunEnd> => {
  let fault: string | null = null
  const onRejection = (reason: unknown): void => {
    fault ??= `unhandled rejection: ${String(reason)}`
  }
  process.on('unhandledRejection', onRejection)
  const violations = await run().catch((reason: unknown) => {
    fault ??= `the run ended with ${String(reason)}`
    return []
  })
  for (let turn = 0; turn < turns; turn += 1) await setImmediate()
  process.off('unhandledRejection', onRejection)
  return { violation: violations[0] ?? null, fault }
}

const detect = async ({ name, seeds, actions }: Order): Promise<Detection> => {
  const { plan: kept, endsRun = false } = findPlanted(name)
  const { runPlan } = await loadPlantedWorld(name)
  const planOf = async (seed: number): Promise<Plan> =>
    seed === 0 && kept !== undefined ? readPlan(new URL(kept, keptFolder)) : makePlan(seed, actions)
  for (let seed = kept === undefined ? 1 : 0; seed <= seeds; seed += 1) {
    send({ type: 'running', seed })
    const plan = await planOf(seed)
    const end = await runUntilViolation(async () => (await runPlan(plan, { endsAtViolation: true })).violations)
    const violation = end.violation ?? (endsRun ? end.fault : null)
    if (violation !== null) return { type: 'detection', seed, violation }
  }
  return { type: 'detection', seed: null, violation: null }
}

process.on('message', (message) => void detect(message as Order).then(send))
