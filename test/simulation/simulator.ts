import { randomOf } from '../support/random.ts'
import { type NatsFaults, SimNats } from './nats/server.ts'
import type { DuplicateRule } from './nats/stream.ts'
import { Network } from './network.ts'
import { SimProcess } from './process.ts'
import { takeThreadImmediates } from './thread-immediates.ts'
import { VirtualTime } from './virtual-time.ts'

export interface Simulator {
  readonly time: VirtualTime
  readonly network: Network
  readonly nats: SimNats
  readonly random: () => number
  /** Of the nats-server. */
  readonly server: SimProcess
}

export interface SimulatorOptions {
  readonly seed: number
  readonly rule?: DuplicateRule
  /** Shorter than the streams ask for: what is repeated later is stored again. */
  readonly duplicateWindowMs?: number | undefined
  /** The most that a packet takes on its way. */
  readonly latencyMs?: number | undefined
  readonly faults?: NatsFaults
}

const noFaults: NatsFaults = { acknowledgement: () => ({ isLost: false, delayMs: 0 }) }

/** Runs the work in a world of its own: its time, its network with one nats-server, and nothing of the real one. */
export const simulate = async <T>(
  options: SimulatorOptions,
  work: (simulator: Simulator) => Promise<T>,
): Promise<T> => {
  const { seed, rule = 'sequence_first', duplicateWindowMs, latencyMs = 2, faults = noFaults } = options
  const random = randomOf(seed)
  const time = new VirtualTime()
  const network = new Network(time, () => 0.05 + random() * latencyMs)
  const endThread = takeThreadImmediates((run) => time.scheduleFor(undefined, 0, run))
  const uninstall = [time.install(randomOf(seed + 1)), network.install()]
  try {
    const server = new SimProcess('nats')
    const nats = new SimNats({ time, network, process: server, random, rule, duplicateWindowMs, faults })
    let outcome: PromiseSettledResult<T> | undefined
    void Promise.allSettled([work({ time, network, nats, random, server })]).then(([settled]) => {
      outcome = settled
    })
    await time.run(() => outcome !== undefined)
    if (outcome?.status === 'fulfilled') return outcome.value
    throw outcome?.reason
  } finally {
    network.end()
    endThread()
    await time.turn()
    for (const put of uninstall.reverse()) put()
  }
}
