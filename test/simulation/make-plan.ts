import { randomOf } from '../support/random.ts'
import { drawWeighted, drawWhole, type Random } from './draw.ts'
import { drawActions } from './draw-actions.ts'
import { drawFault, drawLossyFault } from './draw-faults.ts'
import type { HostKind } from './hosts.ts'
import type { Action, At, Fault, Plan } from './plan.ts'

/** On average between two actions, in milliseconds: hurried clients compete for money, patient ones meet what takes its time. */
const paces: readonly (readonly [number, number])[] = [
  [20, 1],
  [40, 1],
  [80, 1],
]
/** Of clients that come together many are on their way where something fails. */
const bursts: readonly (readonly [number, number])[] = [
  [1, 1],
  [8, 1],
  [25, 1],
]
/** In milliseconds: what comes close together on a slow network is read, stored and acknowledged together. */
const latencies: readonly (readonly [number, number])[] = [
  [2, 1],
  [10, 1],
  [30, 2],
]
/** On average between two faults. */
const actionsOfFault = 33
/** A fault comes so soon after an action, while that is on its way. */
const faultWithinMs = 60
/** What is away comes back before most of the clients have come, but in every eighth seed. */
const wholeOutageEveryMs = 100
const longOutagesEvery = 8
/** Every eighth seed has no fault of the world: there the gateway may not fail either. */
const calmEvery = 8
/** In every sixteenth packets alone are lost, which are sent again; in another as many proxies die unnoticed, too. */
const lossyEvery = 16

const nightShare = 0.3

/** Of the seeds: in all others each process has one role. */
const gatewaysShare = 0.4
const workersShare = 0.4

/**
 * Every role in each process, workers with what runs behind them, or each role in processes of its own: now and then two
 * of those that replace each other.
 */
const drawHosts = (random: Random, isApart: boolean): readonly HostKind[] => {
  const drawn = random()
  if (drawn < gatewaysShare && !isApart) return ['gateway', 'gateway']
  const oneOrTwo = (kind: HostKind): readonly HostKind[] => (random() < 0.7 ? [kind] : [kind, kind])
  if (drawn < gatewaysShare + workersShare && !isApart) return ['worker', 'worker', ...oneOrTwo('background')]
  const replaceable = (['scheduler', 'projector', 'video-poller'] as const).flatMap(oneOrTwo)
  return ['edge', 'edge', 'proxy', 'proxy', ...replaceable]
}

/** By the order of the actions: as many, however fast those follow each other. */
const drawFaults = (random: Random, actions: readonly At<Action>[], drawOne: () => Fault): readonly At<Fault>[] => {
  const faults: At<Fault>[] = []
  for (let index = random() * actionsOfFault; index < actions.length; index += random() * 2 * actionsOfFault)
    faults.push({ atMs: actions[Math.floor(index)]!.atMs + random() * faultWithinMs, what: drawOne() })
  return faults
}

/** All that happens in a run, but for the delays. */
export const makePlan = (seed: number, actionsCount: number): Plan => {
  const random = randomOf(seed)
  const isLossy = seed % (lossyEvery / 2) === 7
  const hosts = drawHosts(random, isLossy)
  const everyMs = drawWeighted(random, paces)
  const latencyMs = drawWeighted(random, latencies)
  const actions = drawActions(random, actionsCount, { everyMs, burst: drawWeighted(random, bursts) })
  const plan = { seed, latencyMs, hosts, actions }
  if (seed % calmEvery === 3) return { ...plan, faults: [] }
  const outages = seed % longOutagesEvery === 1 ? 1 : everyMs / wholeOutageEveryMs
  const faults = drawFaults(random, actions, () =>
    isLossy ? drawLossyFault(random, seed % lossyEvery !== 7) : drawFault(random, outages),
  )
  if (isLossy || random() >= nightShare) return { ...plan, faults }
  const night: At<Fault> = {
    atMs: actions[drawWhole(random, actions.length)]!.atMs,
    what: { type: 'pass_night', isKilled: random() < 0.5 },
  }
  return { ...plan, faults: [...faults, night] }
}
