import { drawWeighted, drawWhole, type Random } from './draw.ts'
import { acknowledgedSubjects, type Fault } from './plan.ts'

/** `share`: of the time that what is away or late may take. */
export const drawFault = (random: Random, share: number): Fault => {
  const host = drawWhole(random, 100)
  return drawWeighted<() => Fault>(random, [
    [
      () => ({
        type: 'crash_at',
        port: drawWhole(random, 1_000),
        place: random() < 0.5 ? 'before' : 'after',
        skipped: drawWhole(random, 4),
      }),
      14,
    ],
    [() => ({ type: 'kill', host, isSilent: random() < 0.3 }), 2],
    [() => ({ type: 'stop', host }), 2],
    [() => ({ type: 'stall', host, ms: 100 + random() ** 3 * share * 20_000 }), 3],
    [
      () => ({
        type: 'lose_acknowledgements',
        count: 1 + drawWhole(random, 3),
        of: acknowledgedSubjects[drawWhole(random, acknowledgedSubjects.length)]!,
      }),
      4,
    ],
    [() => ({ type: 'delay_acknowledgements', ms: random() * share * 4_000, forMs: random() * share * 2_000 }), 2],
    [() => ({ type: 'restart_nats', downMs: 50 + random() ** 2 * share * 6_000 }), 1],
    [() => ({ type: 'forget_consumers' }), 3],
    [() => ({ type: 'lose_packets', count: 1 + drawWhole(random, 3) }), 2],
    [() => ({ type: 'clock_jump', host, ms: (random() - 0.5) * 10_000 }), 1],
    [() => ({ type: 'tables_down', ms: random() * share * 8_000 }), 1],
    [() => ({ type: 'vendor_down', ms: random() * share * 8_000 }), 1],
    [() => ({ type: 'isolate', host, ms: 100 + random() ** 2 * share * 12_000 }), 2],
    [() => ({ type: 'cut', host }), 1],
    [() => ({ type: 'change_leader', ms: 50 + random() ** 2 * share * 5_000 }), 1],
    [() => ({ type: 'fill_disk', ms: 50 + random() ** 2 * share * 5_000 }), 1],
  ])()
}

const firstProxy = 2

export const drawLossyFault = (random: Random, proxiesDie: boolean): Fault =>
  proxiesDie && random() < 0.2
    ? { type: 'kill', host: firstProxy + drawWhole(random, 2), isSilent: true }
    : { type: 'lose_packets', count: 1 + drawWhole(random, 3) }
