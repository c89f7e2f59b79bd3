import { randomOf } from '../support/random.ts'
import { drawWeighted, type Random } from './draw.ts'
import { drawActions } from './draw-actions.ts'
import { drawFault, drawLossyFault } from './draw-faults.ts'
import type { HostKind } from './hosts.ts'
import type { At, Fault, Plan } from './plan.ts'

/** On average between two actions: hurried clients compete for money, patient ones meet what takes its time. */
const paces: readonly (readonly [number, number])[] = [
  [4, 1],
  [12, 1],
  [40, 1],
]
/** On average between two faults. */
const actionsOfFault = 33
/** Every eighth seed has no fault of the world: there the gateway may not fail either. */
const calmEvery = 8
/** In every sixteenth packets alone are lost, which are sent again; in another as many proxies die unnoticed, too. */
const lossyEvery = 16

/** Of the seeds: in all others each process has one role. */
const gatewaysShare = 0.6
const workersShare = 0.15

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

/** All that happens in a run, but for the delays. */
export const makePlan = (seed: number, actionsCount: number): Plan => {
  const random = randomOf(seed)
  const isLossy = seed % (lossyEvery / 2) === 7
  const hosts = drawHosts(random, isLossy)
  const everyMs = drawWeighted(random, paces)
  const actions = drawActions(random, actionsCount, everyMs)
  const endMs = actions.at(-1)?.atMs ?? 0
  if (seed % calmEvery === 3) return { seed, hosts, actions, faults: [] }
  const faults: At<Fault>[] = []
  const faultEveryMs = actionsOfFault * everyMs
  for (let atMs = random() * faultEveryMs; atMs < endMs; atMs += random() * 2 * faultEveryMs)
    faults.push({ atMs, what: isLossy ? drawLossyFault(random, seed % lossyEvery !== 7) : drawFault(random) })
  if (random() < 0.3 && !isLossy)
    faults.push({ atMs: endMs * random(), what: { type: 'pass_night', isKilled: random() < 0.5 } })
  return { seed, hosts, actions, faults }
}
