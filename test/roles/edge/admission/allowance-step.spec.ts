import t from 'tap'
import { type AllowanceView, nextAllowanceStep } from '../../../../src/roles/edge/admission/allowance-step.ts'
import { admissionLimits } from '../../../../src/roles/edge/admission/limits.ts'

const { admissionWaitMs, allowanceDrainMs, allowanceSinglesMax } = admissionLimits

/** One request of 10, of which 4 would do, in a wallet of 1,000. */
const rich: AllowanceView = {
  first: { wantedPicos: 10n, floorPicos: 4n, waitedMs: 0 },
  waitingPicos: [10n],
  current: null,
  drainingPicos: [],
  spentPicos: 0n,
  spendablePicos: 1_000n,
  isHeld: false,
  refused: 'nothing',
}
const allowance = { freePicos: 0n, reservedPicos: 50n, requests: 1 }
const unused = { freePicos: 6n, reservedPicos: 0n, requests: 0 }
const waited = (waitedMs: number) => ({ first: { ...rich.first, waitedMs } })
/** The wallet has less than the worst case. */
const short = { refused: 'allowance', spendablePicos: 5n } as const
const held = { ...short, isHeld: true }
const drainable = waited(allowanceDrainMs)

const table: readonly (readonly [
  when: string,
  view: Partial<AllowanceView>,
  step: ReturnType<typeof nextAllowanceStep>,
])[] = [
  // An allowance is placed
  ['the first request of a spender', {}, { type: 'open_allowance', minimumPicos: 10n, desiredPicos: 10n }],
  [
    'others wait too',
    { waitingPicos: [10n, 20n, 30n] },
    { type: 'open_allowance', minimumPicos: 10n, desiredPicos: 60n },
  ],
  [
    'it was spent from, and the current allowance is used up',
    { current: allowance, spentPicos: 100n },
    { type: 'open_allowance', minimumPicos: 10n, desiredPicos: 160n },
  ],
  [
    'all that is wanted is half of what is left',
    { spendablePicos: 20n },
    { type: 'open_allowance', minimumPicos: 10n, desiredPicos: 10n },
  ],
  ['it is more than half of what is left', { spendablePicos: 19n }, { type: 'place_singles', waiters: 1 }],
  ['nothing is left', { spendablePicos: 0n }, { type: 'place_singles', waiters: 1 }],
  [
    'of those who wait, two fit into half of what is left',
    { waitingPicos: [10n, 10n, 10n], spendablePicos: 40n },
    { type: 'place_singles', waiters: 2 },
  ],
  [
    'all who wait fit, and what was spent does not',
    { waitingPicos: [10n, 10n], spentPicos: 30n, spendablePicos: 40n },
    { type: 'place_singles', waiters: 2 },
  ],
  [
    'there are as many singles as there may be',
    { spendablePicos: 0n, drainingPicos: Array.from({ length: allowanceSinglesMax }, () => 0n) },
    { type: 'open_allowance', minimumPicos: 10n, desiredPicos: 10n },
  ],
  [
    'there may be one more single',
    {
      waitingPicos: [1n, 1n, 1n, 100n],
      spendablePicos: 100n,
      drainingPicos: Array.from({ length: allowanceSinglesMax - 1 }, () => 0n),
    },
    { type: 'place_singles', waiters: 1 },
  ],

  // The wallet refused it
  [
    'a draining allowance has enough',
    { ...short, ...drainable, drainingPicos: [9n, 10n] },
    { type: 'reuse_draining', index: 1 },
  ],
  [
    'a draining allowance has enough, and may still be returned',
    { ...held, ...waited(allowanceDrainMs - 1), drainingPicos: [10n] },
    { type: 'wait' },
  ],
  [
    'no draining allowance has enough, and the current one is unused',
    { ...held, ...drainable, drainingPicos: [9n], current: unused },
    { type: 'return_current' },
  ],
  ['requests in flight hold the money', { ...held, current: allowance }, { type: 'wait' }],
  ['other edges hold the money', held, { type: 'wait' }],
  ['less is left, and nothing will come back', short, { type: 'place_less', amountPicos: 5n }],
  [
    'less is left, and it has waited too long',
    { ...held, ...waited(admissionWaitMs) },
    { type: 'place_less', amountPicos: 5n },
  ],
  [
    'less is free in the current allowance',
    { ...short, current: { ...allowance, freePicos: 6n } },
    { type: 'serve_less', amountPicos: 6n },
  ],
  [
    'enough has come free in the current allowance since',
    { ...short, current: { ...allowance, freePicos: 60n } },
    { type: 'serve_less', amountPicos: 10n },
  ],
  [
    'less than the floor is free in the current allowance',
    { ...short, current: { ...allowance, freePicos: 3n } },
    { type: 'place_less', amountPicos: 5n },
  ],
  ['exactly the floor is left', { ...short, spendablePicos: 4n }, { type: 'place_less', amountPicos: 4n }],
  ['less than the floor is left', { ...short, spendablePicos: 3n }, { type: 'refuse', reason: 'shortage' }],
  [
    'less than the floor is left for too long, and the rest is held',
    { ...held, ...waited(admissionWaitMs), spendablePicos: 3n },
    { type: 'refuse', reason: 'all_reserved' },
  ],
  [
    'nothing is left for a request without a floor',
    { ...short, first: { ...rich.first, floorPicos: 0n }, spendablePicos: 0n },
    { type: 'refuse', reason: 'shortage' },
  ],
  ['the wallet is overdrawn', { ...short, spendablePicos: -5n }, { type: 'refuse', reason: 'shortage' }],
  [
    'money has come since the wallet refused',
    { ...short, spendablePicos: 1_000n },
    { type: 'place_less', amountPicos: 10n },
  ],

  // It refused less, too
  ['another edge was faster', { ...short, refused: 'less' }, { type: 'try_again' }],
  [
    'other edges were faster for too long',
    { ...short, ...waited(admissionWaitMs), refused: 'less' },
    { type: 'refuse', reason: 'all_reserved' },
  ],
]

for (const [when, view, step] of table)
  t.test(`${step.type}: ${when}`, async (t) => {
    t.same(nextAllowanceStep({ ...rich, ...view }), step)
  })
