import { type PrometheusFigures, renderFigures } from '../adapters/prometheus/metrics.ts'
import { allPass, type Check, type Checks } from '../runtime/health.ts'
import type { SupervisedProcess } from './supervised-process.ts'
import { backgroundName } from './supervisor.ts'
import type { ProcessObserved } from './supervisor-messages.ts'

interface Observed {
  readonly name: string
  readonly isServing: boolean
  /** Null where the process did not answer. */
  readonly seen: ProcessObserved | null
}

const observeEach = (processes: readonly SupervisedProcess[]): Promise<readonly Observed[]> =>
  Promise.all(
    processes.map(async (process) => {
      const { name, isServing } = process
      return { name, isServing, seen: isServing ? await process.observe().catch(() => null) : null }
    }),
  )

const noAnswer: Checks = { process: { ok: false, reason: 'does not answer' } }

/** The supervisor replaces what has ended, and a start may take as long as the log is: no reason to restart all. */
const starting = {
  alive: { process: { ok: true, reason: 'is starting' } },
  ready: { process: { ok: false, reason: 'is starting' } },
} as const satisfies Readonly<Record<string, Checks>>

const listChecks = (observed: readonly Observed[], which: 'alive' | 'ready'): Readonly<Record<string, Check>> =>
  Object.fromEntries(
    observed.flatMap(({ name, isServing, seen }) =>
      Object.entries(seen?.[which] ?? (isServing ? noAnswer : starting[which])).map(([check, result]) => [
        `${name}.${check}`,
        result,
      ]),
    ),
  )

/** Metrics and health of a supervisor's processes on one page. */
export const createOverview = (processes: () => readonly SupervisedProcess[], ownChecks: () => Checks) => ({
  metrics: async (): ReturnType<typeof renderFigures> => {
    const figures = new Map<string, PrometheusFigures>()
    for (const { name, seen } of await observeEach(processes())) if (seen !== null) figures.set(name, seen.figures)
    return renderFigures(figures)
  },
  alive: async (): Promise<Checks> => listChecks(await observeEach(processes()), 'alive'),
  /** While one worker is replaced the others serve: of the workers one that is ready is enough. */
  ready: async (): Promise<Checks> => {
    const observed = await observeEach(processes())
    const serving = observed.filter(({ name, seen }) => name !== backgroundName && seen !== null && allPass(seen.ready))
    const counted =
      serving.length > 0 ? [...serving, ...observed.filter(({ name }) => name === backgroundName)] : observed
    return { ...ownChecks(), ...listChecks(counted, 'ready') }
  },
})
